"""When images were used last, as far as it can be known from now on.

An engine does not tell it. What is remembered is on a clock that nobody sets: an image of which no
use is known counts as used when it was first seen. It knows neither engine nor file: whoever
listens tells it, also what an earlier life knew and that nobody has listened for a while.
"""

from collections.abc import Callable, Iterable, Mapping

from evictd.shell.clock import SystemClock

IMAGES_MAX = 10_000
"""Images remembered; the oldest are forgotten, and are first seen anew then."""


def boot_seconds() -> float:
    """Seconds since the machine was started."""
    return SystemClock().now().boot_seconds


class ImageUses:
    """Image id to seconds of the clock, which never goes back while this lives."""

    def __init__(self, seconds: Callable[[], float] = boot_seconds) -> None:
        self._seconds = seconds
        self._last: dict[str, float] = {}
        self._ids: Mapping[str, str] = {}

    def recall(self, unused_seconds: Mapping[str, float]) -> None:
        """What was known before: for how long each has not been used."""
        now = self._seconds()
        self._last = {image_id: now - max(0.0, age) for image_id, age in unused_seconds.items()}

    def saw(self, names: Mapping[str, str], image_ids: Iterable[str]) -> None:
        """These images are there, and have these names; the others are forgotten."""
        there = dict.fromkeys(image_ids)
        now = self._seconds()
        known = {image_id: self._last.get(image_id, now) for image_id in there}
        self._last = dict(sorted(known.items(), key=lambda item: item[1])[-IMAGES_MAX:])
        self._ids = names

    def used(self, image: str) -> bool:
        """A container of this image is there, or has just been: by id or by name.

        False where no image that is there is called so.
        """
        image_id = self._ids.get(image, image)
        if image_id not in self._last:
            return False
        self._last[image_id] = self._seconds()
        return True

    def all_used(self) -> None:
        """Each may have been used until now: nobody listened."""
        self._last = dict.fromkeys(self._last, self._seconds())

    def last_seconds(self, image_id: str) -> float:
        """When its last known use was; now for one that was not seen before."""
        return self._last.get(image_id, self._seconds())

    def unused_seconds(self, image_id: str) -> float:
        """Since then."""
        return self._seconds() - self.last_seconds(image_id)

    def ages(self) -> dict[str, float]:
        """Seconds since the last known use of each that is there."""
        now = self._seconds()
        return {image_id: now - last for image_id, last in self._last.items()}
