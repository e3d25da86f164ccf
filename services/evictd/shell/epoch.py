"""The order of this process among those that wrote the same topics before or beside it.

[contract 1, Order]
"""

from collections.abc import Callable

EPOCH_MAX = 1 << 62
"""An epoch above it is rubbish: no clock counts so far, and one more must still fit."""


class Epoch:
    """One for all workers of a process. `rev` grows with each change of anything it writes."""

    def __init__(self, start: int) -> None:
        self.epoch = start
        self.rev = 0
        self._raised: list[Callable[[], None]] = []

    def next_rev(self) -> int:
        """The place of one more change."""
        self.rev += 1
        return self.rev

    def on_raise(self, republish: Callable[[], None]) -> None:
        """Call this after each raise: what was published under the old epoch has to be again."""
        self._raised.append(republish)

    def raise_above(self, epoch: int) -> None:
        """A message of another life had this epoch.

        Ours is greater from now on, unless it is rubbish.
        """
        if not self.epoch <= epoch <= EPOCH_MAX:
            return
        self.epoch = epoch + 1
        for republish in self._raised:
            republish()


def first_epoch(wall_milliseconds: int, *former: int) -> int:
    """The greatest of wall-clock milliseconds and 1 + each epoch of a former life."""
    return max(wall_milliseconds, *(epoch + 1 for epoch in former), 1)
