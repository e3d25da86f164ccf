"""The journal: one row a key, state and the effects of its last step, before anyone sees them.

[design, law 5]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

S = TypeVar("S")
E = TypeVar("E")

ENDED_MAX = 1_000
"""Keys that have ended and whose last effects are still held, in memory."""


@dataclass(frozen=True, kw_only=True)
class Row(Generic[S, E]):
    """What a key is and what was decided last.

    `state` None: the key is forgotten, and only its last effects are left to be carried out.
    """

    key: str
    state: S | None
    effects: Sequence[E]


class Journal(Protocol[S, E]):
    """Rows that survive `kill -9`."""

    async def rows(self) -> Sequence[Row[S, E]]:
        """All rows in the order of their last commit, read once at start."""
        ...

    async def commit(self, rows: Sequence[Row[S, E]]) -> None:
        """All rows of one wake-up in one transaction; waits a bounded time."""
        ...


class MemoryJournal(Generic[S, E]):
    """For workers that rebuild from their own retained messages, for tests and for simulation."""

    def __init__(self) -> None:
        self.kept: dict[str, Row[S, E]] = {}
        self._ended: dict[str, None] = {}

    async def rows(self) -> Sequence[Row[S, E]]:
        return tuple(self.kept.values())

    async def commit(self, rows: Sequence[Row[S, E]]) -> None:
        for row in rows:
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
