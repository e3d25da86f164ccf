"""Opening deliveries: size, JSON, types, then the rules about values; one judge answers.

A message that does not decode or breaks a rule changes nothing. The worker that the contract names
as judge answers with one `MessageRejected`; the others only count. [contract 1, Rejection]
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import to_builtins

from evictd.core.events import emit
from evictd.core.moments import Now
from evictd.core.problems import Problem
from evictd.shell.bus import Delivery
from evictd.shell.causes import UNREADABLE
from evictd.shell.clock import Clock
from evictd.shell.publisher import Publisher
from evictd.shell.succession import Succession
from evictd_schemas import topics
from evictd_schemas.topics import PAYLOAD_BYTES_MAX, Place, Role, segment_problem

REPEAT_SECONDS = 600.0
"""The same payload on the same topic is answered once in this time. [contract 1]"""
WHOLE_MAX = 2**63 - 1
"""The greatest whole number of any message: a signed 64-bit integer."""
LONG_NUMBER = re.compile(rb"[0-9]{19}")
"""Only a payload with so many digits in a row can hold a greater one."""
REMEMBERED_MAX = 10_000
"""Answers remembered for that; beyond it the oldest is forgotten and may be answered again."""
NUMBERED = (
    topics.PRESSURE,
    topics.DECISION,
    topics.REQUEST_STATUS,
    topics.EVICTION,
    topics.ORDER,
    topics.ORDER_STATUS,
    topics.STOPPED,
)
"""What none but evictd's workers write, with the pair that puts it in order."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A message that may be acted on; `message` None: the topic is gone."""

    place: Place[Any]
    message: Any
    listed: bool


Admit = Callable[[Place[Any], Any], Sequence[Problem]]
"""The rules about values of what one worker reads."""


class Reception:
    """One worker's door."""

    def __init__(self, role: Role, publisher: Publisher, clock: Clock, admit: Admit) -> None:
        self._role = role
        self._publisher = publisher
        self._clock = clock
        self._admit = admit
        self._answered: OrderedDict[bytes, float] = OrderedDict()
        self._succession = Succession()
        self.rejected = 0
        """Messages that changed nothing since start."""

    def open(self, delivery: Delivery) -> Opened | None:
        """Decode and check; None when it was no topic of ours or was rejected."""
        place = topics.place(delivery.topic)
        if place is None:
            return None
        if not delivery.payload:
            return Opened(place=place, message=None, listed=delivery.listed)
        message, problems = self._read(place, delivery.payload)
        if problems:
            self.reject(place, delivery, problems)
            return None
        if place.kind in NUMBERED and self._succession.older(delivery.topic, message):
            return None
        return Opened(place=place, message=message, listed=delivery.listed)

    @property
    def outdated(self) -> int:
        """Messages that came after newer ones of their topic. [contract 1, Order]"""
        return self._succession.ignored

    def reject(self, place: Place[Any], delivery: Delivery, problems: Sequence[Problem]) -> None:
        """Count it and, as the judge of this topic, answer it once."""
        self.rejected += 1
        if place.kind.judge is not self._role:
            return
        now, digest = self._clock.now(), _digest(delivery)
        if self._answered_lately(digest, now):
            return
        first = problems[0]
        sentence = "; ".join(f"{problem.field}: {problem.reason}" for problem in problems)
        effect = emit(
            node=place.node,
            worker=self._role,
            reason="MessageRejected",
            message=f"{delivery.topic}: {sentence}",
            time=now.utc,
            about=delivery.topic,
            transition=f"{digest.hex()} {now.utc.timestamp() // REPEAT_SECONDS:.0f}",
            figures={
                "topic": delivery.topic,
                "field": first.field,
                "problems": [{"field": item.field, "reason": item.reason} for item in problems],
            },
        )
        self._publisher.emit(effect.topic, effect.event)

    def _read(self, place: Place[Any], payload: bytes) -> tuple[Any, Sequence[Problem]]:
        for level in place.names.values():
            if (problem := segment_problem(level)) is not None:
                return None, (Problem(field="topic", reason=f"{level!r}: {problem}"),)
        if len(payload) > PAYLOAD_BYTES_MAX:
            reason = f"{len(payload)} bytes, at most {PAYLOAD_BYTES_MAX} are taken"
            return None, (Problem(field="$", reason=reason),)
        try:
            message = msgspec.json.decode(payload, type=place.kind.message)
        except UNREADABLE as error:
            return None, (_problem(error),)
        if LONG_NUMBER.search(payload) and (beyond := tuple(_beyond("", to_builtins(message)))):
            return None, beyond
        return message, self._admit(place, message)

    def _answered_lately(self, digest: bytes, now: Now) -> bool:
        last_seconds = self._answered.get(digest)
        if last_seconds is not None and now.boot_seconds - last_seconds < REPEAT_SECONDS:
            return True
        self._answered[digest] = now.boot_seconds
        self._answered.move_to_end(digest)
        if len(self._answered) > REMEMBERED_MAX:
            self._answered.popitem(last=False)
        return False


def _beyond(path: str, value: object) -> Iterator[Problem]:
    """Whole numbers that no journal and no other reader could take, wherever a message has them."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _beyond(f"{path}.{name}".lstrip("."), inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _beyond(f"{path}[{index}]", inner)
    elif isinstance(value, int) and abs(value) > WHOLE_MAX:
        yield Problem(field=path, reason=f"it is beyond {WHOLE_MAX}")


def _digest(delivery: Delivery) -> bytes:
    """What a payload on a topic is known by; a new life gives its answer the same id with it."""
    return blake2b(delivery.topic.encode() + b"\0" + delivery.payload, digest_size=16).digest()


def _problem(error: Exception) -> Problem:
    """The place and the reason of a decoding error: msgspec ends its text with "- at `$.path`"."""
    if isinstance(error, RecursionError):
        return Problem(field="$", reason="nested too deeply")
    text, _, path = str(error).partition(" - at `")
    return Problem(field=path.rstrip("`") or "$", reason=text)
