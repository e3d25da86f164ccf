"""The journal: one row a key, state and the effects of its last step, before anyone sees them.
[design, law 5]"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

S = TypeVar("S")
E = TypeVar("E")


@dataclass(frozen=True, kw_only=True)
class Row(Generic[S, E]):
    """What a key is and what was decided last. `state` None: the key is forgotten."""

    key: str
    state: S | None
    effects: Sequence[E]


class Journal(Protocol[S, E]):
    """Rows that survive `kill -9`."""

    async def rows(self) -> Sequence[Row[S, E]]:
        """All rows, read once at start."""
        ...

    async def commit(self, rows: Sequence[Row[S, E]]) -> None:
        """All rows of one wake-up in one transaction; waits a bounded time."""
        ...


class MemoryJournal(Generic[S, E]):
    """For workers that rebuild from their own retained messages, for tests and for simulation."""

    def __init__(self) -> None:
        self.kept: dict[str, Row[S, E]] = {}

    async def rows(self) -> Sequence[Row[S, E]]:
        return tuple(self.kept.values())

    async def commit(self, rows: Sequence[Row[S, E]]) -> None:
        for row in rows:
            if row.state is None:
                self.kept.pop(row.key, None)
            else:
                self.kept[row.key] = row
