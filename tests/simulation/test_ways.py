"""The whole chain over workloads that are restarted, left to somebody else, or go together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from tests.simulation.world import NODE, Witness, World

from evictd.core.rules import HOST, Candidates, Rules
from evictd.core.rules import Mode as NodeMode
from evictd.core.signals.thresholds import Amount, Threshold
from evictd.shell.bus import Router
from evictd.simulation.drain import DrainResponder
from evictd.simulation.machine import MIB, SimulatedMachine, SimulatedWorkload, stepping
from evictd_schemas import Decision, DeclaredResponder, topics
from evictd_schemas.topics import Role

HOOK = "acme.io/hook"
GROWS_AT_SECONDS = 20.0
pytestmark = pytest.mark.looptime


def machine_of(*workloads: SimulatedWorkload) -> SimulatedMachine:
    """4 GiB."""
    return SimulatedMachine(
        node=NODE, memory_mib=4096, interval_seconds=1, workloads=list(workloads)
    )


def workload(name: str, then_mib: int, **fields: Any) -> SimulatedWorkload:
    """It takes 100 MiB, and later that much."""
    return SimulatedWorkload(
        namespace="shop",
        name=name,
        memory=stepping(100, GROWS_AT_SECONDS, then_mib),
        **fields,
    )


def rules_of(grace_seconds: float) -> Rules:
    """One line at 1000 MiB: hard, or soft with a grace."""
    line = Threshold(
        signal="memory.available",
        value=Amount(quantity=1000 * MIB, text="1000Mi"),
        grace_seconds=grace_seconds,
    )
    return Rules(
        node=NODE,
        mode=NodeMode.ACT,
        profile=msgspec.structs.replace(HOST, warns_before_first_act=False),
        candidates=Candidates.ALL,
        thresholds=(line,),
        maximum_pod_grace_seconds=-1,
        transition_seconds=30,
    )


@asynccontextmanager
async def running(
    machine: SimulatedMachine, grace_seconds: float = 0, *, takes_off: bool = False
) -> AsyncIterator[tuple[Router, Witness]]:
    """All workers, and a hook that says it has done its work; `takes_off`: and has."""
    world = World(machine, rules_of(grace_seconds))
    hook = DrainResponder(NODE, HOOK, world.router, world.clock, steps=2)
    async with world.running() as tasks:
        tasks.start_soon(hook.run)
        if takes_off:
            tasks.start_soon(_taken_off, machine, world.witness)
        yield world.router, world.witness


async def _taken_off(machine: SimulatedMachine, witness: Witness) -> None:
    """What the hook's program would do of itself, a moment after it has said so."""
    while True:
        if "ResponderCompleted" in witness.reasons(Role.CONTROLLER):
            await anyio.sleep(3)
            machine.workloads[0].stopped = True
            return
        await anyio.sleep(0.1)


async def test_a_leaking_workload_is_restarted_and_nothing_stays_down() -> None:
    """It counts as evicted, once, and lives on."""
    machine = machine_of(workload("leak", 3500, action="restart"))
    first = machine.workloads[0].reference
    async with running(machine) as (router, witness):
        await anyio.sleep(GROWS_AT_SECONDS + 15)
        assert machine.killed == [first]
        assert not machine.workloads[0].stopped
        assert witness.reasons(Role.CONTROLLER).count("Evicted") == 1
        assert not [topic for topic in router.retained if "/stopped/" in topic]


async def test_one_that_leaks_again_and_again_is_stopped_the_third_time() -> None:
    """And then it waits for its return like any other."""
    machine = machine_of(workload("leak", 3500, action="restart"))
    async with running(machine) as (_, witness):
        await anyio.sleep(3 * GROWS_AT_SECONDS + 15)
        assert len(machine.killed) == 3
        assert machine.workloads[0].stopped
        assert witness.reasons(Role.EVICTOR).count("EvictionLoop") == 1


async def test_what_is_left_to_a_hook_is_not_stopped_by_us() -> None:
    """The hook has its turn and takes it off: it is evicted, and not down because of us."""
    hook = DeclaredResponder(name=HOOK, priority=10_000)
    machine = machine_of(workload("web", 3500, action="webhook", responders=(hook,)))
    async with running(machine, grace_seconds=5, takes_off=True) as (router, witness):
        await anyio.sleep(GROWS_AT_SECONDS + 30)
        assert machine.killed == []
        assert witness.reasons(Role.CONTROLLER).count("Evicted") == 1
        assert not [topic for topic in router.retained if "/stopped/" in topic]


async def test_where_a_hook_does_not_take_it_off_the_next_one_goes() -> None:
    """The eviction has failed after half a minute."""
    hook = DeclaredResponder(name=HOOK, priority=10_000)
    machine = machine_of(
        workload("web", 2000, action="webhook", responders=(hook,)), workload("other", 1800)
    )
    async with running(machine, grace_seconds=5) as (router, _witness):
        await anyio.sleep(GROWS_AT_SECONDS + 80)
        assert [pod.name for pod in machine.killed] == ["other"]
        decision = msgspec.json.decode(router.retained[topics.DECISION.at(NODE)], type=Decision)
        assert decision.action != "Evict"


async def test_a_hard_shortage_stops_what_is_left_to_a_hook() -> None:
    """Nobody is waited for, so that hard protection stays sufficient. [design, laws 3 and 7]"""
    hook = DeclaredResponder(name=HOOK, priority=10_000)
    machine = machine_of(workload("web", 3500, action="webhook", responders=(hook,)))
    async with running(machine) as (_, witness):
        await anyio.sleep(GROWS_AT_SECONDS + 5)
        assert [pod.name for pod in machine.killed] == ["web"]
        assert witness.reasons(Role.CONTROLLER).count("Evicted") == 1


async def test_a_group_goes_one_after_the_other() -> None:
    """The one that needs the other first; both come back when there is room for both, and what is
    needed comes first."""

    def swells(seconds: float) -> float:
        return 2400 if GROWS_AT_SECONDS <= seconds < 60 else 100

    machine = machine_of(
        workload("db", 400, group="app"),
        workload("web", 1000, group="app", depends_on=("shop/db",)),
        SimulatedWorkload(namespace="shop", name="vault", memory=swells, critical=True),
    )
    async with running(machine) as (_, witness):
        await anyio.sleep(GROWS_AT_SECONDS + 10)
        assert [pod.name for pod in machine.killed] == ["web", "db"]
        assert witness.reasons(Role.CONTROLLER).count("Evicted") == 2
        await anyio.sleep(120)
        restored = [event.subject for event in witness.events("/Restored")]
        assert restored == ["shop/db", "shop/web"]
