"""The `Runtime` of control groups: each populated child of one parent is a workload.

The parent's own name is the namespace. A group has no labels; what its owner wants for it is handed
in as `settings_for`.
"""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import anyio
from msgspec import Struct, structs

from evictd.core.duty.outcomes import StartOutcome, StartResult, StopOutcome, StopResult
from evictd.core.errors import HostError
from evictd.core.orders import Restore
from evictd.runtimes import hierarchies
from evictd.runtimes.cgroup import group as groups
from evictd.runtimes.cgroup import owners
from evictd.runtimes.cgroup.ending import OWN_GRACE_SECONDS, GroupEnding
from evictd.runtimes.cgroup.group import Group
from evictd.runtimes.interface import Change, ChangeKind, Listing, Workload
from evictd.runtimes.settings import SettingsFor, configured, nothing_configured
from evictd.shell.blocking import RunBlocking, in_thread
from evictd.shell.kernel_text import lines
from evictd_schemas import Pod, PodReference, Resources
from evictd_schemas.topics import segment_problem

WATCH_SECONDS = 1.0
"""Pause between two looks for groups that came or went; the kernel has no news of folders."""
GROUPS_MAX = 2_000
"""Children of the parent that are looked at; beyond it the listing is incomplete and says so."""


class Places(Struct, frozen=True, kw_only=True):
    """Where the kernel's files are; in a container the host's are mounted elsewhere."""

    cgroup: Path = Path("/sys/fs/cgroup")
    proc: Path = Path("/proc")
    run: Path = Path("/run")


class CgroupRuntime:
    """Control groups below `parent`, a path such as `/pods`.

    `own_process_id` is the process that must never be hit; a group that holds it is protected.
    """

    name = "cgroup"

    def __init__(
        self,
        parent: str,
        *,
        own_process_id: int,
        places: Places | None = None,
        settings_for: SettingsFor = nothing_configured,
        run_blocking: RunBlocking = in_thread,
    ) -> None:
        self._parent = "/" + parent.strip("/")
        self._own_process_id = own_process_id
        self._places = places or Places()
        self._settings_for = settings_for
        self._run_blocking = run_blocking
        self._endings: dict[str, GroupEnding] = {}
        self._closed = anyio.Event()

    @property
    def namespace(self) -> str:
        """The parent's own name; `_` for the root."""
        return self._parent.rpartition("/")[2] or "_"

    async def list(self) -> Listing:
        """Every populated child. [Runtime.list]"""
        return await self._run_blocking(self._read)

    async def watch(self) -> AsyncIterator[Change]:
        """Compare listings each second. [Runtime.watch]"""
        known = {item.pod.uid: item.pod.runtime_id for item in (await self.list()).workloads}
        while not self._closed.is_set():
            with anyio.move_on_after(WATCH_SECONDS):
                await self._closed.wait()
            now = {item.pod.uid: item.pod.runtime_id for item in (await self.list()).workloads}
            for uid in known.keys() - now.keys():
                yield Change(kind=ChangeKind.ENDED, runtime_id=known[uid])
            for uid in now.keys() - known.keys():
                yield Change(kind=ChangeKind.STARTED, runtime_id=now[uid])
            known = now

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        """SIGTERM to each process, then the end of the group. [Runtime.stop]"""
        running = self._endings.get(pod.name)
        if running is not None and running.uid == pod.uid:
            return await running.join(grace_seconds)
        try:
            group, outcome = await self._run_blocking(partial(self._target, pod))
        except HostError as error:
            return StopOutcome(result=StopResult.FAILED, why=str(error))
        if outcome is not None:
            return outcome
        running = self._endings.get(pod.name)  # another call may have begun meanwhile
        if running is not None:
            return await running.join(grace_seconds)
        ending = GroupEnding(uid=pod.uid, group=group, run_blocking=self._run_blocking)
        self._endings[pod.name] = ending
        try:
            return await ending.carry_out(grace_seconds)
        finally:
            del self._endings[pod.name]

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        """Processes have no memory of how they were started. [Runtime.start]"""
        del runtime_id
        if namespace != self.namespace or segment_problem(name) is not None:
            return StartOutcome(result=StartResult.NOT_FOUND, why="it is no group of this parent")
        try:
            listing = await self.list()
        except HostError as error:
            return StartOutcome(result=StartResult.FAILED, why=str(error))
        if any(found.pod.name == name for found in listing.workloads):
            return StartOutcome(result=StartResult.RUNNING)
        why = "a control group cannot be started; whoever started it has to"
        return StartOutcome(result=StartResult.REFUSED, why=why)

    async def close(self) -> None:
        """End the watch. [Runtime.close]"""
        self._closed.set()

    def _read(self) -> Listing:
        found = hierarchies.locate(self._places.cgroup)
        if not found.roots:
            problem = f"no control groups are mounted at {self._places.cgroup}"
            return Listing(complete=False, problems=(problem,))
        systemd_runs = owners.systemd_runs(self._places.run)
        if (owner := owners.owner_of(self._parent, systemd_runs=systemd_runs)) is not None:
            return Listing(problems=(f"{self._parent} belongs to {owner}: nothing in it is taken",))
        names = self._names(found)
        cut = len(names) > GROUPS_MAX
        problems = [f"{self._parent} has {len(names)} groups, {GROUPS_MAX} read"] if cut else []
        workloads = []
        for name in names[:GROUPS_MAX]:
            try:
                workloads.append(self._workload(found, name))
            except HostError as error:
                problems.append(f"{self.namespace}/{name} cannot be read: {error}")
        return Listing(
            workloads=tuple(workload for workload in workloads if workload is not None),
            complete=not problems,
            problems=tuple(problems),
        )

    def _names(self, found: hierarchies.Hierarchies) -> tuple[str, ...]:
        systemd_runs = owners.systemd_runs(self._places.run)
        below = {
            folder.name
            for root in found.roots
            for folder in owners.subgroups(root / self._parent.strip("/"))
        }
        free = (
            name
            for name in below
            if owners.owner_of(name, systemd_runs=systemd_runs) is None
            and segment_problem(name) is None
        )
        return tuple(sorted(free))

    def _workload(self, found: hierarchies.Hierarchies, name: str) -> Workload | None:
        """One child, None when nothing runs in it. Raises `HostError` for what makes no sense."""
        group = groups.find(found, f"{self._parent.rstrip('/')}/{name}")
        inside = groups.process_ids(group)
        first = groups.oldest(inside, self._places.proc)
        uid = None if first is None else groups.uid(group, first, self._places.proc)
        if first is None or uid is None:
            return None
        pod = Pod(
            namespace=self.namespace,
            name=name,
            uid=uid,
            runtime=self.name,
            runtime_id=group.path,
            start_time=groups.started(first, self._places.proc),
            termination_grace_period_seconds=OWN_GRACE_SECONDS,
            requests=_requests(group),
            limits=_limits(group),
        )
        wished = configured(pod, self._settings_for(self.namespace, name))
        pod = structs.replace(wished, restore=Restore.NEVER)  # nothing here could start it
        if (manager := self._manager(group, inside)) is not None:
            pod = structs.replace(pod, protected=True, managed_by=manager)
        return Workload(pod=pod, whereabouts=groups.whereabouts(group, first))

    def _manager(self, group: Group, inside: set[int]) -> str | None:
        """Ours, when we are in it; or an owner's that keeps groups beneath it."""
        if self._own_process_id in inside or self._holds_us(group):
            return "evictd"
        systemd_runs = owners.systemd_runs(self._places.run)
        for folder in group.folders:
            if (owner := owners.owner_inside(folder, systemd_runs=systemd_runs)) is not None:
                return owner
        return None

    def _holds_us(self, group: Group) -> bool:
        """By what the kernel tells of this process, since `proc` may be of another name space."""
        told = lines(hierarchies.text(Path("/proc/self/cgroup")) or "")
        own = {line.split(":", 2)[2] for line in told if line.count(":") >= 2}
        return any((path + "/").startswith(group.path + "/") for path in own)

    def _target(self, pod: PodReference) -> tuple[Group, StopOutcome | None]:
        """The last look before the first signal: is it still that life, and may it be stopped."""
        found = hierarchies.locate(self._places.cgroup)
        path = f"{self._parent.rstrip('/')}/{pod.name}"
        group = Group(path=path)
        if pod.namespace != self.namespace or segment_problem(pod.name) is not None:
            return group, StopOutcome(result=StopResult.NOT_FOUND)
        systemd_runs = owners.systemd_runs(self._places.run)
        if (owner := owners.owner_of(path, systemd_runs=systemd_runs)) is not None:
            return group, StopOutcome(result=StopResult.REFUSED, why=f"it belongs to {owner}")
        workload = self._workload(found, pod.name)
        if workload is None:
            return group, StopOutcome(result=StopResult.NOT_FOUND)
        if workload.pod.uid != pod.uid:
            return group, StopOutcome(result=StopResult.OTHER_UID)
        if workload.pod.protected:
            by = workload.pod.managed_by
            why = "it is protected" if by is None else f"it is managed by {by}"
            return group, StopOutcome(result=StopResult.REFUSED, why=why)
        return groups.find(found, path), None


def _requests(group: Group) -> Resources:
    """What the kernel was told to leave to it.

    The greater of v2's `memory.low` and `memory.min`, as of a unit; v1's soft limit.
    """
    if group.memory is None:
        return {}
    names = ("memory.low", "memory.min", "memory.soft_limit_in_bytes")
    found = (hierarchies.limit_bytes(group.memory, name) for name in names)
    amount = max((amount for amount in found if amount is not None), default=None)
    return {} if amount is None else {"memory": amount}


def _limits(group: Group) -> Resources:
    if group.memory is None:
        return {}
    amount = hierarchies.limit_bytes(group.memory, "memory.max", "memory.limit_in_bytes")
    return {} if amount is None else {"memory": amount}
