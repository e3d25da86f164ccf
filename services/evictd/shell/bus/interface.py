"""The bus as its users see it.

Nothing here waits: delivery feeds an inbox, publishing fills an outbox.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from msgspec import Struct


class Delivery(Struct, frozen=True, kw_only=True):
    """One message.

    `listed`: it came with the list on subscribing, not as something that just happened.

    An empty payload says that the topic is gone.

    """

    topic: str
    payload: bytes
    listed: bool = False


class Listing(Struct, frozen=True, kw_only=True):
    """The list on subscribing is complete.

    `authoritative`: it held everything this process itself had published, so what it did not name
    is gone (the bus has delivered an empty payload, `listed`, for each of those). [design, law 5]

    `unconfirmed`: what others had said before, and no list since that was authoritative named. It
    stands, also in a later life, until its owner speaks: whoever has a journal writes that down.
    """

    authoritative: bool
    unconfirmed: frozenset[str] = frozenset()


class Listener(Protocol):
    """A worker, a client or a link: takes what matches its filters."""

    @property
    def filters(self) -> Sequence[str]:
        """MQTT topic filters; fixed for the listener's life."""
        ...

    def deliver(self, delivery: Delivery) -> None:
        """Take one message. Must not wait, and must not raise for anything the payload holds."""
        ...

    def listed(self, listing: Listing) -> None:
        """The list is complete; called after attaching and after each reconnection."""
        ...


class Mirror(Protocol):
    """What a router tells of everything that was published in this process."""

    def outgoing(self, topic: str, payload: bytes, *, retain: bool) -> None:
        """Take it for the broker; must not wait."""
        ...

    def interested(self, filters: Sequence[str]) -> None:
        """A listener with these filters was attached."""
        ...


class Bus(Protocol):
    """One interface for the router alone and for routers joined by a broker."""

    def publish(
        self, topic: str, payload: bytes, *, retain: bool, publisher: Listener | None = None
    ) -> None:
        """Hand a message to every other listener and to the mirror.

        The publisher does not get it back.
        """
        ...

    def attach(self, listener: Listener) -> None:
        """Deliver the list of what is retained, then `listed`, then everything that comes."""
        ...

    def detach(self, listener: Listener) -> None:
        """Deliver nothing more to it."""
        ...


@contextmanager
def attached(bus: Bus, listener: Listener) -> Iterator[None]:
    """Inside it the listener is delivered to."""
    bus.attach(listener)
    try:
        yield
    finally:
        bus.detach(listener)
