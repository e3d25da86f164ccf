"""The controller is killed, the journal or the broker's store is lost: nothing happens twice."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.services.controller.bench import (
    DEFAULT,
    DRAIN,
    OTHER,
    Bench,
    Fuse,
    drained,
    request_topic,
    web,
)

from evictd.core.effects import BusEffect
from evictd.core.protocol.case import Case
from evictd.shell.bus import Listing, Router
from evictd.shell.journal import MemoryJournal
from evictd.shell.journal_codec import Codec

pytestmark = pytest.mark.looptime

DEEDS_MAX = 200
"""No story here takes more commits and publishes than this."""


class Broker:
    """A mirror that takes everything and gives its list when the test says so."""

    def outgoing(self, topic: str, payload: bytes, *, retain: bool) -> None:
        """It goes nowhere."""

    def interested(self, filters: Sequence[str]) -> None:
        """The list comes later."""


async def evicted(bench: Bench) -> None:
    """A story: a drain hands over, the default responder stops it, the requester cleans up."""
    await bench.begin()
    await bench.observe(drained())
    await bench.request(reason={"signal": "memory.available"})
    await bench.after(3)
    await bench.report(DRAIN, heartbeatTime=bench.time(), completionTime=bench.time())
    await bench.observe()
    await bench.after(3)
    await bench.report(completionTime=bench.time(), targetGone=True)
    await bench.observe(empty=True)
    await bench.after(12)
    await bench.observe()
    await bench.after(6)


async def test_killed_at_every_deed_it_still_evicts_exactly_once() -> None:
    crashes = 0
    for deeds in range(DEEDS_MAX):
        bench = Bench()
        bench.fuse = Fuse(deeds)
        await evicted(bench)
        assert bench.names() == ["pod-1-web"], f"crash at deed {deeds}"
        assert bench.answer() == ("False", "Succeeded"), f"crash at deed {deeds}"
        assert sorted(bench.reasons()) == [
            "Evicted",
            "EvictionRequested",
            "ResponderActive",
            "ResponderActive",
            "ResponderCompleted",
            "ResponderCompleted",
        ], f"crash at deed {deeds}"
        await bench.withdraw()
        await bench.after(62)
        assert bench.names() == [], f"crash at deed {deeds}"
        await bench.kill()
        if bench.lives == 1:
            break
        crashes += 1
    assert crashes > 10


async def test_killed_at_every_deed_a_hard_request_forces_once() -> None:
    for deeds in range(DEEDS_MAX):
        bench = Bench()
        bench.fuse = Fuse(deeds)
        await bench.begin()
        await bench.observe(drained())
        await bench.request(requester="evictd.io/node-pressure", type="Hard")
        await bench.after(1)
        assert bench.states() == {DRAIN: "Interrupted", DEFAULT: "Active"}
        assert bench.names() == ["pod-1-web"]
        assert bench.reasons().count("ResponderActive") == 1
        await bench.kill()
        if bench.lives == 1:
            break


async def test_killed_at_every_deed_a_withdrawal_cancels() -> None:
    for deeds in range(DEEDS_MAX):
        bench = Bench()
        bench.fuse = Fuse(deeds)
        await bench.begin()
        await bench.request()
        await bench.withdraw()
        await bench.after(1)
        assert bench.failed() == ("True", "CanceledDueToNoRequesters")
        assert bench.reasons().count("EvictionCanceled") == 1
        assert bench.status() is None
        await bench.kill()
        if bench.lives == 1:
            break


async def test_a_restart_extends_no_deadline(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained(startDeadlineSeconds=60))
    await bench.request(type="SoftWithDeadline", deadlineSeconds=500)
    before = bench.eviction()
    await bench.after(20)
    await bench.kill()
    await bench.after(20)
    await bench.start()
    after = bench.eviction()
    assert before is not None
    assert after is not None
    assert after.status.deadline_time == before.status.deadline_time
    assert after.status.responders == before.status.responders
    await bench.after(21)
    assert bench.states() == {DRAIN: "Interrupted", DEFAULT: "Active"}


async def test_nobody_is_interrupted_for_silence_until_the_list_is_complete(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained(startDeadlineSeconds=60))
    await bench.request()
    await bench.kill()
    bench.router.mirror(Broker())
    await bench.after(100)
    await bench.start()
    await bench.after(100)
    assert bench.states()[DRAIN] == "Active"
    bench.router.listing(Listing(authoritative=True))
    await bench.after(9)
    assert bench.states()[DRAIN] == "Active"
    await bench.after(2)
    assert bench.states()[DRAIN] == "Interrupted"


async def test_a_lost_journal_is_made_good_by_the_own_retained_messages(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained(startDeadlineSeconds=60))
    await bench.request()
    eviction, status = bench.eviction(), bench.status()
    await bench.after(5)
    await bench.report(DRAIN, heartbeatTime=bench.time(), message="copying")
    await bench.kill()
    bench.journal = MemoryJournal()
    await bench.after(5)
    await bench.start()
    await bench.observe()
    again, answer = bench.eviction(), bench.status()
    assert eviction is not None
    assert again is not None
    assert status is not None
    assert answer is not None
    assert again.metadata == eviction.metadata
    assert (answer.uid, answer.creation_timestamp) == (status.uid, status.creation_timestamp)
    assert bench.states() == {DRAIN: "Active", DEFAULT: "Inactive"}
    assert bench.names() == ["pod-1-web"]
    assert bench.reasons().count("EvictionRequested") == 1
    await bench.report(DRAIN, completionTime=bench.time())
    await bench.report(completionTime=bench.time(), targetGone=True)
    assert bench.reasons().count("Evicted") == 1


async def test_a_completion_reported_while_the_journal_was_lost_counts(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.request()
    await bench.kill()
    bench.journal = MemoryJournal()
    await bench.report(DRAIN, completionTime=bench.time())
    await bench.start()
    await bench.observe()
    assert bench.states() == {DRAIN: "Completed", DEFAULT: "Active"}


@pytest.mark.parametrize("field", ["lastTransitionTime", "startTime", "heartbeatTime"])
@pytest.mark.parametrize("time", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:29Z"])
async def test_an_eviction_that_tells_of_the_end_of_all_times_is_no_word_of_ours(
    bench: Bench, field: str, time: str
) -> None:
    """Somebody else wrote it; what it says is none of our clocks' times, and it ends nothing."""
    await bench.begin()
    await bench.observe(drained())
    await bench.request()
    await bench.report(DRAIN, heartbeatTime=bench.time())
    await bench.kill()
    bench.journal = MemoryJournal()
    topic = "evictd/v1/edge/evictions/shop/pod-1-web"
    told = msgspec.json.decode(bench.router.retained[topic])
    for item in (*told["status"]["conditions"], *told["status"]["responders"]):
        if field in item:
            item[field] = time
    await bench.say(topic, told)
    await bench.start()
    await bench.observe()
    await bench.after(60)
    assert bench.states() == {DRAIN: "Active", DEFAULT: "Inactive"}
    await bench.report(DRAIN, completionTime=bench.time())
    assert bench.states() == {DRAIN: "Completed", DEFAULT: "Active"}


@pytest.mark.parametrize("known", ["nothing", "chain"])
async def test_a_journal_that_is_older_than_the_bus_leads_to_the_same_end(
    bench: Bench, known: str
) -> None:
    """As after a power cut: the last moments are missing in it, and the bus has them."""
    await bench.begin()
    await bench.observe(drained(startDeadlineSeconds=60))
    older = MemoryJournal[Case, Any]()
    await bench.request(type="SoftWithDeadline", deadlineSeconds=500)
    if known == "chain":
        older.kept = dict(bench.journal.kept)
    await bench.report(DRAIN, completionTime=bench.time(), message="saved")
    await bench.after(5)
    await bench.report(message="stopping", pointOfNoReturn=True)
    before, status = bench.eviction(), bench.status()
    await bench.kill()
    bench.journal = older
    await bench.start()
    after, answer = bench.eviction(), bench.status()
    assert before is not None
    assert after is not None
    assert status is not None
    assert answer is not None
    assert answer.uid == status.uid
    assert after.metadata == before.metadata
    assert after.status.deadline_time == before.status.deadline_time
    assert bench.states() == {DRAIN: "Completed", DEFAULT: "Active"}
    assert after.status.responders[1].point_of_no_return
    ends = [entry.deadline_time for entry in after.status.responders]
    assert all(
        new is None or old is None or new <= old
        for new, old in zip(
            ends, [entry.deadline_time for entry in before.status.responders], strict=True
        )
    )
    await bench.report(completionTime=bench.time(), targetGone=True)
    assert bench.reasons().count("Evicted") == 1
    assert bench.answer() == ("False", "Succeeded")


async def test_a_request_withdrawn_meanwhile_ends_with_an_authoritative_list(
    bench: Bench,
) -> None:
    await bench.begin()
    await bench.request()
    await bench.kill()
    await bench.withdraw()
    await bench.start()
    assert bench.failed() == ("True", "CanceledDueToNoRequesters")


async def test_a_broker_without_its_store_ends_no_request(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.kill()
    bench.router = Router()
    bench.router.attach(bench.ear)
    bench.router.mirror(Broker())
    await bench.start()
    assert bench.states() == {DEFAULT: "Active"}, "what is ours is there again at once"
    bench.router.listing(Listing(authoritative=False))
    await bench.after(20)
    assert bench.failed() == ("False", "AwaitingEviction")
    await bench.kill()
    await bench.start()
    bench.router.listing(Listing(authoritative=True))
    await bench.after(1)
    assert bench.failed() == ("False", "AwaitingEviction"), "unconfirmed: no later list ends it"
    await bench.request()
    await bench.withdraw()
    assert bench.failed() == ("True", "CanceledDueToNoRequesters")


async def test_what_a_reconnection_left_unconfirmed_a_restart_after_it_does_not_end(
    bench: Bench,
) -> None:
    """The broker lost its store while we ran; the next list has all of ours, and not the wish."""
    bench.router.mirror(Broker())
    await bench.begin()
    bench.router.listing(Listing(authoritative=True))
    await bench.request()
    lost = frozenset({request_topic("move", "acme.io/mover")})
    bench.router.listing(Listing(authoritative=False, unconfirmed=lost))
    await bench.after(1)
    await bench.kill()
    bench.router = Router()
    bench.router.attach(bench.ear)
    bench.router.mirror(Broker())
    await bench.start()
    bench.router.listing(Listing(authoritative=True))
    await bench.after(1)
    assert bench.failed() == ("False", "AwaitingEviction")
    await bench.request()
    await bench.withdraw()
    assert bench.failed() == ("True", "CanceledDueToNoRequesters")


async def test_a_report_before_the_first_list_is_not_rejected(bench: Bench) -> None:
    """What was last written may have been lost with the journal, and stand on the broker still."""
    bench.router.mirror(Broker())
    await bench.begin()
    await bench.report(DEFAULT, heartbeatTime=bench.time())
    assert "MessageRejected" not in bench.reasons()
    bench.router.listing(Listing(authoritative=True))
    await bench.report(DEFAULT, heartbeatTime=bench.time(1))
    assert bench.event("MessageRejected")["data"]["field"] == "topic"


async def test_a_dead_broker_delays_a_request_of_the_list_by_two_seconds() -> None:
    bench = Bench()
    bench.router.mirror(Broker())
    await bench.observe(web())
    await bench.request()
    await bench.start()
    await bench.observe(web())
    assert bench.names() == []
    await bench.after(2.1)
    assert bench.states() == {DEFAULT: "Active"}
    await bench.kill()


async def test_a_live_request_waits_for_no_list() -> None:
    bench = Bench()
    bench.router.mirror(Broker())
    await bench.begin()
    await bench.request()
    assert bench.states() == {DEFAULT: "Active"}
    await bench.kill()


async def test_a_node_that_is_not_served_is_left_alone(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    topic = next(topic for topic in bench.router.retained if "/evictionrequests/" in topic)
    payload = bench.router.retained[topic]
    bench.router.publish(topic.replace("/edge/", "/nobody/"), payload, retain=True)
    await bench.settle()
    assert list(bench.worker.cases) == ["edge/shop/web/0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"]


async def test_what_was_cleared_before_a_restart_does_not_clear_what_came_after(
    bench: Bench,
) -> None:
    """Names repeat: the last effects of a former target are carried out again at each start."""
    await bench.begin()
    await bench.request()
    await bench.report(completionTime=bench.time(), targetGone=True)
    await bench.withdraw()
    await bench.after(62)
    assert bench.names() == []
    await bench.observe(web(uid=OTHER))
    await bench.request(uid=OTHER)
    await bench.report(message="stopping")
    await bench.kill()
    await bench.start()
    assert bench.states() == {DEFAULT: "Active"}
    assert bench.answer() == ("False", "AwaitingEviction")
    assert [name for name in bench.router.retained if "/responders/" in name]


async def test_a_row_of_the_journal_reads_back_as_it_was_written(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.request(type="SoftWithDeadline", deadlineSeconds=90)
    await bench.report(DRAIN, message="copying")
    (row,) = bench.journal.kept.values()
    codec = Codec[Case, BusEffect](Case, BusEffect)
    state, effects = codec.read(*codec.write(row.state, row.effects))
    assert state == row.state
    assert effects == tuple(row.effects)
