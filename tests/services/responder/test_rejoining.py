"""Who shares the network of one that was started is restarted, whenever evictd is killed."""

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from tests.services.responder.machine import NODE, Machine, eviction

from evictd.core.duty import Duty, Effect, Neighbours, StartOutcome, StopOutcome
from evictd.runtimes import Bereft
from evictd.shell.journal import MemoryJournal, Row
from evictd.testing.runtime import FakeRuntime
from evictd_schemas import Order, OrderStatus, Pod, PodReference, Stopped, topics

pytestmark = pytest.mark.looptime

VPN = Pod(namespace="home", name="vpn", uid="", termination_grace_period_seconds=5)
TORRENT = Pod(namespace="home", name="torrent", uid="", termination_grace_period_seconds=5)
TRACKER = Pod(namespace="home", name="tracker", uid="", termination_grace_period_seconds=5)
ORDER = topics.ORDER.at(NODE, name="restore")
RECORD = topics.STOPPED.at(NODE, namespace="home", name="vpn")
STATUS = topics.ORDER_STATUS.at(NODE, name="restore")


class Street(FakeRuntime):
    """Two that use the network of a third, and lose it with its life.

    `goes_on`: whoever asks may be killed, what was asked for is done all the same, as engines do.
    """

    def __init__(self, *, goes_on: bool = False) -> None:
        super().__init__()
        self.goes_on = goes_on
        self.begun: dict[str, int] = {}
        self.lives = count()
        self.problems: tuple[str, ...] = ()
        self.asked: list[asyncio.Task[Any]] = []
        for pod in (VPN, TORRENT, TRACKER):
            self.begin(pod, stops_in_seconds=1.0)
        self.start_seconds = 0.5

    def begin(
        self, pod: Pod, *, stops_in_seconds: float | None = 0.0, uid: str | None = None
    ) -> PodReference:
        self.begun[pod.name] = next(self.lives)
        return super().begin(pod, stops_in_seconds=stops_in_seconds, uid=uid)

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        outcome: StopOutcome = await self._done(super().stop(pod, grace_seconds))
        return outcome

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        outcome: StartOutcome = await self._done(super().start(namespace, name, runtime_id))
        return outcome

    async def bereft(self, namespace: str, name: str, runtime_id: str) -> Bereft:
        del namespace, runtime_id
        await asyncio.sleep(0.25)
        listed = {one.pod.name: one.pod for one in (await self.list()).workloads}
        if name != "vpn" or name not in listed:
            return Bereft()
        lost = (pod for pod in listed.values() if self.begun[pod.name] < self.begun["vpn"])
        return Bereft(pods=tuple(lost), problems=self.problems)

    async def connected(self) -> list[str]:
        """Who runs and has a network."""
        running = [one.pod.name for one in (await self.list()).workloads]
        if "vpn" not in running:
            return []
        return [name for name in running if self.begun[name] >= self.begun["vpn"]]

    async def _done(self, deed: Any) -> Any:
        task = asyncio.create_task(deed)
        self.asked.append(task)
        return await (asyncio.shield(task) if self.goes_on else task)


class SlowJournal(MemoryJournal[Duty, Effect]):
    """It takes a moment to have something on the disk."""

    async def commit(self, rows: Sequence[Row[Duty, Effect]]) -> None:
        await asyncio.sleep(0.25)
        await super().commit(rows)


def machine_on(street: Street) -> Machine:
    machine = Machine(street)
    machine.runtime = street
    machine.journal = SlowJournal()
    return machine


async def ordered(machine: Machine) -> None:
    """vpn is down because of an Eviction, and is ordered back."""
    vpn = next(one.reference for one in (await machine.runtime.list()).workloads if _is_vpn(one))
    where = topics.EVICTION.at(NODE, namespace="home", name="vpn-1")
    machine.say(eviction(vpn, name="vpn-1"), where)
    await asyncio.sleep(10)
    machine.say(None, where)
    await asyncio.sleep(1)
    assert await connected(machine) == []
    order = Order(uid="back", kind="Restore", target=vpn, deadline_seconds=60)
    machine.say(order, ORDER)


def _is_vpn(workload: Any) -> bool:
    return bool(workload.pod.name == "vpn")


async def connected(machine: Machine) -> list[str]:
    assert isinstance(machine.runtime, Street)
    return await machine.runtime.connected()


def to_do(machine: Machine) -> list[str]:
    """Restarts that the journal has."""
    return [key for key in machine.journal.kept if key.startswith("network/")]


def answer(machine: Machine) -> OrderStatus:
    status = machine.retained(STATUS, OrderStatus)
    assert isinstance(status, OrderStatus)
    return status


async def test_those_that_share_its_network_are_restarted_and_the_answer_says_so() -> None:
    machine = machine_on(street := Street())
    street.problems = ("home/kept shares its network and was not restarted: it is protected",)
    async with machine.life():
        await ordered(machine)
        await asyncio.sleep(30)
    assert await street.connected() == ["torrent", "tracker", "vpn"]
    assert answer(machine).message == (
        "home/kept shares its network and was not restarted: it is protected; "
        "home/torrent, which shares its network, was restarted; "
        "home/tracker, which shares its network, was restarted"
    )
    assert [name for _, name in street.starts] == ["vpn", "torrent", "tracker"]
    assert not to_do(machine)


@pytest.mark.parametrize("goes_on", [False, True], ids=["", "the engine goes on"])
@pytest.mark.parametrize("eighth", range(60))
async def test_killed_at_every_moment_all_have_a_network_in_the_end(
    eighth: int, *, goes_on: bool
) -> None:
    """Also between a stop and its start, and before it was known who shares the network."""
    machine = machine_on(street := Street(goes_on=goes_on))
    async with machine.life():
        await ordered(machine)
        await asyncio.sleep(eighth / 8)
    async with machine.life():
        await asyncio.sleep(60)
    assert await street.connected() == ["torrent", "tracker", "vpn"]
    assert machine.retained(RECORD, Stopped) is None
    assert not to_do(machine)
    await asyncio.gather(*street.asked, return_exceptions=True)


async def test_one_that_does_not_start_is_told_and_tried_again() -> None:
    """By the next life too; the answer to the start does not wait for it."""
    machine = machine_on(street := Street())
    async with machine.life():
        await ordered(machine)
        await asyncio.sleep(2)
        street.start_failure = "no such network"
        await asyncio.sleep(10)
        assert "home/torrent shares its network and was not restarted: no such network" in (
            answer(machine).message
        )
    async with machine.life():
        street.start_failure = None
        await asyncio.sleep(70)
    assert await street.connected() == ["torrent", "tracker", "vpn"]


async def test_who_is_down_for_it_is_spared_by_a_reclaim_and_counts_for_budgets() -> None:
    """As long as its start is tried: evictd has stopped it, though no record says so."""
    machine = machine_on(street := Street())
    sharers = [one.pod for one in (await street.list()).workloads if not _is_vpn(one)]
    async with machine.life() as responder:
        await ordered(machine)
        await asyncio.sleep(2)
        street.start_failure = "no such network"
        await asyncio.sleep(10)
        assert len(to_do(machine)) == 2
        assert responder.away.runtime_ids() == {pod.runtime_id for pod in sharers}
        away = responder.away.counted_in(Neighbours()).away
        assert {pod.uid for pod in away} == {pod.uid for pod in sharers}
        street.start_failure = None
        await asyncio.sleep(70)
        assert responder.away.runtime_ids() == frozenset()


async def test_a_long_grace_of_another_does_not_hold_up_the_answer() -> None:
    machine = machine_on(street := Street())
    street.end("home", "torrent")
    slow = Pod(namespace="home", name="torrent", uid="", termination_grace_period_seconds=40)
    street.begin(slow, stops_in_seconds=None)
    async with machine.life():
        await ordered(machine)
        await asyncio.sleep(25)
        assert "home/torrent, which shares its network, is being restarted" in (
            answer(machine).message
        )
        await asyncio.sleep(30)
    assert await street.connected() == ["torrent", "tracker", "vpn"]
