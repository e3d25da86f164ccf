"""The changes on a bus one after the other, each waited for no longer than somebody has time.

It knows nothing of what a change means to who waits, a rejection apart.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from evictd.client import Change, Mirror
from evictd.shell.ending import cancelled
from evictd_schemas.topics import Topic

REJECTED = "MessageRejected"


class Changes:
    """Of these kinds, from now on: made before something is published, it misses nothing of it."""

    def __init__(self, mirror: Mirror, *kinds: Topic[Any]) -> None:
        self._changes: AsyncIterator[Change] = mirror.watch(*kinds)
        self._next: asyncio.Future[Change] = asyncio.ensure_future(anext(self._changes))

    async def following(self, seconds: float) -> Change | None:
        """The next one; None when none came in time."""
        done, _ = await asyncio.wait([self._next], timeout=seconds)
        if not done:
            return None
        change = self._next.result()
        self._next = asyncio.ensure_future(anext(self._changes))
        return change

    async def close(self) -> None:
        """Leave nothing running."""
        await cancelled(self._next)


def rejects(data: Mapping[str, Any], topic: str) -> bool:
    """Whether an event says that what stands on a topic breaks the contract.

    [contract 1, Rejection]
    """
    return data.get("reason") == REJECTED and data.get("topic") == topic
