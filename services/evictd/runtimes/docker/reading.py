"""All containers of an engine read into workloads. It stops nothing."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import anyio
from msgspec import Struct, structs

from evictd.core.errors import PeerError
from evictd.core.wording import name_text
from evictd.runtimes import hierarchies
from evictd.runtimes.docker import cgroups, naming, pods
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.inspection import STOPPING, Information, Inspected, Summary
from evictd.runtimes.docker.known import Known
from evictd.runtimes.docker.naming import Name, Replicas
from evictd.runtimes.docker.ownership import Parts
from evictd.runtimes.docker.units import Unit, Units
from evictd.runtimes.interface import Listing, Workload
from evictd.runtimes.settings import SettingsFor
from evictd.shell.blocking import RunBlocking
from evictd_schemas import Pod, PodReference
from evictd_schemas.topics import segment_problem

INSPECTIONS_AT_ONCE = 8
"""More would only wait inside the engine."""
NO_ACCOUNT = (
    "the kernel keeps no account of memory: boot with cgroup_enable=memory cgroup_memory=1"
    " (Raspberry Pi: in cmdline.txt)"
)


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
    units: Mapping[str, Unit] = {}
    troubled: frozenset[str] = frozenset()


class Reading:
    """Listings of one engine. `container_ids`: which container each life of the last one is."""

    def __init__(
        self,
        engine: Engine,
        known: Known,
        units: Units,
        *,
        places: Places,
        settings_for: SettingsFor,
        run_blocking: RunBlocking,
    ) -> None:
        self._engine = engine
        self._known = known
        self._units = units
        self._places = places
        self._settings_for = settings_for
        self._run_blocking = run_blocking
        self.container_ids: dict[PodReference, str] = {}

    async def list(self) -> Listing:
        """Every running container. [Runtime.list]"""
        summaries = await self._engine.containers()
        information = await self._known.information()
        names = naming.names(summaries)
        seen, problems = await self._inspect_all(
            {item.id: names[item.id] for item in summaries if _may_run(item)}
        )
        around = Around(
            information=information,
            parts=await self._known.parts(),
            product=await self._known.product(),
            replicas=naming.replicas((names[item.id] for item in summaries), summaries),
            units=await self._units.of(item.container for item in seen),
            troubled=frozenset(item.id for item in summaries if item.is_troubled),
        )
        read = partial(self._workloads, seen, around)
        workloads, label_problems = await self._run_blocking(read)
        self._remember(workloads, names)
        self._forget(summaries)
        return Listing(
            workloads=workloads, complete=not problems, problems=(*problems, *label_problems)
        )

    async def unit_of(self, container: Inspected) -> Unit | None:
        """The unit that runs one container, as of now."""
        seen = (container,)
        mine = (await self._units.of(seen)).get(container.id)
        if mine is None or not mine.obeys:
            return mine
        running = {
            item.id: naming.own_name(item)
            for item in await self._engine.containers()
            if _may_run(item) and item.id != container.id
        }
        names = {number: Name(namespace="", name=name) for number, name in running.items()}
        others, _ = await self._inspect_all(names)
        return (await self._units.of((*seen, *(item.container for item in others)))).get(
            container.id
        )

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
                    labels = await self._known.image_labels(container)
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
                unit=around.units.get(item.container.id),
            )
            pod = _in_network(pod, item, seen)
            if item.container.id in around.troubled:
                pod = structs.replace(pod, ready=False)
            where = cgroups.whereabouts(
                item.container, around.information.cgroup_driver, found, self._places.proc
            )
            workloads.append(Workload(pod=pod, whereabouts=where))
            told = (*wanted.problems, pods.problem(pod, self._settings_for(*item.name.words)))
            problems += (f"{name_text(pod)}: {text}" for text in told if text is not None)
        if not around.information.memory_limit:
            problems.append(NO_ACCOUNT)
        return tuple(workloads), tuple(problems)

    def _remember(self, workloads: Iterable[Workload], names: Mapping[str, Name]) -> None:
        numbers = {name.words: number for number, name in names.items()}
        self.container_ids |= {
            item.reference: numbers[item.pod.namespace, item.pod.name] for item in workloads
        }

    def _forget(self, summaries: Iterable[Summary]) -> None:
        """Lives of containers that are no more."""
        there = {item.id for item in summaries}
        self.container_ids = {
            pod: number for pod, number in self.container_ids.items() if number in there
        }


def _may_run(summary: Summary) -> bool:
    return summary.state in ("running", "paused", "restarting", STOPPING, "")


def _in_network(pod: Pod, item: Seen, seen: Iterable[Seen]) -> Pod:
    """Without a network of its own it needs the one whose network it is in, said or not."""
    mode = item.container.host_config.network_mode
    if not mode.startswith("container:"):
        return pod
    lender = next((one for one in seen if one.container.lends_network(mode)), None)
    if lender is None:
        return pod
    needed = (*pod.depends_on, "/".join(lender.name.words))
    return structs.replace(pod, depends_on=tuple(dict.fromkeys(needed)))


def _name_problem(name: Name) -> str | None:
    for word in name.words:
        if (problem := segment_problem(word)) is not None:
            return f"{word!r} cannot travel on the bus: {problem}"
    return None
