"""What an engine itself gives back in one call: images without a name, and old build cache.

Nothing uses them, and builds make them again.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from evictd.runtimes.docker.engine import BUILD_CACHE_HOURS, Engine
from evictd.runtimes.docker.inspection import CacheRecord, Pruned, time_of
from evictd.runtimes.docker.sweep import Piece

ID_LENGTH = 19
"""As much of an image's id as people are shown: `sha256:` and twelve digits."""


class DanglingImages:
    """Images without a name that no container uses, not even a stopped one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def offered(self, stopped: Collection[str] | None) -> Sequence[Piece]:
        """By the start of their ids: names they have none."""
        del stopped
        used = {summary.image_id for summary in await self._engine.containers()}
        return tuple(
            Piece(name=image.id[:ID_LENGTH], key=image.id, listed_bytes=image.size)
            for image in await self._engine.dangling_images()
            if image.id not in used
        )

    async def take(self, piece: Piece) -> Sequence[Piece]:
        """All at once."""
        del piece
        return _taken(await self._engine.prune_dangling_images())


class BuildCache:
    """What builds have left and none has used for a day."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def offered(self, stopped: Collection[str] | None) -> Sequence[Piece]:
        """As the engine lists it; one that cannot list it by itself is not asked."""
        del stopped
        latest = datetime.now(UTC) - timedelta(hours=BUILD_CACHE_HOURS)
        return tuple(
            Piece(name=record.id, key=record.id, listed_bytes=record.size)
            for record in await self._engine.build_cache()
            if _used_before(record, latest)
        )

    async def take(self, piece: Piece) -> Sequence[Piece]:
        """All at once."""
        del piece
        return _taken(await self._engine.prune_build_cache())


def _used_before(record: CacheRecord, latest: datetime) -> bool:
    """As the engine's own filter has it: what was never used counts as old."""
    used = time_of(record.last_used_at or "")
    return used is None or used <= latest


def _taken(pruned: Pruned) -> Sequence[Piece]:
    """The engine tells one figure for all; the first carries it."""
    names = pruned.names or (("everything",) if pruned.space_reclaimed else ())
    return tuple(
        Piece(name=name, key=name, listed_bytes=0 if index else pruned.space_reclaimed)
        for index, name in enumerate(names)
    )
