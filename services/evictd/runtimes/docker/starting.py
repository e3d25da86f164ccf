"""Bringing back a container that was stopped. It knows no pressure and no order."""

from evictd.core.duty.outcomes import StartOutcome, StartResult
from evictd.core.errors import PeerError
from evictd.runtimes.docker import naming
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.inspection import Inspected
from evictd.runtimes.docker.naming import Name


class Starting:
    """Starts of one engine's containers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def start(self, name: Name, container_id: str) -> StartOutcome:
        """The very container that was stopped.

        One that was made anew under its name is whoever's who made it. A failure is in the outcome
        and never raised.
        """
        try:
            container = await self._engine.inspect(container_id) if container_id else None
            if container is None:
                return await self._replaced(name)
            if container.state.running:
                return StartOutcome(result=StartResult.RUNNING)
            await self._engine.start(container.id)
            return await self._begun(container.id)
        except PeerError as error:
            return StartOutcome(result=StartResult.FAILED, why=str(error))

    async def _replaced(self, name: Name) -> StartOutcome:
        """The container is no more: does another one run under its name?"""
        other = await named(self._engine, name)
        if other is not None and other.state.running:
            return StartOutcome(result=StartResult.RUNNING)
        return StartOutcome(result=StartResult.NOT_FOUND, why="its container was removed")

    async def _begun(self, container_id: str) -> StartOutcome:
        container = await self._engine.inspect(container_id)
        if container is not None and container.state.running:
            return StartOutcome(result=StartResult.STARTED)
        ended = "removed" if container is None else f"exit code {container.state.exit_code}"
        return StartOutcome(result=StartResult.FAILED, why=f"it ended at once: {ended}")


async def named(engine: Engine, wanted: Name) -> Inspected | None:
    """The container that has this name among all others now, None when there is none."""
    names = naming.names(await engine.containers())
    found = next((number for number, name in names.items() if name == wanted), None)
    return None if found is None else await engine.inspect(found)
