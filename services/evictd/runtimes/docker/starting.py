"""Bringing back a container that was stopped. It knows no pressure and no order."""

import re

from evictd.core.duty.outcomes import StartOutcome, StartResult
from evictd.core.errors import PeerError
from evictd.runtimes.docker import naming
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.inspection import Inspected
from evictd.runtimes.docker.naming import Name

CONFIGURATION = "com.docker.compose.config-hash"
"""What Compose writes on each container that it makes from a file: it is one of a series."""

_CONTAINER_ID = re.compile(r"[0-9a-f]{64}")


class Starting:
    """Starts of one engine's containers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def start(self, name: Name, container_id: str) -> StartOutcome:
        """The very container that was stopped, or the one that Compose has made in its place since.

        Any other one under its name is whoever's who made it. A failure is in the outcome and never
        raised.
        """
        try:
            container = await self._engine.inspect(container_id) if container_id else None
        except PeerError as error:
            return StartOutcome(result=StartResult.UNASKED, why=str(error))
        try:
            if container is None:
                return await self._replaced(name)
            return await self._begun(container)
        except PeerError as error:
            return StartOutcome(result=StartResult.FAILED, why=str(error))

    async def keeps(self, name: Name, container_id: str) -> bool | None:
        """Whether there is something to start, or something that runs in its place."""
        if _CONTAINER_ID.fullmatch(container_id) is None:
            return None  # it was never a container of an engine
        try:
            if await self._engine.inspect(container_id) is not None:
                return True
            other = await named(self._engine, name)
        except PeerError:
            return None
        return other is not None and (other.state.running or _succeeds(other))

    async def _replaced(self, name: Name) -> StartOutcome:
        """The container is no more: what runs under its name, or waits there to be started?"""
        other = await named(self._engine, name)
        if other is not None and (other.state.running or _succeeds(other)):
            return await self._begun(other)
        return StartOutcome(result=StartResult.NOT_FOUND, why="its container was removed")

    async def _begun(self, container: Inspected) -> StartOutcome:
        if container.state.running:
            return StartOutcome(result=StartResult.RUNNING)
        await self._engine.start(container.id)
        begun = await self._engine.inspect(container.id)
        if begun is not None and begun.state.running:
            return StartOutcome(result=StartResult.STARTED)
        ended = "removed" if begun is None else f"exit code {begun.state.exit_code}"
        return StartOutcome(result=StartResult.FAILED, why=f"it ended at once: {ended}")


async def named(engine: Engine, wanted: Name) -> Inspected | None:
    """The container that has this name among all others now, None when there is none."""
    names = naming.names(await engine.containers())
    found = next((number for number, name in names.items() if name == wanted), None)
    return None if found is None else await engine.inspect(found)


def _succeeds(container: Inspected) -> bool:
    """Whether Compose made it in place of another one and nobody has started it yet.

    One that has run and ended was ended by whoever wanted that.
    """
    labels = container.labels
    made = all(label in labels for label in (naming.PROJECT, naming.SERVICE, CONFIGURATION))
    return made and not naming.one_off(labels) and container.state.has_never_run
