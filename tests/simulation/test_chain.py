"""The whole chain on virtual time: an observation goes in, `Evicted` comes out, by real workers
alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import msgspec
import pytest

from evictd.core.rules import KUBELET, Candidates, Mode, Rules
from evictd.core.signals.thresholds import Amount, Threshold
from evictd.shell.bus import Delivery, Listing, Router
from evictd.shell.clock import LoopClock
from evictd.simulation.collector import SimulatedCollector
from evictd.simulation.machine import MIB, SimulatedMachine, SimulatedWorkload, steady
from evictd.simulation.node import BUILDERS, SimulatedNode
from evictd_schemas import Decision, Event, Pressure, topics
from evictd_schemas.topics import Role

NODE = "edge-7"


class Witness:
    """A listener that keeps every event and the newest state."""

    filters = ("evictd/v1/#",)

    def __init__(self) -> None:
        self.events: list[Event] = []

    def deliver(self, delivery: Delivery) -> None:
        place = topics.place(delivery.topic)
        if place is not None and place.kind is topics.EVENT:
            self.events.append(msgspec.json.decode(delivery.payload, type=Event))

    def listed(self, listing: Listing) -> None:
        """It has seen everything from the beginning."""

    def reasons(self, worker: Role) -> list[str]:
        """The reasons one worker gave, in order, each event once."""
        seen = {event.id: event for event in self.events if event.source.endswith(f"/{worker}")}
        return [str(event.data["reason"]) for event in seen.values()]


def shop(hog_mib: int = 3000) -> SimulatedMachine:
    """4 GiB with a hog over its request, a larger critical one, and one below its request."""
    machine = SimulatedMachine(node=NODE, memory_mib=4096, interval_seconds=10)
    for name, used, asked, critical in (
        ("web", 100, 200, False),
        ("hog", hog_mib, 256, False),
        ("proxy", 700, 256, True),
    ):
        machine.add(
            SimulatedWorkload(
                namespace="shop",
                name=name,
                memory=steady(used),
                request_mib=asked,
                critical=critical,
            )
        )
    return machine


def rules_of(mode: Mode = Mode.ACT) -> Rules:
    """One hard line at 500 MiB, conditions last a minute."""
    return Rules(
        node=NODE,
        mode=mode,
        profile=KUBELET,
        candidates=Candidates.ALL,
        thresholds=(
            Threshold(signal="memory.available", value=Amount(quantity=500 * MIB, text="500Mi")),
        ),
        transition_seconds=60,
    )


@asynccontextmanager
async def running(
    machine: SimulatedMachine, mode: Mode = Mode.ACT
) -> AsyncIterator[tuple[SimulatedNode, Router, Witness]]:
    """All workers and a collector around the machine."""
    router, clock, witness = Router(), LoopClock(), Witness()
    router.attach(witness)
    node = SimulatedNode(
        machine=machine,
        rules=lambda name: rules_of(mode) if name == NODE else None,
        clock=clock,
        bus=router,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(node.run)
        tasks.start_soon(SimulatedCollector(machine, router, clock).run)
        yield node, router, witness
        tasks.cancel_scope.cancel()


@pytest.mark.looptime
async def test_from_an_observation_to_evicted() -> None:
    """The hog goes, within seconds, once; the condition stays for the transition period."""
    machine = shop()
    hog = machine.workloads[1].reference
    async with running(machine) as (_, router, witness):
        await anyio.sleep(15)
        assert machine.killed == [hog]
        assert witness.reasons(Role.CONTROLLER).count("Evicted") == 1
        assert witness.reasons(Role.EVICTOR) == ["EvictionThresholdMet"]
        pressure = msgspec.json.decode(router.retained[topics.PRESSURE.at(NODE)], type=Pressure)
        assert pressure.conditions[0].status == "True"
        await anyio.sleep(90)
        pressure = msgspec.json.decode(router.retained[topics.PRESSURE.at(NODE)], type=Pressure)
        assert pressure.conditions[0].status == "False"
        assert machine.killed == [hog]
        assert witness.reasons(Role.EVALUATOR) == [
            "NodeHasInsufficientMemory",
            "NodeHasSufficientMemory",
        ]


@pytest.mark.looptime
async def test_the_decision_shows_the_whole_order() -> None:
    """Everybody who runs is in it, the critical one marked; the same in every mode."""
    machine = shop()
    async with running(machine, Mode.OBSERVE) as (_, router, _witness):
        await anyio.sleep(15)
        decision = msgspec.json.decode(router.retained[topics.DECISION.at(NODE)], type=Decision)
        assert [(row.pod.name, row.verdict) for row in decision.ranking] == [
            ("hog", "Victim"),
            ("proxy", "Critical"),
            ("web", "Candidate"),
        ]


@pytest.mark.looptime
@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.DRY_RUN])
async def test_nothing_is_stopped_unless_the_mode_is_act(mode: Mode) -> None:
    machine = shop()
    async with running(machine, mode) as (_, _router, witness):
        await anyio.sleep(120)
        assert machine.killed == []
        assert "Evicted" not in witness.reasons(Role.CONTROLLER)


@pytest.mark.looptime
@pytest.mark.parametrize("role", list(BUILDERS))
async def test_a_worker_that_dies_and_comes_back_ends_the_eviction_exactly_once(
    role: Role,
) -> None:
    """Each worker is cancelled 0.05 s after the crossing and started again on its journal."""
    machine = shop()
    machine.workloads[1].stop_seconds = 0.9
    hog = machine.workloads[1].reference
    router, clock, witness = Router(), LoopClock(), Witness()
    router.attach(witness)
    node = SimulatedNode(
        machine=machine,
        rules=lambda name: rules_of() if name == NODE else None,
        clock=clock,
        bus=router,
    )
    async with anyio.create_task_group() as tasks:
        for other in BUILDERS:
            if other is not role:
                tasks.start_soon(node.worker(other).run)
        tasks.start_soon(SimulatedCollector(machine, router, clock).run)
        with anyio.move_on_after(0.05):
            await node.worker(role).run()
        await anyio.sleep(1)
        tasks.start_soon(node.worker(role).run)
        await anyio.sleep(120)
        tasks.cancel_scope.cancel()
    assert machine.killed == [hog]
    assert witness.reasons(Role.CONTROLLER).count("Evicted") == 1
