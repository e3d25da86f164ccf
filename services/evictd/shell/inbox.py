"""The inbox of a worker: the newest of a kind per key, and timers. [design, laws 1 and 4]

What piled up while the worker was busy is coalesced: level-triggered steps need only the newest
whole state. It is fed by bus deliveries and by finished host work, and read by `supervise.drive`
alone.
"""

import asyncio
from collections.abc import AsyncIterator, Hashable
from itertools import chain, islice
from typing import Generic, TypeVar, cast

from evictd.core.effects import Tick
from evictd.shell.clock import Clock

G = TypeVar("G")

ITEMS_MAX = 200_000
"""Bound on waiting items: keys are workloads and requests, so this is far above any one machine."""
KEYS_AT_ONCE = 250
"""Keys of one batch: a tenth of a second of steps, then the loop looks at everything else."""
TIMER_RECHECK_SECONDS = 30.0
"""A sleeping machine stops the loop's clock but not boot time, so that long waits are looked at
again."""


class Inbox(Generic[G]):
    """Batches of (key, given).

    A key's items keep their order; a newer one of a slot replaces the older.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[str, dict[Hashable, G | Tick]] = {}
        self._size = 0
        self._ready = asyncio.Event()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._closed = False
        self.pressing: set[str] = set()
        """Keys that are taken before all others, however long those wait; every batch looks at each
        of them, so they have to be few."""
        self.busy_since: float | None = None
        """Boot time at which the worker took the batch that it is at; None while it waits."""
        self.overflowed = 0
        """Items refused because `ITEMS_MAX` were waiting."""

    def feed(self, key: str, given: G | Tick, slot: Hashable = None) -> None:
        """Add an item. `slot` tells what it replaces within the key; by default its type."""
        items = self._waiting.setdefault(key, {})
        place = cast("Hashable", type(given) if slot is None else slot)
        if items.pop(place, None) is None:
            if self._size >= ITEMS_MAX:
                self.overflowed += 1
                return
            self._size += 1
        items[place] = given
        self._ready.set()

    def wake_at(self, key: str, boot_seconds: float) -> None:
        """Feed `Tick` to the key then; an earlier wish of the key is forgotten."""
        self.forget_timer(key)
        if self._closed:
            return
        rest_seconds = max(0.0, boot_seconds - self._clock.now().boot_seconds)
        loop = asyncio.get_running_loop()
        if rest_seconds > TIMER_RECHECK_SECONDS:
            handle = loop.call_later(TIMER_RECHECK_SECONDS, self.wake_at, key, boot_seconds)
        else:
            handle = loop.call_later(rest_seconds, self._tick, key)
        self._timers[key] = handle

    def forget_timer(self, key: str) -> None:
        """The key waits for nothing more."""
        if (handle := self._timers.pop(key, None)) is not None:
            handle.cancel()

    def close(self) -> None:
        """End the iteration after what is waiting, and all timers."""
        for key in tuple(self._timers):
            self.forget_timer(key)
        self._closed = True
        self._ready.set()

    async def __aiter__(self) -> AsyncIterator[list[tuple[str, G | Tick]]]:
        while True:
            await self._ready.wait()
            self._ready.clear()
            batch = self._batch()
            if batch:
                self.busy_since = self._clock.now().boot_seconds
                yield batch
                self.busy_since = None
            if self._closed and not self._waiting:
                return
            if self._waiting:
                self._ready.set()

    def _batch(self) -> list[tuple[str, G | Tick]]:
        """Everything of the pressing keys, then of those that have waited longest.

        The others stay and coalesce on.
        """
        first = dict.fromkeys(key for key in self.pressing if key in self._waiting)
        others = (key for key in self._waiting if key not in first)
        keys = tuple(islice(chain(first, others), KEYS_AT_ONCE))
        batch = [(key, given) for key in keys for given in self._waiting.pop(key).values()]
        self._size -= len(batch)
        return batch

    def _tick(self, key: str) -> None:
        self._timers.pop(key, None)
        self.feed(key, Tick())
