"""Images that no container has used for long and that a registry can give again.

Never one without a repository digest, one that a container refers to, running or stopped, or a
parent of such a one. [field case F2: that one is in use after all is normal]
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import anyio

from evictd.core.errors import PeerError
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.image_uses import ImageUses
from evictd.runtimes.docker.inspection import ImageSummary, time_of
from evictd.runtimes.docker.sweep import Piece
from evictd.runtimes.reclaims import UnusedImages as Settings

SURVEY_SECONDS = 300.0
"""Between two looks at which images are there and which have containers: two short calls."""
RECONNECT_SECONDS = 10.0
"""Before the events are listened to again; those that were missed come first then."""
DIGESTS_FOR_ALL = (
    "this engine gives a repository digest to what was built here too, so that nobody knows what a"
    " registry has: no image is taken"
)
"""Podman, and Docker with containerd's image store."""


class UnusedImages:
    """The step, and what it has to know beforehand."""

    def __init__(self, engine: Engine, settings: Settings, uses: ImageUses) -> None:
        self._engine = engine
        self._settings = settings
        self._uses = uses

    async def attend(self) -> None:
        """Follow which images are used, for as long as this is awaited."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow)
            while True:
                with suppress(PeerError):  # an engine that is away uses no image
                    await self._survey()
                await anyio.sleep(SURVEY_SECONDS)

    async def offered(self, stopped: Collection[str] | None) -> Sequence[Piece]:
        """Children first, then who was not used for longest.

        Raises `PeerError` too where a digest does not mean that a registry has the image.
        """
        del stopped
        if await self._digests_mean_nothing():
            raise PeerError(DIGESTS_FOR_ALL)
        images = await self._survey()
        used = await self._used(images)
        depths = {image.id: len(tuple(_parents(image.id, images))) for image in images}
        chosen = [image for image in images if image.id not in used and self._old(image)]
        chosen.sort(key=lambda image: (-depths[image.id], self._uses.last_seconds(image.id)))
        return [
            Piece(name=_names(image)[0], key=image.id, listed_bytes=image.size)
            for image in chosen
            if await self._aged(image)
        ]

    async def take(self, piece: Piece) -> Sequence[Piece]:
        """Name by name, since an image goes with its last one; looked at once more before."""
        images = await self._engine.images()
        image = next((one for one in images if one.id == piece.key), None)
        if image is None or image.id in await self._used(images):
            return ()
        gone = [await self._engine.remove_image(name) for name in _references(image)]
        return (piece,) if gone and all(gone) else ()

    async def _digests_mean_nothing(self) -> bool:
        information = await self._engine.information()
        return information.is_podman or information.has_containerd_images

    async def _survey(self) -> Sequence[ImageSummary]:
        images = await self._engine.images()
        names = {name: image.id for image in images for name in _names(image)}
        self._uses.saw(names, (image.id for image in images))
        for image_id in await self._used(images):
            self._uses.used(image_id)
        return images

    async def _used(self, images: Sequence[ImageSummary]) -> frozenset[str]:
        """What containers refer to, running or not, and all that it was built on."""
        direct = {summary.image_id for summary in await self._engine.containers()}
        return frozenset(direct).union(
            *(_parents(image_id, images) for image_id in direct if image_id)
        )

    async def _follow(self) -> None:
        """Every event of a container is a use of its image."""
        since: int | None = None
        while True:
            with suppress(PeerError):
                async for event in self._engine.events(since):
                    since = max(since or 0, event.time_nano + 1)
                    if event.actor.image:
                        self._uses.used(event.actor.image)
            await anyio.sleep(RECONNECT_SECONDS)

    def _old(self, image: ImageSummary) -> bool:
        names = _names(image)
        return (
            bool(_digests(image))
            and not self._settings.kept.holds(*names, *(_repository(name) for name in names))
            and self._uses.unused_seconds(image.id) >= self._settings.unused_seconds
        )

    async def _aged(self, image: ImageSummary) -> bool:
        """Here for long: since it was tagged last where the engine tells that."""
        if not self._settings.minimum_age_seconds:
            return True
        found = await self._engine.image(image.id)
        tagged = None if found is None or found.metadata is None else found.metadata.last_tag_time
        since = time_of(tagged or "")
        if since is None:
            return self._uses.unused_seconds(image.id) >= self._settings.minimum_age_seconds
        age_seconds = (datetime.now(UTC) - since).total_seconds()
        return age_seconds >= self._settings.minimum_age_seconds


def _parents(image_id: str, images: Iterable[ImageSummary]) -> Iterable[str]:
    """What an image was built on here, the nearest first."""
    above = {image.id: image.parent_id for image in images}
    while (image_id := above.pop(image_id, "")) in above:
        yield image_id


def _digests(image: ImageSummary) -> tuple[str, ...]:
    return tuple(name for name in image.repo_digests or () if not name.startswith("<none>"))


def _tags(image: ImageSummary) -> tuple[str, ...]:
    return tuple(name for name in image.repo_tags or () if not name.startswith("<none>"))


def _names(image: ImageSummary) -> tuple[str, ...]:
    return _tags(image) + _digests(image) + (image.id,)


def _references(image: ImageSummary) -> tuple[str, ...]:
    """What is deleted: digests go with the last tag."""
    return _tags(image) or _digests(image)


def _repository(name: str) -> str:
    """`registry:5000/app:1` and `app@sha256:...` without what comes after the name."""
    plain = name.partition("@")[0]
    head, slash, last = plain.rpartition("/")
    return head + slash + last.partition(":")[0]
