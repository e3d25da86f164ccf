"""The whole way back on virtual time, by real workers alone: stopped, calm, started, told."""

from datetime import datetime

import anyio
import msgspec
import pytest
from tests.simulation.test_chain import rules_of, shop
from tests.simulation.world import NODE, Witness, World

from evictd.shell.bus import Router
from evictd.simulation.machine import SimulatedMachine, growing
from evictd_schemas import Decision, Stopped, Wish, topics
from evictd_schemas.topics import Role

pytestmark = pytest.mark.looptime

HOG = topics.STOPPED.at(NODE, namespace="shop", name="hog")
ORDER = topics.ORDER.at(NODE, name="restore")
WISH = topics.WISH.at(NODE, domain="acme.io", key="ann", name="mine")


def spike() -> SimulatedMachine:
    """The hog fills the machine within twenty seconds; the proxy gives back a little later what it
    takes to have room for it again, and there the hog is thrifty."""
    machine = shop()
    hog, proxy = machine.workloads[1:]
    hog.memory = lambda seconds: min(3000, 1000 + 100 * seconds) if hog.life == 1 else 1000
    proxy.memory = lambda seconds: 700 if seconds < 30 else 200
    return machine


def down(router: Router) -> Stopped | None:
    """The record of what is down."""
    payload = router.retained.get(HOG)
    return None if payload is None else msgspec.json.decode(payload, type=Stopped)


def time_of(witness: Witness, reason: str) -> datetime:
    """When something happened."""
    (event,) = witness.events(f"/{reason}")
    return event.time


async def test_what_was_stopped_runs_again_after_the_transition_period() -> None:
    """Once; the record and the order are gone, and nothing is evicted again."""
    machine = spike()
    world = World(machine, rules_of())
    router = world.router
    witness = world.witness
    async with world.running():
        await anyio.sleep(60)
        assert down(router) is not None
        await anyio.sleep(600)
        took = time_of(witness, "Restored") - time_of(witness, "Evicted")
        assert 59 <= took.total_seconds() <= 80
        assert machine.workloads[1].life == 2
        assert not machine.workloads[1].stopped
        assert len(machine.killed) == 1
        assert down(router) is None
        assert ORDER not in router.retained
        assert witness.reasons(Role.EVICTOR).count("Restored") == 1


async def test_without_room_for_its_last_usage_it_stays_down() -> None:
    """It had grown to all that there is."""
    machine = shop()
    world = World(machine, rules_of())
    router = world.router
    async with world.running():
        await anyio.sleep(3600)
        assert machine.workloads[1].stopped
        assert down(router) is not None
        assert ORDER not in router.retained


@pytest.mark.parametrize("role", [Role.EVICTOR, Role.RESPONDER])
@pytest.mark.parametrize("after_seconds", [40, 79, 80.1])
async def test_a_worker_that_dies_in_between_finds_what_is_down_on_the_bus(
    role: Role, after_seconds: float
) -> None:
    """Before the return, at its very look, or after it: one return, nothing evicted again."""
    machine = spike()
    world = World(machine, rules_of())
    async with world.running_after_a_death(role, after_seconds):
        await anyio.sleep(180)
    assert machine.workloads[1].life == 2
    assert len(machine.killed) == 1
    assert down(world.router) is None
    assert ORDER not in world.router.retained


async def test_what_a_person_started_is_told_and_not_started_again() -> None:
    machine = shop()
    world = World(machine, rules_of())
    router = world.router
    witness = world.witness
    async with world.running():
        await anyio.sleep(60)
        hog = machine.workloads[1]
        hog.memory = growing(100, 0, 100)
        assert (await machine.start("shop", "hog", "")).runs
        await anyio.sleep(120)
        assert down(router) is None
        assert hog.life == 2
        assert witness.reasons(Role.EVICTOR).count("Restored") == 1


async def test_a_workload_that_always_falls_is_brought_back_less_and_less_often() -> None:
    """Every 200 s something important takes the memory for a while: nine times in half an hour, but
    the pauses double."""
    machine = shop(1500)
    hog, proxy = machine.workloads[1:]
    proxy.memory = lambda seconds: 2100 if seconds % 200 < 20 else 300
    world = World(machine, rules_of())
    witness = world.witness
    async with world.running():
        await anyio.sleep(1800)
    assert "EvictionLoop" in witness.reasons(Role.EVICTOR)
    assert 4 <= len(machine.killed) <= 7
    assert witness.reasons(Role.EVICTOR).count("Restored") == hog.life - 1


def wish(router: Router, verb: str | None, target: str | None = "shop/hog") -> None:
    """A person wishes something, or nothing any more."""
    payload = b"" if verb is None else msgspec.json.encode(Wish(verb=verb, target=target))
    router.publish(WISH, payload, retain=True)


def decision(router: Router) -> Decision:
    """The evictor's last word."""
    return msgspec.json.decode(router.retained[topics.DECISION.at(NODE)], type=Decision)


async def test_what_waits_for_a_person_comes_back_when_one_wishes_it() -> None:
    """Once: the wish that still stands does nothing for a later fall."""
    machine = spike()
    machine.workloads[1].restore = "never"
    world = World(machine, rules_of())
    router = world.router
    witness = world.witness
    async with world.running():
        await anyio.sleep(200)
        assert down(router) is not None
        (absent,) = decision(router).absent
        assert absent.why == "it waits for a person (restore: never)"
        wish(router, "Restore")
        await anyio.sleep(10)
        assert down(router) is None
        assert machine.workloads[1].life == 2
        (answer,) = decision(router).wishes
        assert (answer.state, answer.wish) == ("Done", "acme.io/ann/mine")
        assert witness.reasons(Role.EVICTOR).count("WishAnswered") == 2


async def test_while_everything_is_held_nobody_is_stopped_softly_or_started() -> None:
    machine = spike()
    world = World(machine, rules_of())
    router = world.router
    async with world.running():
        await anyio.sleep(50)
        wish(router, "Hold", None)
        await anyio.sleep(600)
        assert down(router) is not None
        assert decision(router).absent[0].why == "held until taken back"
        wish(router, None)
        await anyio.sleep(10)
        assert down(router) is None


@pytest.mark.parametrize("gap_seconds", [0.0, 0.1, 5.0])
async def test_what_was_forgotten_is_never_started_whoever_restarts(gap_seconds: float) -> None:
    """Responder and evictor die right after the wish, and come back knowing only what is on the bus
    and in the journal, which has the record still."""
    machine = spike()
    world = World(machine, rules_of())
    mortal = (Role.EVICTOR, Role.RESPONDER)
    async with world.running(*mortal) as tasks:
        with anyio.move_on_after(60):
            async with anyio.create_task_group() as lives:
                for role in mortal:
                    lives.start_soon(world.life, role)
                await anyio.sleep(60 - gap_seconds)
                wish(world.router, "Forget")
        for role in reversed(mortal):
            tasks.start_soon(world.life, role)
        await anyio.sleep(600)
    assert machine.workloads[1].life == 1
    assert down(world.router) is None
    assert topics.ORDER.at(NODE, name="forget") not in world.router.retained
