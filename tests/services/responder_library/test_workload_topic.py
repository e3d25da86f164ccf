"""The workload itself is asked on its own topic. On virtual time, against the real controller."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.services.responder_library.works import work_on

from evictd.core.errors import InputError
from evictd.core.exchange import Exchange
from evictd.responder import Responder
from evictd.responder.workload_topic import REFUSALS_MAX, WorkloadTopic
from evictd.shell.bus import Bus, Delivery, Listing, Router
from evictd.testing import Stage, staged

pytestmark = pytest.mark.looptime
QUESTION, ANSWER = "plant/shop/web/evict", "plant/shop/web/evict/answer"
TEMPLATES = Exchange(
    question="plant/{namespace}/{name}/evict", answer="plant/{namespace}/{name}/evict/answer"
)
COMPLETION = "2026-11-30T08:00:00Z"


class Workload:
    """A listener that keeps what it is asked, and answers as it is told."""

    def __init__(self, bus: Bus, *filters: str) -> None:
        self.filters: Sequence[str] = filters or (QUESTION,)
        self._bus = bus
        self.asked: list[Any] = []
        bus.attach(self)

    def deliver(self, delivery: Delivery) -> None:
        self.asked.append(msgspec.json.decode(delivery.payload))

    def listed(self, listing: Listing) -> None:
        """It is not interested in lists."""

    @property
    def states(self) -> list[str]:
        return [question["state"] for question in self.asked]

    def answer(self, topic: str = ANSWER, **fields: Any) -> None:
        said = {"evictionUid": self.asked[-1]["evictionUid"], **fields}
        self.say(msgspec.json.encode(said), topic)

    def say(self, payload: bytes, topic: str = ANSWER, *, retain: bool = False) -> None:
        self._bus.publish(topic, payload, retain=retain)


def responder(seconds: float = 600.0, **settings: Any) -> Responder:
    part = WorkloadTopic(TEMPLATES, timeout_seconds=seconds)
    return Responder(
        name="acme.io/ask",
        respond=part.respond,
        restore=part.restore,
        hears=part.hears,
        **settings,
    )


def messages(stage: Stage, name: str = "web") -> list[str]:
    return [report.message for report in stage.reports(name)]


async def test_it_is_asked_once_it_is_its_turn_with_all_that_a_webhook_is_told() -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        (asked,) = workload.asked
        eviction = stage.eviction("web")
        assert eviction is not None
        assert set(asked) == {"evictionUid", "node", "state", "resumed", "eviction"}
        assert asked["evictionUid"] == eviction.metadata.uid
        assert (asked["node"], asked["state"], asked["resumed"]) == ("stage-1", "Active", False)
        assert asked["eviction"]["spec"]["target"]["pod"]["name"] == "web"
        assert QUESTION not in stage.bus.retained


async def test_each_answer_that_is_new_is_progress_and_completion_ends_the_turn() -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        for part in range(3):
            await stage.after(25)
            workload.answer(message=f"saved {part} of 3", expectedCompletionTime=COMPLETION)
        await stage.after(25)
        workload.answer(message="everything is saved", completionTime=COMPLETION)
        await stage.until(lambda: stage.state("web") == "Completed", 5)
        told = messages(stage)
        assert told[0] == "begun"
        assert told[-4:] == [*(f"saved {part} of 3" for part in range(3)), "everything is saved"]
        completion = stage.reports("web")[-1].completion_time
        assert completion is not None
        assert abs((completion - stage.clock.now().utc).total_seconds()) < 5  # by our own clock


async def test_an_answer_without_a_message_keeps_the_last_one() -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        workload.answer(message="saving")
        await stage.after(30)
        workload.answer(heartbeatTime=COMPLETION)
        await stage.after(30)
        assert messages(stage)[-2:] == ["saving", "saving"]
        workload.answer(completionTime=COMPLETION)
        await stage.until(lambda: stage.state("web") == "Completed", 5)
        assert messages(stage)[-1] == "done"


async def test_an_answer_that_only_repeats_the_last_one_is_no_sign_of_life() -> None:
    async with staged(responder(seconds=5_000, heartbeat_deadline_seconds=300)) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        for _ in range(8):
            await stage.after(60)
            workload.answer(message="at it")
        assert stage.state("web") == "Interrupted"


async def test_a_workload_that_gets_on_keeps_its_turn() -> None:
    async with staged(responder(seconds=5_000, heartbeat_deadline_seconds=300)) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        for part in range(8):
            await stage.after(60)
            workload.answer(message=f"part {part}")
        assert stage.state("web") == "Active"


async def test_silence_ends_at_the_time_out_and_the_next_one_takes_over() -> None:
    async with staged(responder(seconds=100)) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        await stage.until(lambda: stage.state("web") == "Completed", 110)
        assert messages(stage)[-1] == (
            f"failed: TimeoutError: not done in 100 s: asked on {QUESTION}, no answer yet"
        )
        eviction = stage.eviction("web")
        assert eviction is not None
        assert eviction.status.target_responders[-1].state == "Active"
        assert len(workload.asked) == 4  # and again every half minute


async def test_one_that_was_not_connected_is_asked_again_and_one_that_answers_is_left_alone() -> (
    None
):
    async with staged(responder()) as stage:
        await stage.evict("web")
        await stage.after(20)
        workload = Workload(stage.bus)
        await stage.after(15)
        assert workload.states == ["Active"]
        workload.answer(message="at it")
        await stage.after(170)
        assert workload.states == ["Active"]
        await stage.after(20)  # longer than a sign of life may take: what it said may be lost
        assert workload.states == ["Active", "Active"]
        assert len({question["evictionUid"] for question in workload.asked}) == 1


async def test_where_the_broker_was_away_it_is_asked_once_more_at_once() -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        workload.answer(message="at it")
        await stage.after(25)
        stage.bus.listing(Listing(authoritative=True))
        await stage.after(1)
        assert workload.states == ["Active", "Active"]
        assert not workload.asked[-1]["resumed"]
        workload.answer(completionTime=COMPLETION)
        await stage.until(lambda: stage.state("web") == "Completed", 5)


async def test_a_withdrawal_is_told_and_completes_nothing() -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        workload.answer(message="saving")
        await stage.after(5)
        await stage.withdraw("web")
        await stage.after(5)
        assert workload.states == ["Active", "Canceled"]
        assert len({question["evictionUid"] for question in workload.asked}) == 1
        assert stage.state("web") == "Canceled"
        workload.answer(completionTime=COMPLETION)
        await stage.after(60)
        assert stage.reports("web")[-1].completion_time is None
        assert workload.states == ["Active", "Canceled"]


async def test_a_withdrawal_while_nobody_asks_is_told_afterwards_and_once() -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        await stage.die()
        await stage.withdraw("web")
        await stage.after(5)
        assert workload.states == ["Active"]
        for _ in range(3):
            await stage.restart()
            await stage.after(5)
            assert [(item["state"], item["resumed"]) for item in workload.asked] == [
                ("Active", False),
                ("Canceled", True),
            ]
        assert stage.state("web") == "Canceled"


async def test_what_cannot_wait_ends_the_turn_and_takes_nothing_back() -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        await stage.force("web")
        await stage.after(60)
        assert stage.state("web") == "Interrupted"
        assert workload.states == ["Active"]


async def test_after_a_restart_it_is_asked_anew_and_told_so() -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        await stage.restart()
        await stage.after(1)
        assert [question["resumed"] for question in workload.asked] == [False, True]
        workload.answer(completionTime=COMPLETION)
        await stage.until(lambda: stage.state("web") == "Completed", 5)


async def test_after_its_point_of_no_return_a_withdrawal_ends_nothing() -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        workload.answer(message="moving", pointOfNoReturn=True)
        await stage.after(5)
        await stage.withdraw("web")
        await stage.after(5)
        assert stage.state("web") == "Active"
        workload.answer(message="moved", completionTime=COMPLETION)
        await stage.until(lambda: stage.state("web") == "Completed", 5)
        assert stage.reports("web")[-1].point_of_no_return
        assert workload.states == ["Active"]


async def test_answers_to_another_question_and_retained_ones_are_not_taken() -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        uid = workload.asked[0]["evictionUid"]
        await stage.restart()
        workload.answer(evictionUid="5b0e3a56-9a51-4c7e-8f2b-0f3f6f7d2b10", completionTime="x")
        other = {
            "evictionUid": "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11",
            "completionTime": COMPLETION,
        }
        workload.say(msgspec.json.encode(other))
        workload.say(b"")
        await stage.after(1)
        assert stage.state("web") == "Active"
        await stage.lose_contact()
        done = msgspec.json.encode({"evictionUid": uid, "completionTime": COMPLETION})
        workload.say(done, retain=True)
        await stage.find_contact()
        await stage.restart()
        await stage.after(60)
        assert stage.state("web") == "Active"


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b"yes", "JSON is malformed"),
        (b"\xff{}", "JSON is malformed"),
        (b"[1]", "Expected `object`, got `array`"),
        (b'{"message": "at it"}', "missing required field `evictionUid`"),
        (b'{"evictionUid": "UID", "completionTime": "soon"}', "Invalid RFC3339"),
        (b'{"evictionUid": "UID", "completionTime": "2026-11-30T08:00:00"}', "timezone component"),
        (b'{"evictionUid": "UID", "pointOfNoReturn": 1}', "Expected `bool`"),
        (b'{"evictionUid": "UID", "expectedCompletionTime": "2926-11-30T08:00:00Z"}', "ten years"),
        (b'{"evictionUid": "UID", "message": "' + b"x" * 20_000 + b'"}', "longer than 16384 bytes"),
        (b'{"evictionUid": "UID", "x": ' + b"[" * 10_000, "recursion"),
    ],
)
async def test_a_broken_answer_is_refused_and_that_is_seen(payload: bytes, expected: str) -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        workload.say(payload.replace(b"UID", workload.asked[0]["evictionUid"].encode()))
        await stage.after(30)
        last = messages(stage)[-1]
        assert last.startswith(f"an answer on {ANSWER} is refused: ")
        assert expected in last
        assert stage.state("web") == "Active"
        workload.answer(message="saved", completionTime=COMPLETION)
        await stage.until(lambda: stage.state("web") == "Completed", 5)
        assert messages(stage)[-1] == "saved"


async def test_a_flood_of_broken_answers_is_told_a_few_times_and_keeps_no_turn() -> None:
    async with staged(responder(seconds=5_000, heartbeat_deadline_seconds=300)) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        for number in range(1_000):
            workload.say(b'{"evictionUid": %d}' % number + b"x" * number)
            await stage.after(1)
        assert stage.state("web") == "Interrupted"
        assert len(set(messages(stage))) <= REFUSALS_MAX + 3


async def test_a_message_that_is_too_long_for_a_report_is_cut() -> None:
    async with staged(responder()) as stage:
        workload = Workload(stage.bus)
        await stage.evict("web")
        workload.answer(message="y" * 10_000, completionTime=COMPLETION)
        await stage.until(lambda: stage.state("web") == "Completed", 5)
        assert messages(stage)[-1] == "y" * 4_000


async def test_two_workloads_are_asked_each_on_its_own_topic() -> None:
    async with staged(responder()) as stage:
        web, db = Workload(stage.bus), Workload(stage.bus, "plant/shop/db/evict")
        await stage.evict("web")
        await stage.evict("db")
        db.answer("plant/shop/db/evict/answer", completionTime=COMPLETION)
        await stage.until(lambda: stage.state("db") == "Completed", 5)
        assert (len(web.asked), len(db.asked)) == (1, 1)
        assert stage.state("web") == "Active"


@pytest.mark.parametrize("name", ["a/b", "+", "#", "a\nb", ""])
async def test_a_name_that_would_add_levels_is_asked_nowhere(name: str) -> None:
    """No Eviction of such a name comes from a controller; what an Eviction says is checked."""
    bus = Router()
    everybody = Workload(bus, "#")
    part = WorkloadTopic(TEMPLATES)
    for turn in (part.respond, part.restore):
        with pytest.raises(InputError, match="no topic to ask shop/"):
            await turn(work_on(name, bus))
    assert everybody.asked == []
