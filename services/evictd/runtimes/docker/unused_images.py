"""Images that no container has used for long and that a registry can give again.

Never one without a repository digest, one that a container refers to, running or stopped, or a
parent of such a one. [field case F2: that one is in use after all is normal]
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from evictd.core.errors import PeerError
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.image_watch import ImageWatch
from evictd.runtimes.docker.images import (
    digests_of,
    names_of,
    parents,
    references_of,
    repository_of,
)
from evictd.runtimes.docker.inspection import ImageSummary, time_of
from evictd.runtimes.docker.sweep import Piece
from evictd.runtimes.reclaims import UnusedImages as Settings

JUDGE_SECONDS = 15.0
"""After a gap: until the engine is listened to again and has told what it remembers."""
DOUBTFUL = "it is not known yet whether images were used while nobody listened"
DIGESTS_FOR_ALL = (
    "this engine gives a repository digest to what was built here too, so that nobody knows what a"
    " registry has: no image is taken"
)
"""Podman, and Docker with containerd's image store."""


class UnusedImages:
    """The step; `watch` knows what was used when."""

    def __init__(self, engine: Engine, settings: Settings, watch: ImageWatch) -> None:
        self._engine = engine
        self._settings = settings
        self._watch = watch

    async def offered(self, stopped: Collection[str] | None) -> Sequence[Piece]:
        """Children first, then who was not used for longest.

        Raises `PeerError` too where a digest does not mean that a registry has the image, and while
        the past is doubtful.
        """
        del stopped
        if (await self._engine.information()).has_digests_for_all:
            raise PeerError(DIGESTS_FOR_ALL)
        if not await self._watch.judged(JUDGE_SECONDS):
            raise PeerError(DOUBTFUL)
        found = await self._watch.survey()
        images, uses = found.images, self._watch.uses
        depths = {image.id: len(tuple(parents(image.id, images))) for image in images}
        chosen = [image for image in images if image.id not in found.used and self._old(image)]
        chosen.sort(key=lambda image: (-depths[image.id], uses.last_seconds(image.id)))
        return [
            Piece(name=names_of(image)[0], key=image.id, listed_bytes=image.size)
            for image in chosen
            if await self._aged(image)
        ]

    async def take(self, piece: Piece) -> Sequence[Piece]:
        """Name by name, since an image goes with its last one; looked at once more before."""
        found = await self._watch.survey()
        image = next((one for one in found.images if one.id == piece.key), None)
        if image is None or image.id in found.used:
            return ()
        gone = [await self._engine.remove_image(name) for name in references_of(image)]
        return (piece,) if gone and all(gone) else ()

    def _old(self, image: ImageSummary) -> bool:
        names = names_of(image)
        return (
            bool(digests_of(image))
            and not self._settings.kept.holds(*names, *(repository_of(name) for name in names))
            and self._watch.uses.unused_seconds(image.id) >= self._settings.unused_seconds
        )

    async def _aged(self, image: ImageSummary) -> bool:
        """Here for long: since it was tagged last where the engine tells that."""
        if not self._settings.minimum_age_seconds:
            return True
        found = await self._engine.image(image.id)
        tagged = None if found is None or found.metadata is None else found.metadata.last_tag_time
        since = time_of(tagged or "")
        if since is None:
            return self._watch.uses.unused_seconds(image.id) >= self._settings.minimum_age_seconds
        age_seconds = (datetime.now(UTC) - since).total_seconds()
        return age_seconds >= self._settings.minimum_age_seconds
