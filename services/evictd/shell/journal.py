"""The journal: one row a key, state and the effects of its last step, before anyone sees them.

[design, law 5]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from evictd.core.effects import Owned, Publish, unstamped
from evictd_schemas import topics

S = TypeVar("S")
E = TypeVar("E")

ENDED_MAX = 1_000
"""Keys that have ended and whose last effects are still held, in memory."""


RECORDED = frozenset({topics.STOPPED})
"""What its writer alone can say again to a broker that has lost its store: it follows from no state
of anybody's."""


@dataclass(frozen=True, kw_only=True)
class Row(Generic[S, E]):
    """What a key is and what was decided last.

    `state` None: the key is forgotten, and only its last effects are left to be carried out.
    """

    key: str
    state: S | None
    effects: Sequence[E]


def is_recorded(topic: str) -> bool:
    """Whether what is published there is kept until it is retracted."""
    place = topics.place(topic)
    return place is not None and place.kind in RECORDED


def parted(row: Row[S, E]) -> tuple[Row[S, E], dict[str, Owned]]:
    """The row without what is kept for longer than the next step of its key, and that by topic."""
    records: dict[str, Owned] = {}
    rest: list[E] = []
    for effect in row.effects:
        if isinstance(effect, Publish) and is_recorded(effect.topic):
            records[effect.topic] = unstamped(effect.message)
        else:
            rest.append(effect)
    return (replace(row, effects=tuple(rest)) if records else row), records


class Journal(Protocol[S, E]):
    """Rows and records that survive `kill -9`."""

    async def rows(self) -> Sequence[Row[S, E]]:
        """All rows in the order of their last commit, read once at start."""
        ...

    async def records(self) -> Mapping[str, Owned]:
        """By topic what is published there according to us, read once at start."""
        ...

    async def commit(self, rows: Sequence[Row[S, E]]) -> None:
        """All rows of one wake-up in one transaction, what they publish for long among the records;
        waits a bounded time."""
        ...

    def hold(self, topic: str, message: Owned | None) -> None:
        """A record that no row says, or that is over (None). It is not waited for."""
        ...


class MemoryJournal(Generic[S, E]):
    """For workers that rebuild from their own retained messages, for tests and for simulation."""

    def __init__(self) -> None:
        self.kept: dict[str, Row[S, E]] = {}
        self._ended: dict[str, None] = {}
        self._records: dict[str, Owned] = {}

    async def rows(self) -> Sequence[Row[S, E]]:
        return tuple(self.kept.values())

    async def records(self) -> Mapping[str, Owned]:
        return dict(self._records)

    def hold(self, topic: str, message: Owned | None) -> None:
        self._records.pop(topic, None)
        if message is not None:
            self._records[topic] = unstamped(message)

    async def commit(self, rows: Sequence[Row[S, E]]) -> None:
        for whole in rows:
            row, records = parted(whole)
            self._records |= records
            self._forget(row.key)
            if row.state is not None or row.effects:
                self.kept[row.key] = row
            if row.state is None and row.effects:
                self._ended[row.key] = None
        while len(self._ended) > ENDED_MAX:
            self._forget(next(iter(self._ended)))

    def _forget(self, key: str) -> None:
        self.kept.pop(key, None)
        self._ended.pop(key, None)
