"""What a reclaim step is to an engine: pieces that it would take, and a way to take one.

A step decides neither when nor how far. [design, law 9]
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from msgspec import Struct


class Piece(Struct, frozen=True, kw_only=True):
    """One thing that a step would take: its name for people, the engine's figure of its size."""

    name: str
    key: str
    listed_bytes: int = 0


class Sweep(Protocol):
    """One step. Both raise `PeerError` as the engine's calls do."""

    async def offered(self, stopped: Collection[str] | None) -> Sequence[Piece]:
        """What it would take now, in that order.

        `stopped`: runtime ids of what evictd has stopped; None: not known.
        """
        ...

    async def take(self, piece: Piece) -> Sequence[Piece]:
        """What was taken of it; nothing where it turned out to be in use, which is normal."""
        ...
