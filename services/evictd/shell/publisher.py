"""Publishing what a worker owns: encoding, `epoch` and `rev`, and never an unchanged message twice.

[contract 1, Order]
"""

import logging
from collections.abc import Callable

import msgspec

from evictd.core.effects import BusEffect, Emit, Owned, Publish, Retract, WakeAt, unstamped
from evictd.core.wording import on_one_line
from evictd.shell.bus import Bus, Listener
from evictd.shell.epoch import Epoch
from evictd.shell.journal import is_recorded
from evictd_schemas import Event, topics

LOGGER = logging.getLogger("evictd.events")
"""The standard library's, which is silent in a process that has not configured its logs."""


class Publisher:
    """Carries out the bus effects of one worker's steps.

    `hold`: the journal's, for a worker that owns what is to outlive a broker's store.
    """

    def __init__(
        self,
        bus: Bus,
        epoch: Epoch,
        listener: Listener,
        wake_at: Callable[[str, float], None],
        hold: Callable[[str, Owned | None], None] | None = None,
    ) -> None:
        self._bus = bus
        self._epoch = epoch
        self._listener = listener
        self._wake_at = wake_at
        self._hold = hold
        self._sequences: dict[str, int] = {}
        self.published: dict[str, Owned] = {}
        """Everything this worker owns on the bus now, as last published."""
        epoch.on_raise(self.republish)

    async def perform(self, key: str, effect: BusEffect) -> None:
        """Carry out one effect of a step of `key`."""
        match effect:
            case Publish(topic=topic, message=message):
                self.publish(topic, message)
            case Retract(topic=topic):
                self.retract(topic)
            case Emit(topic=topic, event=event):
                self.emit(topic, event)
            case WakeAt(boot_seconds=boot_seconds):
                self._wake_at(key, boot_seconds)

    def publish(self, topic: str, message: Owned) -> None:
        """Publish state, unless it is what is there already."""
        held = self.published.get(topic)
        if held is not None and unstamped(held) == unstamped(message):
            return
        stamped = self._stamped(message)
        self._own(topic, stamped)
        self._send(topic, msgspec.json.encode(stamped), retain=True)

    def adopt(self, topic: str, message: Owned | None) -> None:
        """What a former life had published, or what others have cleared: it is so already."""
        self._own(topic, message)

    def retract(self, topic: str) -> None:
        """The empty retained payload. [contract 1]"""
        self._own(topic, None)
        self._send(topic, b"", retain=True)

    def emit(self, topic: str, event: Event) -> None:
        """An event: not retained, numbered per source. A new life goes on above the former one.

        The log has it too: whoever looks there first finds what was stopped, and why.
        """
        place = topics.place(topic)
        node = place.node if place is not None else event.source
        text = f"{event.data.get('reason')} on {node}: {event.data.get('message')}"
        LOGGER.info("%s", on_one_line(text))
        sequence = self._sequences.get(event.source, self._epoch.epoch) + 1
        self._sequences[event.source] = sequence
        numbered = msgspec.structs.replace(event, sequence=sequence)
        self._send(topic, msgspec.json.encode(numbered), retain=False)

    def republish(self) -> None:
        """All of it again under the present epoch: it was raised, or the broker lost its store."""
        for topic, message in tuple(self.published.items()):
            stamped = self._stamped(message)
            self.published[topic] = stamped
            self._send(topic, msgspec.json.encode(stamped), retain=True)

    def _own(self, topic: str, message: Owned | None) -> None:
        if message is None:
            self.published.pop(topic, None)
        else:
            self.published[topic] = message
        if self._hold is not None and is_recorded(topic):
            self._hold(topic, message)

    def _stamped(self, message: Owned) -> Owned:
        if "rev" not in type(message).__struct_fields__:
            return message
        return msgspec.structs.replace(message, epoch=self._epoch.epoch, rev=self._epoch.next_rev())

    def _send(self, topic: str, payload: bytes, *, retain: bool) -> None:
        self._bus.publish(topic, payload, retain=retain, publisher=self._listener)
