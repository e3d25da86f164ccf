"""What follows what on one topic: an older value never replaces a newer one. [contract 1]"""

from collections import OrderedDict
from typing import Any

TOPICS_MAX = 20_000
"""Topics whose last pair is remembered; beyond it the longest untouched one is forgotten."""
UNNUMBERED = (0, 0)
"""Outsiders need not number what they write."""


class Succession:
    """The last (epoch, rev) of each topic."""

    def __init__(self) -> None:
        self._pairs: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self.ignored = 0
        """Messages that were older than what was there, or the same again."""

    def newer(self, topic: str, message: Any) -> bool:
        """Whether a message may count on a topic that others write too.

        One that says that the topic is gone always does: what follows may count anew.
        """
        pair = UNNUMBERED if message is None else (message.epoch, message.rev)
        if pair == UNNUMBERED:
            self._pairs.pop(topic, None)
            return True
        if pair <= self._pairs.get(topic, UNNUMBERED):
            self.ignored += 1
            return False
        self._remember(topic, pair)
        return True

    def older(self, topic: str, message: Any) -> bool:
        """Whether something newer was there on a topic of a worker's, cleared since or not.

        What is equal says the same again, as each list does. Clearing makes nothing forgotten: the
        writer goes on counting, and a broker that went back in time shows what was cleared.
        """
        pair = (message.epoch, message.rev)
        if pair == UNNUMBERED:
            return False
        if pair < self._pairs.get(topic, UNNUMBERED):
            self.ignored += 1
            return True
        self._remember(topic, pair)
        return False

    def _remember(self, topic: str, pair: tuple[int, int]) -> None:
        self._pairs[topic] = pair
        self._pairs.move_to_end(topic)
        if len(self._pairs) > TOPICS_MAX:
            self._pairs.popitem(last=False)
