"""A listener that writes down what it hears on a bus."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from evictd.shell.bus import Delivery, Listing
from evictd_schemas import Event


@dataclass(eq=False)
class Ear:
    """Hears all that is published, unless it takes only some topics."""

    filters: Sequence[str] = ("#",)
    heard: list[Delivery] = field(default_factory=list)
    lists: list[Listing] = field(default_factory=list)

    def deliver(self, delivery: Delivery) -> None:
        self.heard.append(delivery)

    def listed(self, listing: Listing) -> None:
        self.lists.append(listing)

    @property
    def payloads(self) -> list[bytes]:
        """Of everything, oldest first."""
        return [delivery.payload for delivery in self.heard]

    def on(self, topic: str) -> list[bytes]:
        """Everything that was said on a topic, oldest first."""
        return [delivery.payload for delivery in self.heard if delivery.topic == topic]

    def events(self, reason: str = "") -> list[Event]:
        """Every event, or those of one Reason, oldest first."""
        return [
            msgspec.json.decode(delivery.payload, type=Event)
            for delivery in self.heard
            if "/events/" in delivery.topic and delivery.topic.endswith(reason)
        ]
