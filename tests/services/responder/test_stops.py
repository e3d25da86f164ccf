"""The built-in responder on a bus in memory, over the fake runtime, on virtual time."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import structs
from tests.services.responder.machine import (
    NODE,
    WEB,
    Machine,
    eviction,
    report_topic,
    topic,
)

from evictd.core.duty import Duty, Effect
from evictd.core.rules import Mode, Rules
from evictd.shell.journal_codec import Codec
from evictd.testing.runtime import FakeRuntime
from evictd_schemas import (
    Event,
    Pod,
    PodReference,
)

pytestmark = pytest.mark.looptime


async def test_a_workload_is_stopped_reported_and_written_down() -> None:
    """Point of no return first, then the end with targetGone, then what is down."""
    machine = Machine()
    web = machine.runtime.begin(WEB, stops_in_seconds=2)
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


async def test_a_workload_that_is_to_be_restarted_lives_again_at_once() -> None:
    """Another life, and nothing is down because of us."""
    machine = Machine()
    web = machine.runtime.begin(structs.replace(WEB, action="restart"), stops_in_seconds=2)
    async with machine.life():
        machine.say(eviction(web))
        await asyncio.sleep(5)
    assert machine.reports()[-1].target_gone
    assert machine.runtime.starts == [("shop", "web")]
    (again,) = (await machine.runtime.list()).workloads
    assert again.pod.uid != web.uid
    assert machine.stopped() is None


async def test_a_workload_that_does_not_come_up_again_is_down_because_of_us() -> None:
    """As after any other stop, so that it is tried again when there is room."""
    machine = Machine()
    web = machine.runtime.begin(structs.replace(WEB, action="restart"), stops_in_seconds=2)
    async with machine.life():
        machine.say(eviction(web))
        await asyncio.sleep(1)
        machine.runtime.start_failure = "no such network"
        await asyncio.sleep(4)
    stopped = machine.stopped()
    assert stopped is not None
    assert (stopped.uid, stopped.restore, stopped.attempts) == (web.uid, "auto", 1)


async def test_a_start_that_was_cut_short_by_a_crash_is_made_by_the_next_life() -> None:
    """The journal has the last effects. [design, law 5]"""
    machine = Machine()
    web = machine.runtime.begin(structs.replace(WEB, action="restart"), stops_in_seconds=0)
    machine.runtime.start_seconds = 20
    async with machine.life():
        machine.say(eviction(web))
        await asyncio.sleep(5)
    machine.runtime.start_seconds = 0
    async with machine.life():
        await asyncio.sleep(5)
    assert len(machine.runtime.starts) == 2
    assert [found.pod.name for found in (await machine.runtime.list()).workloads] == ["web"]
    assert machine.stopped() is None


async def test_what_is_left_to_a_webhook_is_not_stopped_unless_it_is_hard() -> None:
    """After half a minute it is given up, so that the next one has its turn."""
    machine = Machine()
    web = machine.runtime.begin(structs.replace(WEB, action="webhook"))
    async with machine.life():
        machine.say(eviction(web))
        await asyncio.sleep(100)
        assert machine.runtime.stops == []
        last = machine.reports()[-1]
        assert (last.completion_time is not None, last.target_gone) == (True, False)
        other = eviction(web, name="web-2")
        machine.say(
            structs.replace(other, status=structs.replace(other.status, type="Hard")),
            topic("web-2"),
        )
        await asyncio.sleep(5)
    assert [pod for pod, _ in machine.runtime.stops] == [web]


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.DRY_RUN])
async def test_unless_the_node_acts_nothing_is_stopped(mode: Mode) -> None:
    """Whoever asked, and although the Eviction is not dry."""
    machine = Machine(mode=mode)
    web = machine.runtime.begin(WEB)
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
    machine.runtime.begin(WEB)
    stranger = PodReference(namespace="shop", name="web", uid="another")
    async with machine.life():
        machine.say(eviction(stranger))
        await asyncio.sleep(1000)
    assert machine.reports() == []
    assert machine.runtime.stops == []


async def test_a_hard_stop_does_not_wait_for_a_soft_one() -> None:
    """Two workloads, one of them deaf with a grace of ten minutes."""
    machine = Machine()
    slow = machine.runtime.begin(Pod(namespace="shop", name="slow", uid=""), stops_in_seconds=None)
    web = machine.runtime.begin(WEB)
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
    web = machine.runtime.begin(WEB, stops_in_seconds=None)
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
    """The journal's row says stop again with what was left of the grace at the last heartbeat, and
    the Eviction on the bus with what is left now: the grace is not given twice."""
    machine = Machine()
    web = machine.runtime.begin(WEB, stops_in_seconds=None)
    async with machine.life():
        machine.say(eviction(web, grace=600))
        await asyncio.sleep(400)
    async with machine.life():
        await asyncio.sleep(100)
        assert not machine.reports()[-1].target_gone
        await asyncio.sleep(150)
    assert machine.runtime.stops == [(web, 600), (web, 240), (web, 200)]
    assert machine.stopped() is not None
    assert len([found for found in machine.reports() if found.target_gone]) == 1


async def test_a_stop_left_in_the_journal_is_not_carried_out_on_a_node_that_no_longer_acts() -> (
    None
):
    """The mode is looked at last, for each stop."""
    machine = Machine()
    web = machine.runtime.begin(WEB, stops_in_seconds=None)
    async with machine.life():
        machine.say(eviction(web, grace=600))
        await asyncio.sleep(5)
    machine.rules = Rules(node=NODE, mode=Mode.OBSERVE)
    async with machine.life():
        await asyncio.sleep(20)
    assert machine.runtime.stops == [(web, 600)]
    assert machine.reports()[-1].message == "would have stopped shop/web; mode is observe"
    assert not machine.reports()[-1].target_gone


async def test_a_target_that_went_while_the_responder_was_down_is_reported_as_gone() -> None:
    """Also when the Eviction is only known from the journal."""
    machine = Machine()
    web = machine.runtime.begin(WEB, stops_in_seconds=None)
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
    web = machine.runtime.begin(WEB)
    async with machine.life():
        machine.say(eviction(web))
        await asyncio.sleep(1)
    said = len(machine.heard)
    again = machine.runtime.begin(WEB)
    async with machine.life():
        await asyncio.sleep(100)
    assert len(machine.heard) == said
    assert machine.runtime.stops == [(web, 30)]
    assert (await machine.runtime.list()).workloads[0].reference == again


async def test_an_eviction_collected_while_the_responder_was_down_is_forgotten() -> None:
    """An authoritative list that does not name it ends the duty; the report goes."""
    machine = Machine()
    web = machine.runtime.begin(WEB)
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
    web = machine.runtime.begin(WEB)
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
    web = fake.begin(WEB, stops_in_seconds=5)
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
    web = machine.runtime.begin(WEB)
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


async def test_state_and_effects_survive_the_journals_own_text() -> None:
    """Every row that is written can be read."""
    machine = Machine()
    web = machine.runtime.begin(WEB, stops_in_seconds=50)
    codec: Codec[Duty, Effect] = Codec(Duty, Effect)
    async with machine.life():
        machine.say(eviction(web))
        for _ in range(12):
            await asyncio.sleep(5)
            for row in await machine.journal.rows():
                state, effects = codec.read(*codec.write(row.state, row.effects))
                assert (state, effects) == (row.state, tuple(row.effects))
    assert machine.reports()[-1].target_gone
