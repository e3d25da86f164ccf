"""The `Runtime` of an engine's containers."""

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio

from evictd.core.duty.outcomes import StartOutcome, StopOutcome, StopResult
from evictd.core.errors import EvictdError, PeerError
from evictd.runtimes.docker import pods
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.image_memory import ImageMemory
from evictd.runtimes.docker.inspection import Inspected
from evictd.runtimes.docker.known import Known, Own
from evictd.runtimes.docker.naming import Name
from evictd.runtimes.docker.reading import Places, Reading
from evictd.runtimes.docker.reclaiming import Reclaiming
from evictd.runtimes.docker.sharing import Sharing
from evictd.runtimes.docker.starting import Starting, named
from evictd.runtimes.docker.statistics import Statistics
from evictd.runtimes.docker.units import Unit, Units, is_unit
from evictd.runtimes.interface import Bereft, Change, ChangeKind, GoOn, Listing
from evictd.runtimes.reclaims import Reclaims
from evictd.runtimes.settings import SettingsFor, nothing_configured
from evictd.runtimes.systemd import Manager
from evictd.shell.blocking import RunBlocking, in_thread
from evictd_schemas import MemoryStatistics, PodReference, StepOutcome

__all__ = ["DockerRuntime", "Places"]

CONFIRM_SECONDS = 5.0
"""After the engine has answered a stop it says "running" for milliseconds at most."""
CONFIRM_LOOK_SECONDS = 0.05
RECONNECT_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses before the event stream is opened again; the last one stays."""

KINDS = {
    "start": ChangeKind.STARTED,
    "die": ChangeKind.ENDED,
    "oom": ChangeKind.OUT_OF_MEMORY,
}


class DockerRuntime:
    """Containers of one engine.

    `own_names` are evictd's own parts by container name, `namespace/name` or Compose service: the
    broker and whatever else must not be stopped. The host in the engine's address is one of them;
    who answers there and at the URL of the `broker` is found too. `systemd`: for containers that it
    runs; without it they are left alone. `image_memory`: the file in which uses of images are kept.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        own_names: Iterable[str] = (),
        broker: str | None = None,
        systemd: Manager | None = None,
        places: Places | None = None,
        settings_for: SettingsFor = nothing_configured,
        reclaims: Reclaims | None = None,
        image_memory: Path | None = None,
        run_blocking: RunBlocking = in_thread,
    ) -> None:
        places = places or Places()
        own = Own(names=own_names, broker=broker)
        self._engine = engine
        self._known = Known(engine, own, places.own_process, run_blocking)
        self._units = Units(systemd, places.proc, run_blocking)
        self._reading = Reading(
            engine,
            self._known,
            self._units,
            places=places,
            settings_for=settings_for,
            run_blocking=run_blocking,
        )
        self._starting = Starting(engine)
        self._sharing = Sharing(engine, self._known, self._refusal)
        self._reclaiming = Reclaiming(
            engine,
            reclaims or Reclaims(),
            self._untouchable,
            ImageMemory(image_memory, places.proc, run_blocking),
            run_blocking,
        )
        self._settings_for = settings_for
        self._statistics = Statistics(engine=engine)

    @property
    def name(self) -> str:
        """Podman's once it has told that it is Podman."""
        return self._known.name

    async def list(self) -> Listing:
        """Every running container. [Runtime.list]"""
        return await self._reading.list()

    async def watch(self) -> AsyncIterator[Change]:
        """The engine's events; after an interruption those that were missed, and `LOST`.

        [Runtime.watch]
        """
        since: int | None = None
        failures = 0
        while True:
            began_seconds = anyio.current_time()
            async for event in self._engine.events(since):
                since = max(since or 0, event.time_nano + 1)
                if (kind := KINDS.get(event.action)) is not None:
                    yield Change(kind=kind, runtime_id=event.actor.id)
            lasted_seconds = anyio.current_time() - began_seconds
            failures = 0 if lasted_seconds > RECONNECT_SECONDS[-1] else failures + 1
            await anyio.sleep(RECONNECT_SECONDS[min(failures, len(RECONNECT_SECONDS) - 1)])
            yield Change(kind=ChangeKind.LOST)

    async def usage(self, pods: Sequence[PodReference]) -> dict[str, MemoryStatistics]:
        """By the engine's own statistics. [Meter]"""
        known = ((pod.uid, self._reading.container_ids.get(pod)) for pod in pods)
        listed = {uid: number for uid, number in known if number is not None}
        information = await self._known.information()
        return await self._statistics.usage(listed, information, datetime.now(UTC))

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        """The engine's own stop; two at once are the engine's to join. [Runtime.stop]"""
        try:
            container = await self._target(pod)
            if container is None:
                return StopOutcome(result=StopResult.NOT_FOUND)
            if pods.uid(container) != pod.uid:
                return StopOutcome(result=StopResult.OTHER_UID)
            if not container.state.running:
                why = f"it had ended, exit code {container.state.exit_code}"
                return StopOutcome(result=StopResult.GONE, why=why)
            unit = await self._reading.unit_of(container)
            if (refusal := await self._kept(pod, container, unit)) is not None:
                return StopOutcome(result=StopResult.REFUSED, why=refusal)
            if unit is not None:
                kill = partial(self._kill, container.id)
                outcome = await self._units.stop(unit, grace_seconds, kill)
                return await self._confirmed(pod, container.id) if outcome.ended else outcome
            own_seconds = pods.grace_seconds(container, await self._known.product())
            seconds = own_seconds if grace_seconds is None else grace_seconds
            await self._engine.stop(container.id, seconds, own_seconds)
            return await self._confirmed(pod, container.id)
        except EvictdError as error:
            return StopOutcome(result=StopResult.FAILED, why=str(error))

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        """The very container that was stopped, or the unit that runs it. [Runtime.start]"""
        if is_unit(runtime_id):
            return await self._units.start(runtime_id)
        return await self._starting.start(Name(namespace=namespace, name=name), runtime_id)

    async def keeps(self, namespace: str, name: str, runtime_id: str) -> bool | None:
        """The container that was stopped, or its successor. [Keeper]"""
        if is_unit(runtime_id):
            return await self._units.keeps(runtime_id)
        return await self._starting.keeps(Name(namespace=namespace, name=name), runtime_id)

    async def bereft(self, namespace: str, name: str, runtime_id: str) -> Bereft:
        """Containers in the network of its former life. [Lender]

        What a unit runs may begin a moment after its unit is said to be up.
        """
        wanted = Name(namespace=namespace, name=name)
        if is_unit(runtime_id):
            if runtime_id == name:  # a unit in its own right, and no container
                return Bereft()
            await self._begun(wanted)
            return await self._sharing.bereft(wanted, "")
        return await self._sharing.bereft(wanted, runtime_id)

    @property
    def reclaim_steps(self) -> frozenset[str]:
        """What can be given back here without touching a workload. [Reclaimer]"""
        return frozenset(self._reclaiming.steps)

    async def reclaim(
        self, step: str, *, stopped: Collection[str] | None, go_on: GoOn
    ) -> StepOutcome:
        """Never a volume, an image in use or a container that runs. [Reclaimer] [design, law 9]"""
        return await self._reclaiming.take(step, stopped, go_on)

    async def rehearse(self, step: str, *, stopped: Collection[str] | None) -> StepOutcome:
        """What it would take. [Reclaimer]"""
        return await self._reclaiming.rehearse(step, stopped)

    async def attend(self) -> None:
        """Follow what is used. [Reclaimer]"""
        await self._reclaiming.attend()

    async def close(self) -> None:
        """Give back the engine's connections. [Runtime.close]"""
        await self._engine.close()

    async def _begun(self, name: Name) -> None:
        """A container of that name runs; waits for a few seconds at most."""
        with suppress(PeerError), anyio.move_on_after(CONFIRM_SECONDS):
            while True:
                found = await named(self._engine, name)
                if found is not None and found.state.running:
                    return
                await anyio.sleep(CONFIRM_LOOK_SECONDS)

    async def _kill(self, container_id: str) -> None:
        with suppress(PeerError):  # what is left then its unit kills
            await self._engine.stop(container_id, 0, 0)

    async def _target(self, pod: PodReference) -> Inspected | None:
        """As it was listed before, though its name may have changed since; else by the name."""
        container_id = self._reading.container_ids.get(pod)
        if container_id is None:
            return await named(self._engine, Name(namespace=pod.namespace, name=pod.name))
        return await self._engine.inspect(container_id)

    async def _untouchable(self, name: Name, container: Inspected) -> str | None:
        """The same for one that has ended."""
        pod = PodReference(namespace=name.namespace, name=name.name, uid=pods.uid(container))
        return await self._refusal(pod, container)

    async def _refusal(self, pod: PodReference, container: Inspected) -> str | None:
        """Why the engine alone must not touch it: protected, or managed by others."""
        unit = await self._reading.unit_of(container)
        kept = await self._kept(pod, container, unit)
        return kept if kept is not None or unit is None else f"it is managed by {unit.manager}"

    async def _kept(self, pod: PodReference, container: Inspected, unit: Unit | None) -> str | None:
        """Why it is not stopped at all, from the inspection of this moment."""
        name = Name(namespace=pod.namespace, name=pod.name)
        wanted = pods.wishes(container, await self._known.image_labels(container), name)
        parts, product = await self._known.parts(), await self._known.product()
        found = pods.pod(
            container, name, wanted, self._settings_for, parts, product=product, unit=unit
        )
        if found.protected and found.managed_by is not None:
            return f"it is managed by {found.managed_by}"
        return "it is protected" if found.protected else None

    async def _confirmed(self, pod: PodReference, container_id: str) -> StopOutcome:
        """The engine must say of this very life that it runs no more."""
        with anyio.move_on_after(CONFIRM_SECONDS):
            while True:
                container = await self._engine.inspect(container_id)
                if container is None:
                    return StopOutcome(result=StopResult.GONE, why="stopped and removed")
                if pods.uid(container) != pod.uid or not container.state.running:
                    why = f"exit code {container.state.exit_code}"
                    return StopOutcome(result=StopResult.GONE, why=why)
                await anyio.sleep(CONFIRM_LOOK_SECONDS)
        why = f"the engine says that it runs {CONFIRM_SECONDS:g} s after its stop"
        return StopOutcome(result=StopResult.FAILED, why=why)
