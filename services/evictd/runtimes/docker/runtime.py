"""The `Runtime` of an engine's containers."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from msgspec import Struct, structs

from evictd.core.duty.outcomes import StartOutcome, StopOutcome, StopResult
from evictd.core.errors import PeerError
from evictd.core.wording import name_text
from evictd.runtimes import hierarchies
from evictd.runtimes.docker import cgroups, naming, ownership, pods
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.inspection import STOPPING, Information, Inspected, Summary
from evictd.runtimes.docker.naming import Name, Replicas
from evictd.runtimes.docker.ownership import Parts
from evictd.runtimes.docker.reclaiming import Reclaiming
from evictd.runtimes.docker.starting import Starting, named
from evictd.runtimes.docker.statistics import Statistics
from evictd.runtimes.docker.stopping import Stopping
from evictd.runtimes.interface import Change, ChangeKind, GoOn, Listing, Workload
from evictd.runtimes.reclaims import Reclaims
from evictd.runtimes.settings import SettingsFor, nothing_configured
from evictd.shell.blocking import RunBlocking, in_thread
from evictd_schemas import MemoryStatistics, PodReference, StepOutcome
from evictd_schemas.topics import segment_problem

INSPECTIONS_AT_ONCE = 8
"""More would only wait inside the engine."""
IMAGES_MAX = 1_000
"""Images whose labels are remembered; beyond it all are forgotten and asked again."""
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


class Places(Struct, frozen=True, kw_only=True):
    """Where the machine's files are; in a container they are mounted elsewhere."""

    cgroup: Path = Path("/sys/fs/cgroup")
    proc: Path = Path("/proc")
    own_process: Path = Path("/proc/self")


class Seen(Struct, frozen=True, kw_only=True):
    """One container with the name that it has among the others."""

    name: Name
    container: Inspected
    image_labels: dict[str, str]


class Around(Struct, frozen=True, kw_only=True):
    """What is the same for all containers of one listing."""

    information: Information
    parts: Parts
    product: str
    replicas: Replicas = {}


class DockerRuntime:
    """Containers of one engine.

    `own_names` are evictd's own parts by container name, `namespace/name` or Compose service: the
    broker and whatever else must not be stopped. The host in the engine's address is one of them.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        own_names: Iterable[str] = (),
        places: Places | None = None,
        settings_for: SettingsFor = nothing_configured,
        reclaims: Reclaims | None = None,
        run_blocking: RunBlocking = in_thread,
    ) -> None:
        self._engine = engine
        self._statistics = Statistics(engine=engine)
        self._starting = Starting(engine, self._refusal)
        self._reclaiming = Reclaiming(
            engine, reclaims or Reclaims(), self._untouchable, run_blocking
        )
        self._own_names = frozenset(own_names) | _proxy_name(engine.address)
        self._places = places or Places()
        self._settings_for = settings_for
        self._run_blocking = run_blocking
        self._image_labels: dict[str, dict[str, str]] = {}
        self._container_ids: dict[PodReference, str] = {}
        self._information: Information | None = None
        self._parts: Parts | None = None
        self._product: str | None = None

    @property
    def name(self) -> str:
        """Podman's once it has told that it is Podman."""
        return self._product or pods.DOCKER

    async def list(self) -> Listing:
        """Every running container. [Runtime.list]"""
        summaries = await self._engine.containers()
        information = await self._known_information()
        names = naming.names(summaries)
        seen, problems = await self._inspect_all(
            {item.id: names[item.id] for item in summaries if _may_run(item)}
        )
        around = Around(
            information=information,
            parts=await self._known_parts(),
            product=await self._known_product(),
            replicas=naming.replicas((names[item.id] for item in summaries), summaries),
        )
        read = partial(self._workloads, seen, around)
        workloads, label_problems = await self._run_blocking(read)
        self._container_ids |= {item.reference: item.pod.runtime_id for item in workloads}
        self._forget(summaries)
        return Listing(
            workloads=workloads, complete=not problems, problems=(*problems, *label_problems)
        )

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
        known = ((pod.uid, self._container_ids.get(pod)) for pod in pods)
        listed = {uid: number for uid, number in known if number is not None}
        information = await self._known_information()
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
            if (refusal := await self._refusal(pod, container)) is not None:
                return StopOutcome(result=StopResult.REFUSED, why=refusal)
            product = await self._known_product()
            own_seconds = pods.grace_seconds(container, product)
            seconds = own_seconds if grace_seconds is None else grace_seconds
            stopping = Stopping(engine=self._engine, joins=product == pods.DOCKER)
            await stopping.stop(container.id, seconds, own_seconds)
            return await self._confirmed(pod, container.id)
        except PeerError as error:
            return StopOutcome(result=StopResult.FAILED, why=str(error))

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        """The very container that was stopped. [Runtime.start]"""
        return await self._starting.start(Name(namespace=namespace, name=name), runtime_id)

    async def keeps(self, namespace: str, name: str, runtime_id: str) -> bool | None:
        """The container that was stopped, or its successor. [Keeper]"""
        return await self._starting.keeps(Name(namespace=namespace, name=name), runtime_id)

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

    async def _target(self, pod: PodReference) -> Inspected | None:
        """As it was listed before, though its name may have changed since; else by the name."""
        container_id = self._container_ids.get(pod)
        if container_id is None:
            return await named(self._engine, Name(namespace=pod.namespace, name=pod.name))
        return await self._engine.inspect(container_id)

    async def _untouchable(self, name: Name, container: Inspected) -> str | None:
        """The same for one that has ended."""
        pod = PodReference(namespace=name.namespace, name=name.name, uid=pods.uid(container))
        return await self._refusal(pod, container)

    async def _refusal(self, pod: PodReference, container: Inspected) -> str | None:
        """Protected and managed by others, from the inspection of this moment."""
        name = Name(namespace=pod.namespace, name=pod.name)
        wanted = pods.wishes(container, await self._labels_of(container), name)
        parts, product = await self._known_parts(), await self._known_product()
        found = pods.pod(container, name, wanted, self._settings_for, parts, product=product)
        if found.managed_by is not None:
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

    async def _inspect_all(
        self, names: Mapping[str, Name]
    ) -> tuple[tuple[Seen, ...], tuple[str, ...]]:
        """Several at once; what is gone meanwhile is dropped, what hangs is told."""
        limit = anyio.CapacityLimiter(INSPECTIONS_AT_ONCE)
        seen: list[Seen] = []
        problems: list[str] = []

        async def inspect(container_id: str, name: Name) -> None:
            async with limit:
                try:
                    container = await self._engine.inspect(container_id)
                    if container is None or not container.state.running:
                        return
                    labels = await self._labels_of(container)
                    seen.append(Seen(name=name, container=container, image_labels=labels))
                except PeerError as error:
                    problems.append(f"{name.namespace}/{name.name}: {error}")

        async with anyio.create_task_group() as tasks:
            for container_id, name in names.items():
                tasks.start_soon(inspect, container_id, name)
        return tuple(seen), tuple(sorted(problems))

    def _workloads(
        self, seen: tuple[Seen, ...], around: Around
    ) -> tuple[tuple[Workload, ...], tuple[str, ...]]:
        """Everything about each container; blocks on small files."""
        found = hierarchies.locate(self._places.cgroup)
        workloads: list[Workload] = []
        problems: list[str] = []
        for item in sorted(seen, key=lambda one: one.name):
            if (problem := _name_problem(item.name)) is not None:
                problems.append(problem)
                continue
            wanted = pods.wishes(item.container, item.image_labels, item.name)
            pod = pods.pod(
                item.container,
                item.name,
                wanted,
                self._settings_for,
                around.parts,
                product=around.product,
                replicas=around.replicas,
            )
            where = cgroups.whereabouts(
                item.container, around.information.cgroup_driver, found, self._places.proc
            )
            workloads.append(Workload(pod=pod, whereabouts=where))
            told = (*wanted.problems, pods.problem(pod, self._settings_for(*item.name.words)))
            problems += (f"{name_text(pod)}: {text}" for text in told if text is not None)
        if not around.information.memory_limit:
            problems.append("the kernel keeps no account of memory: enable the memory cgroup")
        return tuple(workloads), tuple(problems)

    async def _labels_of(self, container: Inspected) -> dict[str, str]:
        """Of its image; asked once, and only where a label of ours is there to compare."""
        if not any(name.startswith("evictd.") for name in container.labels):
            return {}
        if container.image not in self._image_labels:
            if len(self._image_labels) >= IMAGES_MAX:
                self._image_labels.clear()
            image = await self._engine.image(container.image)
            labels = image.config.labels if image is not None and image.config is not None else None
            self._image_labels[container.image] = labels or {}
        return self._image_labels[container.image]

    async def _known_information(self) -> Information:
        """Asked once: it changes only with a restart of the engine, to the same answer."""
        if self._information is None:
            self._information = await self._engine.information()
        return self._information

    async def _known_product(self) -> str:
        """Docker's, or Podman's answering for one; asked once."""
        if self._product is None:
            version = await self._engine.version()
            self._product = pods.PODMAN if version.is_podman else pods.DOCKER
        return self._product

    async def _known_parts(self) -> Parts:
        """Which container we are in is asked of the kernel once, its image of the engine."""
        if self._parts is None:
            container_id = await self._run_blocking(partial(_own_container_id, self._places))
            own = None if container_id is None else await self._engine.inspect(container_id)
            image = None if own is None else own.image
            parts = Parts(container_id=container_id, image=image)
            self._parts = structs.replace(parts, names=self._own_names)
        return self._parts

    def _forget(self, summaries: Iterable[Summary]) -> None:
        """Lives of containers that are no more."""
        there = {item.id for item in summaries}
        self._container_ids = {
            pod: number for pod, number in self._container_ids.items() if number in there
        }


def _may_run(summary: Summary) -> bool:
    return summary.state in ("running", "paused", "restarting", STOPPING, "")


def _name_problem(name: Name) -> str | None:
    for word in (name.namespace, name.name):
        if (problem := segment_problem(word)) is not None:
            return f"{word!r} cannot travel on the bus: {problem}"
    return None


def _proxy_name(address: str) -> frozenset[str]:
    """A TCP address names whoever stands before the engine."""
    parts = urlsplit(address)
    return (
        frozenset((parts.hostname,)) if parts.scheme != "unix" and parts.hostname else frozenset()
    )


def _own_container_id(places: Places) -> str | None:
    names = ("mountinfo", "cgroup")
    files = {name: hierarchies.text(places.own_process / name) or "" for name in names}
    return ownership.own_container_id(files)
