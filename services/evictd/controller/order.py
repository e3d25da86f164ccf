"""The order of what one topic carried: an older value never replaces a newer one. [contract 1]"""

from collections import OrderedDict
from typing import Any

TOPICS_MAX = 20_000
"""Topics whose last pair is remembered; beyond it the longest untouched one is forgotten."""


class Order:
    """The last (epoch, rev) of each topic. Outsiders need not number what they write."""

    def __init__(self) -> None:
        self._pairs: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self.ignored = 0
        """Messages that were older than what was there, or the same again."""

    def newer(self, topic: str, message: Any) -> bool:
        """Whether a message may count; one that says that the topic is gone always does."""
        pair = (0, 0) if message is None else (message.epoch, message.rev)
        if pair == (0, 0):
            self._pairs.pop(topic, None)
            return True
        if pair <= self._pairs.get(topic, (0, 0)):
            self.ignored += 1
            return False
        self._pairs[topic] = pair
        self._pairs.move_to_end(topic)
        if len(self._pairs) > TOPICS_MAX:
            self._pairs.popitem(last=False)
        return True
