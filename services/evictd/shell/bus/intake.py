"""What a message from the broker means here.

The list, other people's news, or somebody writing on what is ours. It knows the router and the
order of messages; it does not connect or wait.

[design, laws 2 and 5] [contract 1, Order]
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from evictd.shell.bus.interface import Delivery, Listing
from evictd.shell.bus.marks import Ledger, Mark, read_mark
from evictd.shell.bus.outbox import Outbox
from evictd.shell.bus.presence import Presence, Verdict
from evictd.shell.bus.router import Router
from evictd_schemas import topics
from evictd_schemas.topics import Place

OVERWRITE_SECONDS = 1.0
"""A topic of ours is overwritten at most once in this time: two who both think that they own it
must not flood the broker."""

Outranked = Callable[[Place[Any], Mark], bool]
"""Somebody wrote a greater pair on a topic of ours. True: it stays ours and is written again."""

Judged = Callable[[Delivery], None]
"""Somebody wrote on a topic of ours: its judge, where that is in this process, says what was wrong
with it. Nobody acts on it."""


def nobody_judges(_delivery: Delivery) -> None:
    """Where no worker of this process judges anything."""


class Intake:
    """The receiving side of a link, over all its connections."""

    def __init__(
        self,
        router: Router,
        ledger: Ledger,
        outbox: Outbox,
        presence: Presence | None,
        outranked: Outranked,
        *,
        judged: Judged = nobody_judges,
    ) -> None:
        self._router = router
        self._ledger = ledger
        self._outbox = outbox
        self._presence = presence
        self._outranked = outranked
        self._judged = judged
        self._unconfirmed: set[str] = set()
        self._restoring: dict[str, float] = {}
        self._authoritative: bool | None = None
        self.marker: bytes | None = None
        self.complete = asyncio.Event()
        """The marker has come back."""
        self.standing = asyncio.Event()
        """The broker's status of this process is of this very life."""
        self.replaced = asyncio.Event()
        self.contested = asyncio.Event()
        """Our status has to be said again."""
        self.listed_at = 0.0
        """Loop time of the last message that was there before we were. Live ones do not count: near
        a line they come oftener than a list takes to get quiet."""

    def connect(self) -> None:
        """A new connection begins, and with it a new list."""
        self._ledger.connect()
        self.marker = None
        self._authoritative = None  # the first list of a connection tells; then nothing is missed
        for event in (self.complete, self.standing, self.contested):
            event.clear()

    def take(self, topic: str, payload: bytes, *, listed: bool) -> None:
        """One message from the broker."""
        if listed:
            self.listed_at = asyncio.get_running_loop().time()
        place = topics.place(topic)
        if place is None:
            self._take_outside(topic, payload, listed=listed)
            return
        if self._presence is not None and topic in self._presence.member.rivals:
            self._take_status(self._presence, topic, payload, listed=listed)
            return
        self._ledger.name(topic, payload)
        if place.kind is topics.REPORT and not payload:
            self._router.disown(topic)  # its controller collected it: the one shared topic
            self._ledger.confirm(topic, payload)
        if topic in self._router.own:
            self._take_own(place, topic, payload, listed=listed)
        elif payload and not listed and self._is_ours_alone(place):
            self._judged(Delivery(topic=topic, payload=payload))
            self._router.publish(topic, b"", retain=True)
        else:
            self._hand_over(place, topic, payload, listed=listed)

    def finish_list(self, filters: Sequence[str]) -> None:
        """All retained messages are here: clear what is gone, say ours again, tell everybody."""
        own_status = () if self._presence is None else (self._presence.member.topic,)
        if self._authoritative is None:
            self._authoritative = self._ledger.authoritative((*own_status, *filters))
        missing = [topic for topic in self._foreign(filters) if topic not in self._ledger.named]
        missing = [topic for topic in missing if topic not in own_status]
        if not self._authoritative:
            self._unconfirmed.update(missing)
        unconfirmed = frozenset(self._unconfirmed.intersection(missing))
        for topic in missing:
            if topic not in unconfirmed:
                delivery = Delivery(topic=topic, payload=b"", listed=True)
                self._router.incoming(delivery, retain=True)
        for topic in tuple(self._router.own):
            if topic in self._router.retained or topic in self._ledger.named:
                self._restore(topic)
        self._router.listing(Listing(authoritative=self._authoritative, unconfirmed=unconfirmed))

    def _take_outside(self, topic: str, payload: bytes, *, listed: bool) -> None:
        """What others say among themselves is handed on to who asked for it, and not kept."""
        if topics.is_outside(topic):
            delivery = Delivery(topic=topic, payload=payload, listed=listed)
            self._router.incoming(delivery, retain=False)

    def _foreign(self, filters: Sequence[str]) -> list[str]:
        return [
            topic
            for topic in self._router.retained
            if topic not in self._router.own
            and any(topics.matches(wanted, topic) for wanted in filters)
        ]

    def _is_ours_alone(self, place: Place[Any]) -> bool:
        """Whether nobody but this process writes such a topic; an observation may come by hand.

        What stands there and is not ours is a stranger's.
        """
        if self._presence is None or place.kind is topics.OBSERVATION:
            return False
        member = self._presence.member
        return place.node == member.node and place.kind.writer in member.roles

    def _hand_over(self, place: Place[Any], topic: str, payload: bytes, *, listed: bool) -> None:
        self._unconfirmed.discard(topic)
        delivery = Delivery(topic=topic, payload=payload, listed=listed)
        self._router.incoming(delivery, retain=listed or _is_whole_state(place, payload))

    def _take_status(self, presence: Presence, topic: str, payload: bytes, *, listed: bool) -> None:
        if listed or topic != presence.member.topic:  # what we say ourselves proves nothing
            self._ledger.name(topic, payload)
        verdict = presence.judge(topic, payload)
        if verdict is Verdict.REPLACED:
            self.replaced.set()
        elif verdict is Verdict.OVERWRITE and not listed:
            self._overwrite(topic)
        elif verdict is not Verdict.OVERWRITE:
            delivery = Delivery(topic=topic, payload=payload, listed=listed)
            self._router.incoming(delivery, retain=True)
        if topic == presence.member.topic and presence.is_ours(payload):
            self.standing.set()
        if payload == self.marker:
            self.complete.set()

    def _take_own(self, place: Place[Any], topic: str, payload: bytes, *, listed: bool) -> None:
        held = self._router.retained.get(topic, b"")
        if payload == held:
            return
        mark, own_mark = (read_mark(place, text) if text else None for text in (payload, held))
        stays = True
        if mark is not None and own_mark is not None and mark > own_mark:
            if place.kind is topics.OBSERVATION:  # by hand; the collector goes on after it
                self._router.disown(topic)
                self._hand_over(place, topic, payload, listed=listed)
                return
            stays = self._outranked(place, mark)
        if listed:
            return  # older words of ours may be among it, and after a list all is said again anyway
        self._judged(Delivery(topic=topic, payload=payload))
        if stays:
            self._overwrite(topic)

    def _overwrite(self, topic: str) -> None:
        loop = asyncio.get_running_loop()
        last = self._restoring.get(topic, 0.0)
        if last > loop.time():
            return  # already on its way
        at = max(loop.time(), last + OVERWRITE_SECONDS)
        self._restoring[topic] = at
        loop.call_at(at, self._restore, topic)

    def _restore(self, topic: str) -> None:
        if self._presence is not None and topic == self._presence.member.topic:
            self.contested.set()
        elif topic in self._router.own:
            self._outbox.put(topic, self._router.retained.get(topic, b""), retain=True)


def _is_whole_state(place: Place[Any], payload: bytes) -> bool:
    """Live messages do not tell whether they were retained.

    Events never are, and an observation without pods is published by hand and must not stand for
    the whole. [contract 3, Observation]
    """
    if place.kind is topics.OBSERVATION and payload:
        return b'"pods"' in payload
    return place.kind.retained
