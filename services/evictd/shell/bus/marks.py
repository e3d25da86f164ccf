"""The order of what is written on one topic, read from any payload, and what the broker has of it.

[contract 1, Order] [design, law 5]
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from evictd.shell.causes import UNREADABLE
from evictd.shell.epoch import EPOCH_MAX
from evictd_schemas import topics

CLEARED_MAX = 10_000
"""Cleared topics remembered to recognise a broker that went back in time."""
PAIR_MAX = EPOCH_MAX
"""A pair above it is no order but rubbish."""


class Mark(Struct, frozen=True, kw_only=True, order=True):
    """(epoch, rev), or what serves for it: `connection` of a status, `sequence` of an observation.

    What carries none of them has (0, 0): it is there or not.
    """

    epoch: int = 0
    rev: int = 0


class _Stamp(Struct, frozen=True, kw_only=True):
    epoch: int = 0
    rev: int = 0
    connection: int = 0
    sequence: int | None = 0


def read_mark(place: topics.Place[Any], payload: bytes) -> Mark | None:
    """The order of a payload; None where it is not a JSON object with sane numbers."""
    try:
        stamp = msgspec.json.decode(payload, type=_Stamp)
    except UNREADABLE:
        return None
    if place.kind is topics.OBSERVATION:
        mark = Mark(rev=stamp.sequence or 0)
    elif place.kind in (topics.WORKER, topics.REGISTRATION):
        mark = Mark(epoch=stamp.epoch, rev=stamp.connection)
    else:
        mark = Mark(epoch=stamp.epoch, rev=stamp.rev)
    return mark if 0 <= mark.epoch <= PAIR_MAX and 0 <= mark.rev <= PAIR_MAX else None


class Ledger:
    """What the broker confirmed of this process's own state, against what its list names.

    `known` is what earlier lives of this process had published, from their journal.
    """

    def __init__(self, known: Mapping[str, Mark] | None = None) -> None:
        self._confirmed: dict[str, Mark] = dict(known or {})
        self._cleared: dict[str, None] = {}
        self._changes: dict[str, Mark | None] = {}
        self._named: dict[str, Mark | None] = {}

    @property
    def named(self) -> Mapping[str, Mark | None]:
        """Topics heard of since connecting."""
        return self._named

    def connect(self) -> None:
        """A new list begins."""
        self._named.clear()

    def name(self, topic: str, payload: bytes) -> None:
        """The broker has this, or has just cleared it."""
        place = topics.place(topic)
        if place is None:
            return
        if payload:
            self._named[topic] = read_mark(place, payload)
        else:
            self._named.pop(topic, None)

    def confirm(self, topic: str, payload: bytes) -> None:
        """The broker has acknowledged our own state."""
        place = topics.place(topic)
        if place is None:
            return
        mark = read_mark(place, payload) if payload else None
        self._changes[topic] = mark
        if mark is None:
            self._clear(topic)
        else:
            self._confirmed[topic] = mark
            self._cleared.pop(topic, None)

    def take_changes(self) -> Mapping[str, Mark | None]:
        """What was confirmed since the last call, for the journal; None means cleared."""
        changes, self._changes = self._changes, {}
        return changes

    def authoritative(self, filters: Sequence[str]) -> bool:
        """Whether the list holds all that we had published, at least as new. [design, law 5]"""
        return self._cleared.keys().isdisjoint(self._named) and all(
            self._has(topic, mark)
            for topic, mark in self._confirmed.items()
            if any(topics.matches(wanted, topic) for wanted in filters)
        )

    def _has(self, topic: str, mark: Mark) -> bool:
        named = self._named.get(topic)
        return named is not None and named >= mark

    def _clear(self, topic: str) -> None:
        self._confirmed.pop(topic, None)
        self._cleared[topic] = None
        if len(self._cleared) > CLEARED_MAX:
            del self._cleared[next(iter(self._cleared))]
