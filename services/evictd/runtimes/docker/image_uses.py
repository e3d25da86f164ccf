"""When images were used last, as far as it can be known from now on.

An engine does not tell it. What is remembered is in memory, on a clock that nobody sets: an image
of which no use is known counts as used when it was first seen, so that a restart of evictd makes
every image young again.
"""

from collections.abc import Callable, Iterable, Mapping

import anyio

IMAGES_MAX = 10_000
"""Images remembered; the oldest are forgotten, and are first seen anew then."""


class ImageUses:
    """Image id to seconds of the clock, which is that of the event loop."""

    def __init__(self, seconds: Callable[[], float] = anyio.current_time) -> None:
        self._seconds = seconds
        self._last: dict[str, float] = {}
        self._ids: Mapping[str, str] = {}

    def saw(self, names: Mapping[str, str], image_ids: Iterable[str]) -> None:
        """These images are there, and have these names; the others are forgotten."""
        there = dict.fromkeys(image_ids)
        now = self._seconds()
        known = {image_id: self._last.get(image_id, now) for image_id in there}
        self._last = dict(sorted(known.items(), key=lambda item: item[1])[-IMAGES_MAX:])
        self._ids = names

    def used(self, image: str) -> None:
        """A container of this image is there, or has just been: by id or by name."""
        image_id = self._ids.get(image, image)
        if image_id in self._last:
            self._last[image_id] = self._seconds()

    def last_seconds(self, image_id: str) -> float:
        """When its last known use was; now for one that was not seen before."""
        return self._last.get(image_id, self._seconds())

    def unused_seconds(self, image_id: str) -> float:
        """Since then."""
        return self._seconds() - self.last_seconds(image_id)
