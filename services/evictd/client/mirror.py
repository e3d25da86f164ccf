"""A typed copy of what is on the bus, and the changes as they come. [contract 1, Order]

Only a greater (epoch, rev) counts, so that duplicates and late copies change nothing. What cannot
be read is kept apart with the reason: a reader answers nobody.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from evictd.shell.bus import Bus, Delivery, Listing
from evictd.shell.bus.marks import Mark, read_mark
from evictd.shell.causes import UNREADABLE
from evictd_schemas import topics
from evictd_schemas.topics import Place, Topic

M = TypeVar("M")

CHANGES_MAX = 10_000
"""Changes that wait for one reader; beyond it the oldest is dropped and counted."""
UNREADABLE_MAX = 1_000
"""Messages that could not be read and are remembered."""


@dataclass(frozen=True, kw_only=True)
class Found(Generic[M]):
    """One object and where it is."""

    topic: str
    place: Place[M]
    message: M
    payload: bytes


@dataclass(frozen=True, kw_only=True)
class Change:
    """What just came. `found` None: it is gone. `listed`: it was there before we were."""

    topic: str
    place: Place[Any]
    found: Found[Any] | None
    listed: bool


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A payload that is not what its topic says."""

    topic: str
    reason: str


class Mirror:
    """A `Listener`. Objects are there as soon as they come; `complete` waits for the list."""

    def __init__(self, bus: Bus, node: str = "+") -> None:
        self._bus = bus
        self._node = node
        self._objects: dict[str, Found[Any]] = {}
        self._marks: dict[str, Mark] = {}
        self._complete = asyncio.Event()
        self._readers: list[asyncio.Queue[Change]] = []
        self.authoritative = False
        """Whether what the last list did not name is gone."""
        self.unreadable: dict[str, Unreadable] = {}
        self.missed = 0
        """Changes dropped because a reader of `watch` was too slow."""

    @property
    def filters(self) -> Sequence[str]:
        """Everything of the node, or of every node."""
        return (f"{topics.ROOT}/{self._node}/#",)

    async def complete(self) -> None:
        """Wait until everything retained is here."""
        await self._complete.wait()

    def objects(self, kind: Topic[M], node: str | None = None) -> list[Found[M]]:
        """All of a kind, by topic."""
        found = [
            one
            for one in self._objects.values()
            if one.place.kind is kind and node in (None, one.place.node)
        ]
        return sorted(found, key=lambda one: one.topic)

    def get(self, kind: Topic[M], node: str, **names: str) -> M | None:
        """One object, or None where there is none or it cannot be read."""
        found: Found[M] | None = self._objects.get(kind.at(node, **names))
        return None if found is None else found.message

    async def watch(self, *kinds: Topic[Any]) -> AsyncIterator[Change]:
        """What comes from now on, of these kinds or of all, events too."""
        queue: asyncio.Queue[Change] = asyncio.Queue(CHANGES_MAX)
        self._readers.append(queue)
        try:
            while True:
                change = await queue.get()
                if not kinds or change.place.kind in kinds:
                    yield change
        finally:
            self._readers.remove(queue)

    def publish(self, kind: Topic[M], message: M, node: str, **names: str) -> None:
        """Ask, report or wish, as far as the login may. Not waited for."""
        topic = kind.at(node, **names)
        self._send(topic, msgspec.json.encode(message), retain=kind.retained)

    def clear(self, kind: Topic[Any], node: str, **names: str) -> None:
        """Take it back: the empty retained payload. [contract 1]"""
        self._send(kind.at(node, **names), b"", retain=True)

    def deliver(self, delivery: Delivery) -> None:
        """Take one message; nothing that it holds raises."""
        place = topics.place(delivery.topic)
        if place is None:
            return
        self.unreadable.pop(delivery.topic, None)
        if not delivery.payload:
            self._marks.pop(delivery.topic, None)
            if self._objects.pop(delivery.topic, None) is not None:
                self._tell(delivery, place, None)
        elif self._is_news(place, delivery):
            self._take(place, delivery)

    def listed(self, listing: Listing) -> None:
        """The list is complete."""
        self.authoritative = listing.authoritative
        self._complete.set()

    def _send(self, topic: str, payload: bytes, *, retain: bool) -> None:
        self._bus.publish(topic, payload, retain=retain)

    def _is_news(self, place: Place[Any], delivery: Delivery) -> bool:
        held = self._objects.get(delivery.topic)
        if held is not None and held.payload == delivery.payload and place.kind.retained:
            return False
        mark = read_mark(place, delivery.payload) or Mark()
        before = self._marks.get(delivery.topic, Mark())
        if mark == Mark():
            return True  # it carries no order: the last one counts
        self._marks[delivery.topic] = max(mark, before)
        return mark >= before if place.kind is topics.WORKER else mark > before

    def _take(self, place: Place[Any], delivery: Delivery) -> None:
        try:
            message = msgspec.json.decode(delivery.payload, type=place.kind.message)
        except UNREADABLE as error:
            if len(self.unreadable) < UNREADABLE_MAX:
                reason = str(error) or type(error).__name__
                self.unreadable[delivery.topic] = Unreadable(topic=delivery.topic, reason=reason)
            return
        found = Found(topic=delivery.topic, place=place, message=message, payload=delivery.payload)
        if place.kind.retained:
            self._objects[delivery.topic] = found
        self._tell(delivery, place, found)

    def _tell(self, delivery: Delivery, place: Place[Any], found: Found[Any] | None) -> None:
        change = Change(topic=delivery.topic, place=place, found=found, listed=delivery.listed)
        for queue in self._readers:
            if queue.full():
                queue.get_nowait()
                self.missed += 1
            queue.put_nowait(change)
