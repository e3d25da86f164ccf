"""Disruption budgets on a bus in memory, over the fake runtime, on virtual time."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec import structs
from tests.services.responder.machine import (
    NODE,
    START,
    WEB,
    Machine,
    eviction,
    report_topic,
    topic,
)

from evictd.core.duty import StopOutcome, StopResult
from evictd.core.rules import Budget, Mode, Portion, Rules
from evictd.runtimes import Change, Listing
from evictd.testing.runtime import FakeRuntime
from evictd_schemas import Eviction, PodReference, RequesterStatus, Stopped, topics

pytestmark = pytest.mark.looptime

LABELS = {"app": "web"}


def machine_with(
    count: int,
    *more: FakeRuntime,
    least: int | None = None,
    most: int | None = None,
    seconds: float = 2,
) -> tuple[Machine, list[PodReference]]:
    """A machine with shop/web-1 to web-N under one budget; each needs some seconds to stop."""
    machine = Machine()
    machine.runtimes = (machine.runtime, *more)
    machine.rules = Rules(
        node=NODE,
        mode=Mode.ACT,
        budgets=(
            Budget(
                name="web",
                match_labels=LABELS,
                minimum_available=None if least is None else Portion(amount=least),
                maximum_unavailable=None if most is None else Portion(amount=most),
            ),
        ),
    )
    pods = [
        machine.runtime.begin(
            structs.replace(WEB, name=f"web-{number}", labels=LABELS), stops_in_seconds=seconds
        )
        for number in range(1, count + 1)
    ]
    return machine, pods


def say(machine: Machine, pod: PodReference, requester: str = "acme.io/mover") -> Eviction:
    """Somebody wants it."""
    found = eviction(pod, name=pod.name)
    wants = (RequesterStatus(name=requester, intent="Eviction"),)
    found = structs.replace(found, status=structs.replace(found.status, requesters=wants))
    machine.say(found, topic(pod.name))
    return found


async def test_of_two_at_the_same_moment_one_waits_and_goes_when_another_has_come() -> None:
    """Three run and two have to stay: the second is refused until a fourth runs."""
    machine, pods = machine_with(3, least=2)
    async with machine.life():
        for pod in pods[:2]:
            say(machine, pod)
        await asyncio.sleep(60)
        assert [pod.name for pod, _ in machine.runtime.stops] == ["web-1"]
        refused = machine.reports(report_topic("web-2"))[-1]
        assert refused.message == (
            "stop refused (attempts=4) cause=budget: shop/web-2: budget web (minAvailable 2) "
            "needs 2 healthy of 3, and 1 would be left"
        )
        assert not refused.point_of_no_return
        machine.runtime.begin(structs.replace(WEB, name="web-4", labels=LABELS))
        await asyncio.sleep(60)
    assert [pod.name for pod, _ in machine.runtime.stops] == ["web-1", "web-2"]


async def test_what_has_been_stopped_is_expected_after_a_restart_and_a_collection() -> None:
    """One of three may be away; the Eviction of the first is over and forgotten, its record is
    not."""
    machine, pods = machine_with(3, most=1)
    async with machine.life():
        say(machine, pods[0])
        await asyncio.sleep(10)
        machine.say(None, topic("web-1"))
        await asyncio.sleep(1)
    async with machine.life():
        say(machine, pods[1])
        await asyncio.sleep(30)
        assert [pod.name for pod, _ in machine.runtime.stops] == ["web-1"]
        machine.runtime.begin(structs.replace(WEB, name="web-1", labels=LABELS))
        await asyncio.sleep(30)
    assert [pod.name for pod, _ in machine.runtime.stops] == ["web-1", "web-2"]


async def test_a_stop_that_a_former_life_began_counts() -> None:
    """It was killed in the middle of one; the next life takes it up, and lets no second one go."""
    machine, pods = machine_with(2, most=1, seconds=25)
    async with machine.life():
        say(machine, pods[0])
        await asyncio.sleep(5)
    async with machine.life():
        say(machine, pods[1])
        await asyncio.sleep(60)
    assert {pod.name for pod, _ in machine.runtime.stops} == {"web-1"}


async def test_node_pressure_does_not_wait_for_a_runtime_that_hangs() -> None:
    """It ignores budgets; everybody else needs to know who is there."""
    machine, pods = machine_with(2, Deaf(), least=1)
    async with machine.life():
        say(machine, pods[0])
        say(machine, pods[1], "evictd.io/node-pressure")
        await asyncio.sleep(1)
        assert [pod.name for pod, _ in machine.runtime.stops] == ["web-2"]
        assert machine.reports(report_topic("web-2"))[0].message.endswith(
            "; node pressure ignores budget web (minAvailable 1)"
        )
        await asyncio.sleep(14)
        refused = machine.reports(report_topic("web-1"))[-1].message
        assert "cannot be judged: deaf does not list everything: no listing in 10 s" in refused
        say(machine, pods[0], "evictd.io/node-pressure")
        await asyncio.sleep(1)
    assert [pod.name for pod, _ in machine.runtime.stops] == ["web-2", "web-1"]


async def test_before_the_bus_has_told_what_is_down_nothing_goes() -> None:
    """A record of a former life may say that one is away already."""
    machine, pods = machine_with(2, most=1)
    down = Stopped(uid="0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11", time=START, labels=LABELS)
    where = topics.STOPPED.at(NODE, namespace="shop", name="web-0")
    machine.say(down, where)
    async with machine.life():
        say(machine, pods[0])
        await asyncio.sleep(20)
        assert machine.runtime.stops == []
        last = machine.reports(report_topic("web-1"))[-1].message
        assert "needs 2 healthy of 3" in last


async def test_a_withdrawal_ends_a_refusal() -> None:
    """Nothing was sent, so that nothing has to be undone."""
    machine, pods = machine_with(1, least=1)
    async with machine.life():
        say(machine, pods[0])
        await asyncio.sleep(20)
        machine.say(eviction(pods[0], name="web-1", state="Canceled"), topic("web-1"))
        machine.runtime.begin(structs.replace(WEB, name="web-2", labels=LABELS))
        await asyncio.sleep(1200)
    assert machine.runtime.stops == []


class Deaf(FakeRuntime):
    """Its engine does not answer."""

    name = "deaf"

    async def list(self) -> Listing:
        """Never."""
        await asyncio.sleep(10_000)
        return Listing()

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        """It has nothing."""
        del pod, grace_seconds
        return StopOutcome(result=StopResult.NOT_FOUND)

    async def watch(self) -> AsyncIterator[Change]:
        """No hints."""
        return
        yield
