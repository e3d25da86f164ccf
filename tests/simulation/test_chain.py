"""The whole chain on virtual time: an observation goes in, `Evicted` comes out, by real workers
alone."""

import anyio
import pytest
from tests.simulation.world import NODE, World

from evictd.core.rules import KUBELET, Candidates, Mode, Rules
from evictd.core.signals.thresholds import Amount, Threshold
from evictd.simulation.machine import MIB, SimulatedMachine, SimulatedWorkload, steady
from evictd.simulation.node import BUILDERS
from evictd_schemas import Decision, Pressure, topics
from evictd_schemas.topics import Role

pytestmark = pytest.mark.looptime


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


async def test_from_an_observation_to_evicted() -> None:
    """The hog goes, within seconds, once; the condition stays for the transition period."""
    machine = shop()
    hog = machine.workloads[1].reference
    world = World(machine, rules_of())
    async with world.running():
        await anyio.sleep(15)
        assert machine.killed == [hog]
        assert world.witness.reasons(Role.CONTROLLER).count("Evicted") == 1
        assert world.witness.reasons(Role.EVICTOR) == ["EvictionThresholdMet"]
        pressure = world.retained(topics.PRESSURE.at(NODE), Pressure)
        assert pressure.conditions[0].status == "True"
        await anyio.sleep(90)
        pressure = world.retained(topics.PRESSURE.at(NODE), Pressure)
        assert pressure.conditions[0].status == "False"
        assert machine.killed == [hog]
        assert world.witness.reasons(Role.EVALUATOR) == [
            "NodeHasInsufficientMemory",
            "NodeHasSufficientMemory",
        ]


async def test_the_decision_shows_the_whole_order() -> None:
    """Everybody who runs is in it, the critical one marked; the same in every mode."""
    world = World(shop(), rules_of(Mode.OBSERVE))
    async with world.running():
        await anyio.sleep(15)
        decision = world.retained(topics.DECISION.at(NODE), Decision)
        assert [(row.pod.name, row.verdict) for row in decision.ranking] == [
            ("hog", "Victim"),
            ("proxy", "Critical"),
            ("web", "Candidate"),
        ]


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.DRY_RUN])
async def test_nothing_is_stopped_unless_the_mode_is_act(mode: Mode) -> None:
    world = World(shop(), rules_of(mode))
    async with world.running():
        await anyio.sleep(120)
        assert world.machine.killed == []
        assert "Evicted" not in world.witness.reasons(Role.CONTROLLER)


@pytest.mark.parametrize("role", list(BUILDERS))
async def test_a_worker_that_dies_and_comes_back_ends_the_eviction_exactly_once(
    role: Role,
) -> None:
    """Each worker is cancelled 0.05 s after the crossing and started again on its journal."""
    machine = shop()
    machine.workloads[1].stop_seconds = 0.9
    hog = machine.workloads[1].reference
    world = World(machine, rules_of())
    async with world.running_after_a_death(role, 0.05):
        await anyio.sleep(120)
    assert machine.killed == [hog]
    assert world.witness.reasons(Role.CONTROLLER).count("Evicted") == 1
