"""Topics of others: what is said to workloads there, and what they answer.

Nothing there is state. What is said is not retained, and what somebody else has retained is not
heard. It knows no workload and no message. [design, law 10]
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from evictd.shell.bus.interface import Bus, Delivery, Listing
from evictd_schemas.topics import is_outside

HEARD_BYTES_MAX = 16_384
"""Of a longer message so many bytes and one more are kept, so that whoever reads can tell."""
WAITING_MAX = 100
"""Messages that wait for one who listens; beyond it the oldest is dropped and counted."""
TOPIC_BYTES_MAX = 65_535
"""MQTT has no longer ones; a broker ends the connection over what is none."""


def filter_problem(wanted: str) -> str | None:
    """Why nothing can be heard by a filter, or None."""
    if not _is_sendable(wanted):
        return f"it needs 1 to {TOPIC_BYTES_MAX} bytes, none of them NUL"
    *upper, last = wanted.split("/")
    if not is_outside(wanted) or wanted.startswith(("+", "#")):
        return "it takes topics that are evictd's or the broker's: begin with a word of another"
    if any("#" in level for level in upper) or any(
        len(level) > 1 and ("+" in level or "#" in level) for level in (*upper, last)
    ):
        return "+ stands for one whole level, and # for all that follow"
    return None


class Heard:
    """What was said on one topic since somebody began to listen."""

    def __init__(self) -> None:
        self._waiting: deque[bytes | None] = deque(maxlen=WAITING_MAX)
        self._filled = asyncio.Event()
        self.dropped = 0
        """Messages lost because `WAITING_MAX` were waiting."""

    def put(self, payload: bytes) -> None:
        """One more."""
        self._add(payload[: HEARD_BYTES_MAX + 1])

    def miss(self) -> None:
        """Some may have been said that nobody heard."""
        self._add(None)

    async def take(self) -> bytes | None:
        """The next one.

        None says that the broker was away: what was said meanwhile is lost, and may be asked for.
        """
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.popleft()

    def _add(self, payload: bytes | None) -> None:
        self.dropped += len(self._waiting) == WAITING_MAX
        self._waiting.append(payload)
        self._filled.set()


class Foreign:
    """A listener of the bus for topics that are not evictd's.

    `filters`: all that may be heard; fixed, because a broker sends its whole list again for each
    new one. Raises `ValueError` for one that has a `filter_problem`.
    """

    def __init__(self, bus: Bus, filters: Sequence[str]) -> None:
        for wanted in filters:
            if (problem := filter_problem(wanted)) is not None:
                raise ValueError(f"{wanted!r} cannot be heard: {problem}")
        self._bus = bus
        self._filters = tuple(filters)
        self._ears: dict[str, list[Heard]] = {}

    @property
    def filters(self) -> Sequence[str]:
        return self._filters

    def say(self, topic: str, payload: bytes) -> None:
        """Publish with QoS 1, not retained. Raises `ValueError` for what is no topic of others."""
        if not is_outside(topic) or not _is_sendable(topic):
            raise ValueError(f"{topic!r} is not a topic of others")
        self._bus.publish(topic, payload, retain=False, publisher=self)

    @contextmanager
    def hear(self, topic: str) -> Iterator[Heard]:
        """Listen to one topic that `filters` take, until the end of the block."""
        heard = Heard()
        self._ears.setdefault(topic, []).append(heard)
        try:
            yield heard
        finally:
            self._ears[topic].remove(heard)
            if not self._ears[topic]:
                del self._ears[topic]

    def deliver(self, delivery: Delivery) -> None:
        """Hand it to who listens; what is retained was said to somebody else."""
        if delivery.listed or not delivery.payload:
            return
        for heard in self._ears.get(delivery.topic, ()):
            heard.put(delivery.payload)

    def listed(self, listing: Listing) -> None:  # noqa: ARG002 - all lists say the same here
        """A connection is new: between it and the last one somebody may have spoken."""
        for ears in self._ears.values():
            for heard in ears:
                heard.miss()


def _is_sendable(topic: str) -> bool:
    size = len(topic.encode(errors="surrogatepass"))
    return 0 < size <= TOPIC_BYTES_MAX and "\0" not in topic
