"""Containers that ended long ago and that nobody waits for.

Never one of Compose or of another manager, one with a volume that has no name, one that its owner
protects, or one that evictd has stopped. [design, law 9] [field case F13]
"""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime

from evictd.core.errors import PeerError
from evictd.runtimes.docker import naming
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.inspection import Inspected, time_of
from evictd.runtimes.docker.naming import Name
from evictd.runtimes.docker.sweep import Piece
from evictd.runtimes.reclaims import DeadContainers as Settings

ANONYMOUS = re.compile(r"[0-9a-f]{64}")
"""The name of a volume that nobody has named: its data would be found by nobody."""

Refusal = Callable[[Name, Inspected], Awaitable[str | None]]
"""Why the runtime would not touch a container, None where it would."""


class DeadContainers:
    """The step."""

    def __init__(self, engine: Engine, settings: Settings, refusal: Refusal) -> None:
        self._engine = engine
        self._settings = settings
        self._refusal = refusal

    async def offered(self, stopped: Collection[str] | None) -> Sequence[Piece]:
        """Who ended first goes first. Raises `PeerError` too while `stopped` is not known."""
        if stopped is None:
            raise PeerError("what evictd has stopped is not known before the bus has told it")
        summaries = await self._engine.containers()
        names = naming.names(summaries)
        found: list[tuple[datetime, Piece]] = []
        for summary in summaries:
            if summary.state != "exited" or summary.id in stopped:
                continue
            container = await self._engine.inspect(summary.id)
            ended = None if container is None else await self._ended(names[summary.id], container)
            if ended is not None:
                name = names[summary.id]
                size = await self._engine.layer_bytes(summary.id)
                piece = Piece(
                    name=f"{name.namespace}/{name.name}", key=summary.id, listed_bytes=size
                )
                found.append((ended, piece))
        return [piece for _, piece in sorted(found, key=lambda item: item[0])]

    async def take(self, piece: Piece) -> Sequence[Piece]:
        """Without its volumes, and not one that was started meanwhile: the engine refuses that."""
        return (piece,) if await self._engine.remove_container(piece.key) else ()

    async def _ended(self, name: Name, container: Inspected) -> datetime | None:
        """When it ended, if that is long ago and nobody wants it."""
        ended = time_of(container.state.finished_at)
        if ended is None or container.state.running or naming.PROJECT in container.labels:
            return None
        if (datetime.now(UTC) - ended).total_seconds() < self._settings.exited_seconds:
            return None
        if any(mount.is_volume and ANONYMOUS.fullmatch(mount.name) for mount in container.volumes):
            return None
        if self._settings.kept.holds(f"{name.namespace}/{name.name}", name.name):
            return None
        return ended if await self._refusal(name, container) is None else None
