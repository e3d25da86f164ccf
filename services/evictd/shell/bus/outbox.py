"""What waits for the broker: state coalesced by topic, events in order, both bounded. [mqtt 5, 14]

It knows nothing of connections. A message counts as delivered when it is confirmed.
"""

import asyncio
from dataclasses import dataclass

import structlog

from evictd_schemas.topics import PAYLOAD_BYTES_MAX

EVENTS_MAX = 10_000
"""Events that wait while the broker is away; beyond it the oldest is dropped and counted."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Outgoing:
    """One message on its way. An event has its number, state has none."""

    topic: str
    payload: bytes
    retain: bool
    number: int | None = None


class Outbox:
    """First in, first out; newer state takes the place of older state of the same topic."""

    def __init__(self) -> None:
        self._waiting: dict[str | int, Outgoing] = {}
        self._events: dict[int, None] = {}
        self._in_flight = 0
        self._number = 0
        self._filled = asyncio.Event()
        self._drained = asyncio.Event()
        self._drained.set()
        self.dropped = 0
        """Events lost because `EVENTS_MAX` were waiting."""
        self.oversized = 0
        """Messages refused because they are larger than the contract allows: a broker would end
        the connection over one."""

    def __len__(self) -> int:
        return len(self._waiting) + self._in_flight

    def put(self, topic: str, payload: bytes, *, retain: bool) -> None:
        """Add state (`retain`) or an event."""
        if len(payload) > PAYLOAD_BYTES_MAX:
            self.oversized += 1
            log.error("message is too large and was not sent", topic=topic, bytes=len(payload))
            return
        if retain:
            self._add(topic, Outgoing(topic, payload, retain))
            return
        self._number += 1
        self._events[self._number] = None
        self._add(self._number, Outgoing(topic, payload, retain, self._number))
        if len(self._events) > EVENTS_MAX:
            oldest = next(iter(self._events))
            del self._events[oldest], self._waiting[oldest]
            self.dropped += 1

    async def take(self) -> Outgoing:
        """The next one; it must be confirmed or returned."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        key = next(iter(self._waiting))
        outgoing = self._waiting.pop(key)
        if outgoing.number is not None:
            del self._events[outgoing.number]
        self._in_flight += 1
        return outgoing

    def confirm(self) -> None:
        """One that was taken has arrived."""
        self._land()

    def give_back(self, outgoing: Outgoing) -> None:
        """Whether it arrived is unknown: it goes first again, unless newer state has come."""
        key = outgoing.topic if outgoing.number is None else outgoing.number
        if key not in self._waiting:
            self._waiting = {key: outgoing, **self._waiting}
            if outgoing.number is not None:
                self._events = {outgoing.number: None, **self._events}
            self._filled.set()
        self._land()

    async def drained(self) -> None:
        """Wait until all is confirmed."""
        await self._drained.wait()

    def _add(self, key: str | int, outgoing: Outgoing) -> None:
        self._waiting[key] = outgoing
        self._filled.set()
        self._drained.clear()

    def _land(self) -> None:
        self._in_flight -= 1
        if not len(self):
            self._drained.set()
