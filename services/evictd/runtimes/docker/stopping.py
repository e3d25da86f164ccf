"""Ending a container through its engine. It knows neither why nor whether it may end."""

import anyio
from msgspec import Struct

from evictd.core.errors import PeerError
from evictd.runtimes.docker.engine import Engine

KILL_AFTER_SECONDS = 0.25
"""Beyond the grace: the engine's own SIGKILL comes first, where it comes."""


class Stopping(Struct, frozen=True, kw_only=True):
    """Stops of one engine's containers.

    `joins`: of two stops at once the engine heeds the shorter grace, as Docker does. Podman lets
    the second one wait for the first, so that SIGKILL is sent here when the grace is over.
    """

    engine: Engine
    joins: bool = True

    async def stop(self, container_id: str, grace_seconds: int, own_grace_seconds: int) -> None:
        """Returns when it has ended or was not running. Raises `PeerError`."""
        if self.joins:
            await self.engine.stop(container_id, grace_seconds, own_grace_seconds)
            return
        failure: PeerError | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._kill_later, container_id, grace_seconds)
            try:
                await self.engine.stop(container_id, grace_seconds, own_grace_seconds)
            except PeerError as error:
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _kill_later(self, container_id: str, grace_seconds: int) -> None:
        """It may have ended meanwhile: then there is nothing to kill, and the stop tells."""
        await anyio.sleep(grace_seconds + KILL_AFTER_SECONDS)
        await self.engine.kill(container_id)
