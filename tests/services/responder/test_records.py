"""What is down because of evictd is known to each life of the responder, whatever a broker lost."""

import asyncio
from typing import Any

import pytest
from msgspec import structs
from tests.services.responder.machine import NODE, WEB, Machine, eviction, stopped_web

from evictd.core.duty import StopOutcome, StopResult
from evictd.core.effects import Owned
from evictd.shell.bus import Router
from evictd.shell.journal import MemoryJournal
from evictd.testing.runtime import FakeRuntime
from evictd_schemas import Order, OrderStatus, PodReference, topics

pytestmark = pytest.mark.looptime

ORDER = topics.ORDER.at(NODE, name="restore")
RECORD = topics.STOPPED.at(NODE, namespace="shop", name="web")


def lost(machine: Machine) -> None:
    """The broker has lost its store, and every process ended with it."""
    machine.bus = Router()
    machine.bus.attach(machine)


async def restored(machine: Machine, web: PodReference, **fields: Any) -> None:
    """By an order."""
    machine.say(Order(uid="back", kind="Restore", target=web, deadline_seconds=60, **fields), ORDER)
    await asyncio.sleep(100)


@pytest.mark.parametrize("seconds", [1, 3600])
async def test_a_broker_that_lost_its_store_is_told_again_by_the_next_life(seconds: int) -> None:
    """However long ago the stop was, and whatever became of its Eviction."""
    machine = Machine()
    async with machine.life():
        web = await stopped_web(machine)
        record = machine.stopped()
        machine.say(None)
        await asyncio.sleep(seconds)
    lost(machine)
    async with machine.life():
        told = machine.stopped()
        assert record is not None
        assert told is not None
        assert structs.replace(told, epoch=0, rev=0) == structs.replace(record, epoch=0, rev=0)
        await restored(machine, web)
    assert machine.runtime.starts == [("shop", "web")]
    lost(machine)
    async with machine.life():
        assert machine.stopped() is None


async def test_what_came_back_is_not_down_again_with_the_next_life() -> None:
    """Though the last step about its Eviction had said that it is down."""
    machine = Machine()
    async with machine.life():
        web = await stopped_web(machine)
        await restored(machine, web)
        assert machine.stopped() is None
    said = len(machine.heard)
    async with machine.life():
        await asyncio.sleep(10)
    assert RECORD not in [delivery.topic for delivery in machine.heard[said:]]


async def test_what_only_the_bus_knew_is_known_to_the_journal_from_then_on() -> None:
    """A journal was lost, and the broker's store is lost after it."""
    machine = Machine()
    async with machine.life():
        await stopped_web(machine)
    machine.forget_journal()
    async with machine.life():
        machine.say(None)
        await asyncio.sleep(1)
    lost(machine)
    async with machine.life():
        assert machine.stopped() is not None


async def test_what_a_person_cleared_from_the_bus_stays_cleared() -> None:
    """The record goes, and with it what the journal has of it."""
    machine = Machine()
    async with machine.life():
        await stopped_web(machine)
        machine.say(None, RECORD)
        machine.say(None)
        await asyncio.sleep(60)
    async with machine.life():
        assert machine.stopped() is None


@pytest.mark.parametrize("kind", ["Restore", "Forget"])
async def test_the_end_of_a_record_is_written_down_before_its_order_is_answered(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was told that it is over is not contradicted by the next life, killed or not."""
    machine = Machine()
    waiting: dict[str, Owned | None] = {}
    hold, commit = machine.journal.hold, machine.journal.commit

    async def write(rows: Any) -> None:
        for topic, message in waiting.items():
            hold(topic, message)
        waiting.clear()
        await commit(rows)

    monkeypatch.setattr(machine.journal, "hold", waiting.__setitem__)
    monkeypatch.setattr(machine.journal, "commit", write)
    async with machine.life():
        web = await stopped_web(machine)
        machine.say(None)
        await asyncio.sleep(1)
        assert RECORD in await machine.journal.records()
        machine.say(Order(uid="back", kind=kind, target=web, deadline_seconds=60), ORDER)
        await asyncio.sleep(100)
    status = machine.retained(topics.ORDER_STATUS.at(NODE, name="restore"), OrderStatus)
    assert status.state == "Finished"
    assert await machine.journal.records() == {}


async def test_a_machine_that_was_given_another_name_tells_who_is_down_under_that() -> None:
    """Nobody listens to the former name, nor may it still write there."""
    machine = Machine()
    async with machine.life():
        await stopped_web(machine)
    record = (await machine.journal.records())[RECORD]
    lost(machine)
    machine.journal = MemoryJournal()
    former = topics.STOPPED.at("edge-6", namespace="shop", name="web")
    machine.journal.hold(former, record)
    async with machine.life():
        assert machine.stopped() is not None
    assert former not in machine.bus.retained
    assert await machine.journal.records() == {RECORD: record}


class TimedOut(FakeRuntime):
    """Its engine answers no hurried stop in time, and may carry it out all the same."""

    late_seconds: float | None = 8

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        if grace_seconds is None or grace_seconds > 1:
            return await super().stop(pod, grace_seconds)
        if self.late_seconds is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(self.late_seconds, self.end, pod.namespace, pod.name)
        return StopOutcome(result=StopResult.FAILED, why="no answer")


@pytest.mark.parametrize("killed", [False, True])
async def test_a_failed_stop_that_comes_true_after_its_eviction_was_collected_is_down(
    *, killed: bool
) -> None:
    """In this life or the next, also where a broker lost its store."""
    machine = Machine(runtime := TimedOut())
    web = runtime.begin(WEB, stops_in_seconds=None)
    async with machine.life():
        machine.say(eviction(web, grace=1))
        await asyncio.sleep(1)
        machine.say(None)
        await asyncio.sleep(1 if killed else 20)
    if killed:
        await asyncio.sleep(20)
        lost(machine)
    async with machine.life() as responder:
        await asyncio.sleep(1)
        assert responder.duties == {}
    record = machine.stopped()
    assert record is not None
    assert record.uid == web.uid


async def test_the_end_of_one_stop_counts_after_another_failed_and_all_was_collected() -> None:
    """The hurried one was not answered."""
    machine = Machine(runtime := TimedOut())
    runtime.late_seconds = None
    web = runtime.begin(WEB, stops_in_seconds=20)
    async with machine.life() as responder:
        machine.say(eviction(web, grace=60))
        await asyncio.sleep(5)
        machine.say(eviction(web, grace=1))
        await asyncio.sleep(1)
        machine.say(None)
        await asyncio.sleep(30)
        assert machine.stopped() is not None
        assert responder.duties == {}
