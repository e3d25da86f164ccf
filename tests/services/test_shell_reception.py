"""The door and the mouth of a worker: reception and publisher. [contract 1]"""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec import structs
from tests.ear import Ear

from evictd.core.effects import Publish, Retract, WakeAt
from evictd.core.events import emit
from evictd.core.problems import Problem
from evictd.shell.bus import Delivery, Router
from evictd.shell.clock import LoopClock
from evictd.shell.epoch import EPOCH_MAX, Epoch
from evictd.shell.publisher import Publisher
from evictd.shell.reception import REPEAT_SECONDS, Reception
from evictd_schemas import Decision, OrderStatus, Wish, topics
from evictd_schemas.topics import PAYLOAD_BYTES_MAX, Place, Role

pytestmark = pytest.mark.looptime

NODE = "edge-7"
WISH = topics.WISH.at(NODE, domain="acme.io", key="person", name="hold")
DECISION = topics.DECISION.at(NODE)
EVERYTHING = (f"{topics.ROOT}/#",)


class Room:
    """One worker's reception and publisher on a router, and somebody who listens."""

    def __init__(self, role: Role = Role.EVICTOR) -> None:
        self.router, self.outside, self.worker = Router(), Ear(EVERYTHING), Ear(EVERYTHING)
        self.router.attach(self.outside)
        self.epoch = Epoch(10)
        self.woken: list[tuple[str, float]] = []
        self.publisher = Publisher(
            self.router, self.epoch, self.worker, lambda key, at: self.woken.append((key, at))
        )
        self.reception = Reception(role, self.publisher, LoopClock(), self._admit)
        self.problems: Sequence[Problem] = ()

    def _admit(self, _place: Place[Any], _message: Any) -> Sequence[Problem]:
        return self.problems

    def open(self, payload: bytes, topic: str = WISH) -> Any:
        return self.reception.open(Delivery(topic=topic, payload=payload))


async def test_a_good_message_is_opened_with_its_place() -> None:
    opened = Room().open(b'{"verb":"Hold","somethingNew":1}')
    assert (opened.message, opened.place.names["name"]) == (Wish(verb="Hold"), "hold")


async def test_an_event_stands_in_the_log_on_one_line_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With its node; what a stranger wrote into it steers no terminal."""
    caplog.set_level(logging.INFO, logger="evictd.events")
    room = Room()
    event = emit(
        node="edge-7",
        worker=Role.EVICTOR,
        reason="EvictionThresholdMet",
        message="memory.available\n\x1b[2Jis low",
        time=datetime(2026, 11, 30, tzinfo=UTC),
        about="edge-7",
        transition="1",
    )
    await room.publisher.perform("edge-7", event)
    assert caplog.messages == [r"EvictionThresholdMet on edge-7: memory.available\n\x1b[2Jis low"]


async def test_the_empty_payload_is_gone_and_a_strange_topic_is_nothing() -> None:
    room = Room()
    assert room.open(b"").message is None
    assert room.open(b"{}", "evictd/v1/edge-7/unheard-of") is None
    assert room.reception.rejected == 0


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        (b"{", "$"),
        (b"\xff\xfe", "$"),
        (b"[" * 200_000, "$"),
        (b'{"verb":1}', "$.verb"),
        (b"{}", "$"),
        (b'"' + b"x" * PAYLOAD_BYTES_MAX + b'"', "$"),
    ],
)
async def test_what_cannot_be_decoded_is_answered_once_with_topic_field_and_reason(
    payload: bytes, field: str
) -> None:
    room = Room()
    assert room.open(payload) is None
    assert room.open(payload) is None
    (event,) = room.outside.events()
    assert (event.type, event.source) == (
        "evictd.MessageRejected.v1",
        "evictd/v1/edge-7/evictor",
    )
    assert (event.data["topic"], event.data["field"]) == (WISH, field)
    assert event.data["message"].startswith(WISH)
    assert room.reception.rejected == 2


async def test_the_same_payload_is_answered_again_after_ten_minutes() -> None:

    room = Room()
    room.open(b"{")
    await asyncio.sleep(REPEAT_SECONDS)
    room.open(b"{")
    first, second = room.outside.events()
    assert first.id != second.id


async def test_a_whole_number_beyond_64_bits_is_answered() -> None:
    room = Room()
    topic = topics.ORDER_STATUS.at(NODE, name="reclaim")
    step = b'{"step":"images","freedBytes":-%d}' % 10**400
    assert room.open(b'{"orderUid":"a","state":"Running","steps":[%s]}' % step, topic) is None
    (event,) = room.outside.events()
    assert event.data["field"] == "steps[0].freedBytes"


def status(epoch: int, rev: int) -> bytes:
    return msgspec.json.encode(
        OrderStatus(order_uid="a", state="Running", epoch=epoch, rev=rev, message=f"{epoch}.{rev}")
    )


async def test_what_is_older_than_what_was_there_is_ignored_and_not_answered() -> None:
    """A broker that went back in time brings old words again, also of what was cleared since."""
    room = Room()
    topic = topics.ORDER_STATUS.at(NODE, name="reclaim")
    words = [(5, 7), (5, 6), (4, 9), (5, 7), (5, 8), None, (5, 7), (6, 1)]
    opened = [room.open(b"" if pair is None else status(*pair), topic) for pair in words]
    assert [one is not None for one in opened] == [1, 0, 0, 1, 1, 1, 0, 1]
    assert room.reception.outdated == 3
    assert not room.outside.events()


async def test_what_is_refused_or_not_numbered_makes_nothing_old() -> None:
    """What people write by hand carries no pair."""
    room = Room()
    topic = topics.ORDER_STATUS.at(NODE, name="reclaim")
    room.problems = (Problem(field="state", reason="wrong"),)
    assert room.open(status(9, 9), topic) is None
    room.problems = ()
    assert [room.open(status(*pair), topic) is None for pair in ((5, 7), (0, 0), (5, 6))] == [
        0,
        0,
        1,
    ]


async def test_digits_in_a_text_are_no_number() -> None:
    assert Room().open(b'{"verb":"Hold","target":"shop/12345678901234567890"}') is not None


async def test_an_epoch_that_no_clock_counts_raises_nothing() -> None:
    epoch = Epoch(10)
    epoch.raise_above(EPOCH_MAX + 1)
    assert epoch.epoch == 10


async def test_a_new_life_answers_the_same_payload_under_the_same_id() -> None:
    """So that a wrong retained message is heard of once, however often a worker starts."""
    former, later = Room(), Room()
    for room in (former, later):
        room.open(b"{")
    assert former.outside.events()[0].id == later.outside.events()[0].id
    former.open(b"[")
    assert former.outside.events()[1].id != former.outside.events()[0].id


async def test_who_is_not_the_judge_only_counts() -> None:
    room = Room(Role.CONTROLLER)
    assert room.open(b"{") is None
    assert (room.outside.events(), room.reception.rejected) == ([], 1)


async def test_all_broken_rules_of_a_message_are_named_at_once() -> None:
    room = Room()
    room.problems = (
        Problem(field="verb", reason="unknown"),
        Problem(field="until", reason="past"),
    )
    assert room.open(b'{"verb":"Hold"}') is None
    (event,) = room.outside.events()
    assert [problem["field"] for problem in event.data["problems"]] == ["verb", "until"]


def decision(sequence: int = 1, **changes: Any) -> Decision:
    values = {"node": NODE, "mode": "act", "action": "None", "reason": "", **changes}
    return Decision(time=datetime(2026, 1, 1, tzinfo=UTC), sequence=sequence, **values)


async def perform(room: Room, *effects: Any) -> None:
    for effect in effects:
        await room.publisher.perform(NODE, effect)


async def test_state_is_stamped_and_an_unchanged_one_is_not_repeated() -> None:
    room = Room()
    await perform(
        room,
        Publish(topic=DECISION, message=decision()),
        Publish(topic=DECISION, message=decision(epoch=3, rev=3)),
        Publish(topic=DECISION, message=decision(2)),
    )
    heard = [
        msgspec.json.decode(delivery.payload, type=Decision) for delivery in room.outside.heard
    ]
    assert [(one.sequence, one.epoch, one.rev) for one in heard] == [(1, 10, 1), (2, 10, 2)]


async def test_after_the_epoch_was_raised_everything_is_published_again_above_it() -> None:
    room = Room()
    await perform(room, Publish(topic=DECISION, message=decision()))
    room.epoch.raise_above(50)
    newest = msgspec.json.decode(room.router.retained[DECISION], type=Decision)
    assert (newest.epoch, newest.rev, newest.sequence) == (51, 2, 1)


async def test_taking_back_clears_and_the_same_may_be_published_after_it() -> None:
    room = Room()
    await perform(
        room,
        Publish(topic=DECISION, message=decision()),
        Retract(topic=DECISION),
        Publish(topic=DECISION, message=decision()),
    )
    assert [bool(delivery.payload) for delivery in room.outside.heard] == [True, False, True]


async def test_events_are_numbered_per_source_keep_their_id_and_are_not_retained() -> None:
    room = Room()
    event = emit(
        node=NODE,
        worker=Role.EVICTOR,
        reason="Restored",
        message="web is back",
        time=datetime(2026, 1, 1, tzinfo=UTC),
        about="uid",
        transition="1",
    )
    elsewhere = structs.replace(event.event, source="evictd/v1/demo-7/evictor")
    other = structs.replace(event, event=elsewhere)
    await perform(room, event, other, event, WakeAt(boot_seconds=5))
    first, apart, second = room.outside.events()
    assert second.sequence == first.sequence + 1
    assert apart.sequence == first.sequence > room.epoch.epoch
    assert first.id == second.id
    assert room.router.retained == {}
    assert room.woken == [(NODE, 5)]


async def test_what_has_no_order_of_its_own_is_published_as_it_is() -> None:
    room = Room()
    topic = topics.ORDER_STATUS.at(NODE, name="reclaim")
    await perform(room, Publish(topic=topic, message=OrderStatus(order_uid="u", state="Running")))
    assert b'"orderUid":"u"' in room.router.retained[topic]
