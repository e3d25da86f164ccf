"""The router in memory: retained state and delivery inside one process.

It knows topics and bytes, and nothing of what they say. One thread, no waiting, no copies.
"""

from collections.abc import Sequence

from evictd.shell.bus.interface import Delivery, Listener, Listing, Mirror
from evictd_schemas.topics import matches

CLEARED_MAX = 10_000
"""Topics remembered as cleared by this process, so that an old list does not bring them back."""


class Router:
    """A `Bus`. Without a mirror it is the whole bus and its list is authoritative."""

    def __init__(self) -> None:
        self.retained: dict[str, bytes] = {}
        self.own: set[str] = set()
        """Retained topics that this process has published or cleared; a list never overrides
        them."""
        self._cleared: dict[str, None] = {}
        self._listeners: list[Listener] = []
        self._mirror: Mirror | None = None

    def mirror(self, mirror: Mirror) -> None:
        """Join a broker: everything published here goes to it too."""
        self._mirror = mirror
        for listener in self._listeners:
            mirror.interested(listener.filters)

    def publish(
        self, topic: str, payload: bytes, *, retain: bool, publisher: Listener | None = None
    ) -> None:
        if "+" in topic or "#" in topic:
            raise ValueError(f"{topic!r} is a filter, not a topic")
        if retain:
            self._keep(topic, payload)
            self._own(topic, cleared=not payload)
        self._hand_out(Delivery(topic=topic, payload=payload), without=publisher)
        if self._mirror is not None:
            self._mirror.outgoing(topic, payload, retain=retain)

    def incoming(self, delivery: Delivery, *, retain: bool) -> None:
        """A message that another process published; `retain`: it is state, not an event."""
        if delivery.listed and delivery.topic in self.own:
            return  # a list never overrides what this process published
        if retain:
            self._keep(delivery.topic, delivery.payload)
        self._hand_out(delivery, without=None)

    def disown(self, topic: str) -> None:
        """This process no longer answers for the topic."""
        self.own.discard(topic)

    def listing(self, listing: Listing) -> None:
        """The broker's list is complete: tell everybody."""
        for listener in tuple(self._listeners):
            listener.listed(listing)

    def attach(self, listener: Listener) -> None:
        for topic, payload in tuple(self.retained.items()):
            if _takes(listener.filters, topic):
                listener.deliver(Delivery(topic=topic, payload=payload, listed=True))
        self._listeners.append(listener)
        if self._mirror is None:
            listener.listed(Listing(authoritative=True))
        else:
            self._mirror.interested(listener.filters)

    def detach(self, listener: Listener) -> None:
        self._listeners = [other for other in self._listeners if other is not listener]

    def _own(self, topic: str, *, cleared: bool) -> None:
        self.own.add(topic)
        if not cleared:
            self._cleared.pop(topic, None)
            return
        self._cleared[topic] = None
        if len(self._cleared) > CLEARED_MAX:
            oldest = next(iter(self._cleared))
            del self._cleared[oldest]
            self.own.discard(oldest)

    def _keep(self, topic: str, payload: bytes) -> None:
        if payload:
            self.retained[topic] = payload
        else:
            self.retained.pop(topic, None)

    def _hand_out(self, delivery: Delivery, *, without: Listener | None) -> None:
        for listener in tuple(self._listeners):
            if listener is not without and _takes(listener.filters, delivery.topic):
                listener.deliver(delivery)


def _takes(filters: Sequence[str], topic: str) -> bool:
    return any(matches(topic_filter, topic) for topic_filter in filters)
