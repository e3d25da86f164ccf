"""Bringing back a container that was stopped. It knows no pressure and no order."""

import re
from collections.abc import Awaitable, Callable

import anyio

from evictd.core.duty.outcomes import StartOutcome, StartResult
from evictd.core.errors import PeerError
from evictd.runtimes.docker import naming, pods
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.inspection import Inspected, Summary
from evictd.runtimes.docker.known import Known
from evictd.runtimes.docker.naming import Name
from evictd_schemas import PodReference

CONFIGURATION = "com.docker.compose.config-hash"
"""What Compose writes on each container that it makes from a file: it is one of a series."""
SHARERS_MAX = 20
"""Containers in one network that are restarted with it; more are left to their owner, and told."""

Refusal = Callable[[PodReference, Inspected], Awaitable[str | None]]
"""Why a container must not be stopped, not even for a moment; None where it may be."""

_CONTAINER_ID = re.compile(r"[0-9a-f]{64}")


class Starting:
    """Starts of one engine's containers."""

    def __init__(self, engine: Engine, known: Known, refusal: Refusal) -> None:
        self._engine = engine
        self._known = known
        self._refusal = refusal

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
            return StartOutcome(result=StartResult.STARTED, why=await self._joined(begun))
        ended = "removed" if begun is None else f"exit code {begun.state.exit_code}"
        return StartOutcome(result=StartResult.FAILED, why=f"it ended at once: {ended}")

    async def _joined(self, container: Inspected) -> str:
        """Who runs in its network has lost it with its last life, and is restarted.

        What came of it, for people. It is started, whatever becomes of these.
        """
        try:
            everyone = await self._engine.containers()
        except PeerError as error:
            return f"who shares its network is not known: {error}"
        names = naming.names(everyone)
        running = [item for item in everyone if item.state in ("running", "restarting")]
        sharers = [
            item for item in running if container.lends_network(await self._network_mode(item))
        ]
        told: list[str] = []

        async def restart(sharer: Summary) -> None:
            told.append(await self._restarted(names[sharer.id], sharer.id))

        async with anyio.create_task_group() as tasks:
            for sharer in sharers[:SHARERS_MAX]:
                tasks.start_soon(restart, sharer)
        told += [f"{_text(names[item.id])} was not restarted" for item in sharers[SHARERS_MAX:]]
        return "; ".join(sorted(told))

    async def _network_mode(self, item: Summary) -> str:
        """As the list has it, which Podman's has not."""
        if item.host_config is not None:
            return item.host_config.network_mode
        try:
            found = await self._engine.inspect(item.id)
        except PeerError:
            return ""
        return "" if found is None else found.host_config.network_mode

    async def _restarted(self, name: Name, container_id: str) -> str:
        """What became of one that shares the network."""
        try:
            container = await self._engine.inspect(container_id)
            if container is None or not container.state.running:
                return f"{_text(name)} is not there any more"
            life = PodReference(namespace=name.namespace, name=name.name, uid=pods.uid(container))
            why = await self._refusal(life, container)
            if why is not None:
                return f"{_text(name)} shares its network and was not restarted: {why}"
            grace_seconds = pods.grace_seconds(container, await self._known.product())
            with anyio.CancelScope(shield=True):  # whoever is stopped here is started again
                await self._engine.stop(container_id, grace_seconds, grace_seconds)
                await self._engine.start(container_id)
        except PeerError as error:
            return f"{_text(name)} shares its network and was not restarted: {error}"
        return f"{_text(name)}, which shares its network, was restarted"


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


def _text(name: Name) -> str:
    return f"{name.namespace}/{name.name}"
