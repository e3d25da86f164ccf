"""The built-in responder on a bus in memory, over the fake runtime, on virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from evictd.core.duty import Duty, Effect, Given
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd.core.rules import Mode, Rules
from evictd.responder.service import DefaultResponder
from evictd.shell.blocking import inline
from evictd.shell.bus import Delivery, Listing, Router
from evictd.shell.clock import LoopClock
from evictd.shell.inbox import Inbox
from evictd.shell.journal import MemoryJournal
from evictd.shell.journal_codec import Codec
from evictd.shell.publisher import Epoch
from evictd.shell.supervise import Outside
from evictd.testing.runtime import FakeRuntime
from evictd_schemas import (
    Event,
    Eviction,
    EvictionSpec,
    EvictionStatus,
    Metadata,
    Order,
    OrderStatus,
    Pod,
    PodReference,
    PodTarget,
    Reason,
    Report,
    ResponderStatus,
    StepOutcome,
    Stopped,
    Target,
    TargetResponder,
    topics,
)

pytestmark = pytest.mark.looptime

NODE = "edge-7"
START = datetime(2026, 1, 1, tzinfo=UTC)
WEB = Pod(namespace="shop", name="web", uid="", termination_grace_period_seconds=30)


def topic(name: str = "web-1") -> str:
    return topics.EVICTION.at(NODE, namespace="shop", name=name)


def report_topic(name: str = "web-1") -> str:
    domain, _, key = DEFAULT_RESPONDER.partition("/")
    return topics.REPORT.at(NODE, namespace="shop", name=name, domain=domain, key=key)


def eviction(
    pod: PodReference,
    *,
    name: str = "web-1",
    state: str = "Active",
    grace: int | None = None,
    dry_run: bool = False,
) -> Eviction:
    return Eviction(
        metadata=Metadata(namespace=pod.namespace, name=name, uid=f"uid of {name}"),
        spec=EvictionSpec(target=Target(pod=PodTarget(name=pod.name, uid=pod.uid))),
        status=EvictionStatus(
            node=NODE,
            target_responders=(TargetResponder(name=DEFAULT_RESPONDER, priority=100, state=state),),
            responders=(ResponderStatus(name=DEFAULT_RESPONDER, start_time=START),),
            grace_period_seconds=grace,
            dry_run=dry_run,
            reason=Reason(signal="memory.available"),
        ),
    )


class Machine:
    """A bus, a fake runtime, a journal, and the lives of one responder."""

    filters = ("#",)

    def __init__(self, *runtimes: Any, mode: Mode = Mode.ACT) -> None:
        self.bus = Router()
        self.runtime = FakeRuntime()
        self.runtimes = runtimes or (self.runtime,)
        self.journal: MemoryJournal[Duty, Effect] = MemoryJournal()
        self.rules = Rules(node=NODE, mode=mode)
        self.heard: list[Delivery] = []
        self.lives = 0
        self.bus.attach(self)

    def deliver(self, delivery: Delivery) -> None:
        self.heard.append(delivery)

    def listed(self, listing: Listing) -> None:
        """It only hears."""

    def say(self, message: Any, where: str = "") -> None:
        payload = b"" if message is None else msgspec.json.encode(message)
        self.bus.publish(where or topic(), payload, retain=True, publisher=self)

    def reports(self, where: str = "") -> list[Report]:
        return [
            msgspec.json.decode(found.payload, type=Report)
            for found in self.heard
            if found.topic == (where or report_topic()) and found.payload
        ]

    def retained(self, where: str, kind: Any) -> Any:
        payload = self.bus.retained.get(where)
        return None if payload is None else msgspec.json.decode(payload, type=kind)

    def stopped(self) -> Stopped | None:
        found: Stopped | None = self.retained(
            topics.STOPPED.at(NODE, namespace="shop", name="web"), Stopped
        )
        return found

    @asynccontextmanager
    async def life(self) -> AsyncIterator[DefaultResponder]:
        """A responder that is killed at the end, whatever it was doing."""
        self.lives += 1
        clock = LoopClock(START)
        inbox: Inbox[Given] = Inbox(clock)
        responder = DefaultResponder(
            Outside(
                node=NODE,
                scope=NODE,
                bus=self.bus,
                epoch=Epoch(self.lives * 1000),
                inbox=inbox,
                clock=clock,
                journal=self.journal,
                run_blocking=inline,
                rules=lambda node: self.rules if node == NODE else None,
            ),
            self.runtimes,
        )
        running = asyncio.create_task(responder.run())
        await asyncio.sleep(0.1)
        try:
            yield responder
            if running.done():
                running.result()
        finally:
            running.cancel()
            await asyncio.wait([running])
            inbox.close()


async def test_a_workload_is_stopped_reported_and_written_down() -> None:
    """Point of no return first, then the end with targetGone, then what is down."""
    machine = Machine()
    web = machine.runtime.start(WEB, stops_in_seconds=2)
    async with machine.life():
        machine.say(eviction(web))
        await asyncio.sleep(1)
        (first,) = machine.reports()
        assert first.point_of_no_return
        assert not first.target_gone
        assert machine.stopped() is None
        await asyncio.sleep(2)
    assert machine.runtime.stops == [(web, 30)]
    last = machine.reports()[-1]
    assert last.target_gone
    assert last.completion_time is not None
    stopped = machine.stopped()
    assert stopped is not None
    assert (stopped.uid, stopped.signal, stopped.eviction) == (web.uid, "memory.available", "web-1")


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.DRY_RUN])
async def test_unless_the_node_acts_nothing_is_stopped(mode: Mode) -> None:
    """Whoever asked, and although the Eviction is not dry."""
    machine = Machine(mode=mode)
    web = machine.runtime.start(WEB)
    async with machine.life():
        machine.say(eviction(web))
        await asyncio.sleep(100)
    assert machine.runtime.stops == []
    (report,) = machine.reports()
    assert report.message == f"would have stopped shop/web; mode is {mode}"
    assert not report.target_gone
    assert machine.stopped() is None


async def test_of_another_machines_workload_nothing_is_said() -> None:
    """Its runtimes do not list the uid."""
    machine = Machine()
    machine.runtime.start(WEB)
    stranger = PodReference(namespace="shop", name="web", uid="another")
    async with machine.life():
        machine.say(eviction(stranger))
        await asyncio.sleep(1000)
    assert machine.reports() == []
    assert machine.runtime.stops == []


async def test_a_hard_stop_does_not_wait_for_a_soft_one() -> None:
    """Two workloads, one of them deaf with a grace of ten minutes."""
    machine = Machine()
    slow = machine.runtime.start(Pod(namespace="shop", name="slow", uid=""), stops_in_seconds=None)
    web = machine.runtime.start(WEB)
    async with machine.life():
        machine.say(eviction(slow, name="slow-1", grace=600), topic("slow-1"))
        await asyncio.sleep(10)
        machine.say(eviction(web, grace=1))
        await asyncio.sleep(2)
        assert machine.reports()[-1].target_gone
        assert not machine.reports(report_topic("slow-1"))[-1].target_gone


async def test_a_smaller_grace_shortens_the_stop_that_runs() -> None:
    """The same Eviction becomes hard while the soft stop is waiting."""
    machine = Machine()
    web = machine.runtime.start(WEB, stops_in_seconds=None)
    async with machine.life():
        machine.say(eviction(web, grace=600))
        await asyncio.sleep(60)
        machine.say(eviction(web, grace=5))
        await asyncio.sleep(4)
        assert not machine.reports()[-1].target_gone
        await asyncio.sleep(2)
        assert machine.reports()[-1].target_gone
    assert machine.runtime.stops == [(web, 600), (web, 5)]


async def test_a_kill_in_the_middle_of_a_stop_is_taken_up_again_and_ends_once() -> None:
    """The journal's row says stop again, although a heartbeat came after it."""
    machine = Machine()
    web = machine.runtime.start(WEB, stops_in_seconds=None)
    async with machine.life():
        machine.say(eviction(web, grace=600))
        await asyncio.sleep(400)
    async with machine.life():
        await asyncio.sleep(100)
        assert not machine.reports()[-1].target_gone
        await asyncio.sleep(150)
    assert machine.runtime.stops == [(web, 600), (web, 600)]
    assert machine.stopped() is not None
    assert len([found for found in machine.reports() if found.target_gone]) == 1


async def test_a_target_that_went_while_the_responder_was_down_is_reported_as_gone() -> None:
    """Also when the Eviction is only known from the journal."""
    machine = Machine()
    web = machine.runtime.start(WEB, stops_in_seconds=None)
    async with machine.life():
        machine.say(eviction(web, grace=600))
        await asyncio.sleep(5)
    machine.runtime.end("shop", "web")
    async with machine.life():
        await asyncio.sleep(1)
    assert machine.reports()[-1].target_gone
    assert machine.reports()[-1].message == "shop/web is gone"


async def test_a_restart_after_the_end_says_nothing_twice() -> None:
    """What the bus already holds is not published again, and nothing is stopped again."""
    machine = Machine()
    web = machine.runtime.start(WEB)
    async with machine.life():
        machine.say(eviction(web))
        await asyncio.sleep(1)
    said = len(machine.heard)
    again = machine.runtime.start(WEB)
    async with machine.life():
        await asyncio.sleep(100)
    assert len(machine.heard) == said
    assert machine.runtime.stops == [(web, 30)]
    assert (await machine.runtime.list()).workloads[0].reference == again


async def test_an_eviction_collected_while_the_responder_was_down_is_forgotten() -> None:
    """An authoritative list that does not name it ends the duty; the report goes."""
    machine = Machine()
    web = machine.runtime.start(WEB)
    async with machine.life():
        machine.say(eviction(web))
        await asyncio.sleep(1)
    machine.say(None)
    async with machine.life() as responder:
        await asyncio.sleep(1)
        assert responder.duties == {}
    assert report_topic() not in machine.bus.retained
    assert machine.stopped() is not None


async def test_a_stop_that_fails_is_tried_again_and_stays_visible() -> None:
    """With attempts and the reason, until it works."""
    machine = Machine()
    web = machine.runtime.start(WEB)
    machine.runtime.failure = "the engine hangs"
    async with machine.life():
        machine.say(eviction(web))
        await asyncio.sleep(12)
        assert machine.reports()[-1].message == (
            "stop failed (attempts=2): shop/web: the engine hangs"
        )
        machine.runtime.failure = None
        await asyncio.sleep(10)
    assert machine.reports()[-1].target_gone
    assert len(machine.runtime.stops) == 3


class Hung(FakeRuntime):
    """A runtime whose engine never answers."""

    name = "hung"

    async def list(self) -> Any:
        await asyncio.Event().wait()

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> Any:
        del pod, grace_seconds
        await asyncio.Event().wait()


async def test_a_runtime_that_hangs_never_holds_up_another() -> None:
    """Neither when looking nor, after a restart, when stopping."""
    machine = Machine(Hung(), fake := FakeRuntime())
    web = fake.start(WEB, stops_in_seconds=5)
    async with machine.life():
        machine.say(eviction(web))
        await asyncio.sleep(1)
        assert fake.stops == [(web, 30)]
    async with machine.life():
        await asyncio.sleep(6)
        assert machine.reports()[-1].target_gone


async def test_a_wrong_eviction_is_answered_once_and_changes_nothing() -> None:
    """The responder is the judge of this topic."""
    machine = Machine()
    web = machine.runtime.start(WEB)
    async with machine.life():
        machine.say(eviction(web, name="another"))
        machine.say(eviction(web, name="another"))
        machine.bus.publish(topic(), b"{", retain=True)
        await asyncio.sleep(1)
    events = [
        msgspec.json.decode(found.payload, type=Event)
        for found in machine.heard
        if "/events/responder/MessageRejected" in found.topic
    ]
    assert [event.data["field"] for event in events] == ["metadata.name", "$"]
    assert machine.runtime.stops == []


class Reclaiming(FakeRuntime):
    """A runtime that can give back images."""

    reclaim_steps = frozenset({"danglingImages"})

    async def reclaim(self, step: str) -> StepOutcome:
        await asyncio.sleep(3)
        return StepOutcome(step=step, freed_bytes=7)


ORDER = Order(uid="order-1", kind="Reclaim", steps=("danglingImages", "logs"))


async def test_a_reclaim_does_what_its_runtimes_can_and_says_what_they_cannot() -> None:
    """So that the evictor goes on; and the same order is not carried out again."""
    machine = Machine(Reclaiming())
    where, status = (
        topics.ORDER.at(NODE, name="reclaim"),
        topics.ORDER_STATUS.at(NODE, name="reclaim"),
    )
    async with machine.life():
        machine.say(ORDER, where)
        await asyncio.sleep(1)
        assert machine.retained(status, OrderStatus).state == "Running"
        await asyncio.sleep(3)
    finished = machine.retained(status, OrderStatus)
    assert finished.state == "Finished"
    assert finished.steps == (
        StepOutcome(step="danglingImages", freed_bytes=7),
        StepOutcome(step="logs", error="not supported by fake"),
    )
    async with machine.life():
        machine.say(ORDER, where)
        await asyncio.sleep(10)
        assert machine.retained(status, OrderStatus) == finished
        machine.say(None, where)
        await asyncio.sleep(1)
    assert status not in machine.bus.retained


@pytest.mark.parametrize(
    ("order", "mode", "why"),
    [
        (ORDER, Mode.OBSERVE, "mode is observe"),
        (msgspec.structs.replace(ORDER, dry_run=True), Mode.ACT, "the order is a dry run"),
        (Order(uid="2", kind="Restore"), Mode.ACT, "this version restores nothing"),
    ],
)
async def test_what_is_not_done_is_refused_with_the_reason(
    order: Order, mode: Mode, why: str
) -> None:
    """Nothing is reclaimed or restarted on a node that does not act."""
    machine = Machine(Reclaiming(), mode=mode)
    async with machine.life():
        machine.say(order, topics.ORDER.at(NODE, name="any"))
        await asyncio.sleep(10)
    status = machine.retained(topics.ORDER_STATUS.at(NODE, name="any"), OrderStatus)
    assert (status.state, status.message) == ("Refused", why)


async def test_state_and_effects_survive_the_journals_own_text() -> None:
    """Every row that is written can be read."""
    machine = Machine()
    web = machine.runtime.start(WEB, stops_in_seconds=50)
    codec: Codec[Duty, Effect] = Codec(Duty, Effect)
    async with machine.life():
        machine.say(eviction(web))
        for _ in range(12):
            await asyncio.sleep(5)
            for row in await machine.journal.rows():
                state, effects = codec.read(*codec.write(row.state, row.effects))
                assert (state, effects) == (row.state, tuple(row.effects))
    assert machine.reports()[-1].target_gone
