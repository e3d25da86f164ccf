"""The `Runtime` of systemd's units: those that the machine's owner has listed."""

from collections.abc import AsyncIterator, Iterable, Mapping
from functools import partial
from pathlib import Path

import anyio
from msgspec import Struct

from evictd.core.duty.outcomes import StartOutcome, StartResult, StopOutcome, StopResult
from evictd.core.errors import EvictdError
from evictd.runtimes import hierarchies
from evictd.runtimes.cgroup import group as groups
from evictd.runtimes.cgroup import owners
from evictd.runtimes.interface import Change, ChangeKind, Listing, Whereabouts, Workload
from evictd.runtimes.settings import SettingsFor, nothing_configured
from evictd.runtimes.systemd import lives, never, pods
from evictd.runtimes.systemd.companion_memory import CompanionMemory
from evictd.runtimes.systemd.companions import Companions
from evictd.runtimes.systemd.manager import Manager
from evictd.runtimes.systemd.pods import NAMESPACE, Rights
from evictd.runtimes.systemd.selection import Selection
from evictd.runtimes.systemd.unit import Unit
from evictd.runtimes.systemd.whole import UNITS_MAX, Whole, Wholes
from evictd.shell.blocking import RunBlocking, in_thread
from evictd.shell.kernel_text import lines
from evictd_schemas import PodReference

KEPT_SECONDS = 5.0
"""A listing holds for so long while no unit comes or goes, since near a line there are ten looks a
second and systemd's answer takes a process each."""
WATCH_SECONDS = 1.0
"""Between two looks for units that came or went; `systemctl` has no stream of changes."""
NAMED_MAX = 5
"""Units that a sentence names before it only counts."""


class Places(Struct, frozen=True, kw_only=True):
    """Where the machine's files are, and in `memory` one of ours: who went with what was stopped.

    None: that is forgotten at a restart.
    """

    cgroup: Path = Path("/sys/fs/cgroup")
    run: Path = Path("/run")
    own_process: Path = Path("/proc/self")
    memory: Path | None = None


class SystemdRuntime:
    """Listed units of this machine.

    `own_units` are patterns of units that evictd needs, its broker first of all. `engine_listed`:
    containers have a runtime of their own here, so that units that only hold some are left to it.
    """

    name = pods.RUNTIME_NAME

    def __init__(
        self,
        selection: Selection,
        *,
        manager: Manager | None = None,
        own_units: Iterable[str] = (),
        engine_listed: bool = False,
        places: Places | None = None,
        settings_for: SettingsFor = nothing_configured,
        run_blocking: RunBlocking = in_thread,
    ) -> None:
        self._selection = selection
        self._manager = manager or Manager()
        self._own_units = tuple(own_units)
        self._engine_listed = engine_listed
        self._places = places or Places()
        self._settings_for = settings_for
        self._run_blocking = run_blocking
        self._kept: tuple[float, Mapping[str, str], Listing] | None = None
        memory = CompanionMemory(self._places.memory, run_blocking)
        self._companions = Companions(self._manager, memory)
        self._closed = anyio.Event()

    async def list(self) -> Listing:
        """Every listed unit in which something runs. [Runtime.list]"""
        now_seconds = anyio.current_time()
        up = await self._lives()
        if self._kept is not None and up is not None:
            taken_seconds, up_then, listing = self._kept
            if up == up_then and now_seconds - taken_seconds < KEPT_SECONDS:
                return listing
        found = await self._manager.wholes(self._selection.patterns)
        listing = await self._run_blocking(partial(self._listing, found))
        self._kept = None if up is None else (now_seconds, up, listing)
        return listing

    async def watch(self) -> AsyncIterator[Change]:
        """Compare what is up each second. [Runtime.watch]

        Where systemd does not tell it by files there are no hints, and looks come by time.
        """
        known = await self._lives() or {}
        while not self._closed.is_set():
            with anyio.move_on_after(WATCH_SECONDS):
                await self._closed.wait()
            now = await self._lives() or {}
            for name, _ in sorted(known.items() - now.items()):
                if self._selection.may_cover(name):
                    yield Change(kind=ChangeKind.ENDED, runtime_id=name)
            for name, _ in sorted(now.items() - known.items()):
                if self._selection.may_cover(name):
                    yield Change(kind=ChangeKind.STARTED, runtime_id=name)
            known = now

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        """`systemctl stop`, and SIGKILL to what is left after the grace. [Runtime.stop]"""
        if pod.namespace != NAMESPACE or not self._selection.covers(pod.name):
            return StopOutcome(result=StopResult.NOT_FOUND)

        async def judge(whole: Whole) -> StopOutcome | None:
            return await self._objection(pod, whole)

        outcome = await self._manager.stop(pod.name, grace_seconds, judge)
        self._kept = None
        return outcome

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        """`systemctl start`, and of what was stopped with it. [Runtime.start]"""
        if namespace != NAMESPACE or not self._selection.covers(name) or runtime_id != name:
            return StartOutcome(result=StartResult.NOT_FOUND, why="it is no listed unit")
        self._kept = None
        if not name.endswith(".slice"):
            return await self._companions.start_unit(name)
        try:
            return await self._companions.start_slice(name)
        except EvictdError as error:
            return StartOutcome(result=StartResult.FAILED, why=str(error))

    async def close(self) -> None:
        """End the watch. [Runtime.close]"""
        self._closed.set()

    async def _lives(self) -> dict[str, str] | None:
        return await self._run_blocking(partial(lives.lives, self._places.run))

    def _listing(self, listed: Wholes) -> Listing:
        """Everything about each; blocks on small files."""
        found = hierarchies.locate(self._places.cgroup)
        rights = self._rights()
        running = [
            whole
            for whole in sorted(listed.outermost, key=lambda one: one.unit.id)
            if whole.runs and not never.is_container(whole.unit.id)
        ]
        doubts = {whole.unit.id: self._problem(whole.unit, found) for whole in running}
        taken = [whole for whole in running if doubts[whole.unit.id] is None]
        names = {whole.unit.id for whole in taken}
        workloads = tuple(
            Workload(
                pod=pods.pod(whole, self._settings_for, rights, names),
                whereabouts=_whereabouts(whole.unit, found),
            )
            for whole in taken
        )
        problems = (
            *((f"more than {UNITS_MAX} units are listed",) if listed.cut else ()),
            *(problem for problem in doubts.values() if problem is not None),
            *_spared(workloads),
        )
        return Listing(workloads=workloads, complete=not listed.cut, problems=problems)

    def _problem(self, unit: Unit, found: hierarchies.Hierarchies) -> str | None:
        """Why a unit that runs is no workload: its name, or a container that it is around."""
        if (problem := pods.name_problem(unit)) is not None:
            return problem
        if not self._engine_listed or unit.is_slice or not unit.control_group:
            return None
        for folder in groups.find(found, unit.control_group).folders:
            if (owner := owners.owner_inside(folder, systemd_runs=False)) is not None:
                return f"{unit.id} runs a container, which is listed by {owner}"
        return None

    def _rights(self) -> Rights:
        told = lines(hierarchies.text(self._places.own_process / "cgroup") or "")
        paths = {line.split(":", 2)[2] for line in told if line.count(":") >= 2}
        return Rights(
            covers=self._selection.covers,
            own_groups=frozenset(paths - {"/"}),
            own_units=self._own_units,
        )

    async def _objection(self, pod: PodReference, whole: Whole) -> StopOutcome | None:
        """The last look: is it still that life, and may it be stopped."""
        if not whole.runs:
            return StopOutcome(result=StopResult.NOT_FOUND)
        if whole.uid != pod.uid:
            return StopOutcome(result=StopResult.OTHER_UID)
        rights = await self._run_blocking(self._rights)
        found = pods.pod(whole, self._settings_for, rights, ())
        if found.protected:
            reason = found.annotations.get(pods.REASON)
            why = "it is protected" + (f": {reason}" if reason else "")
            return StopOutcome(result=StopResult.REFUSED, why=why)
        await self._companions.remember(whole)
        return None


def _whereabouts(unit: Unit, found: hierarchies.Hierarchies) -> Whereabouts:
    path = unit.control_group
    group = groups.find(found, path) if path else groups.Group(path=path)
    return Whereabouts(
        memory_cgroup=_name(group.memory),
        pids_cgroup=_name(group.pids),
        unified_cgroup=_name(group.unified),
        main_process_id=unit.main_process_id,
    )


def _name(folder: Path | None) -> str | None:
    return None if folder is None else str(folder)


def _spared(workloads: Iterable[Workload]) -> tuple[str, ...]:
    """One sentence about what is listed in vain."""
    reasons = [
        f"{workload.pod.name} ({why})"
        for workload in workloads
        if (why := workload.pod.annotations.get(pods.REASON)) is not None
    ]
    if not reasons:
        return ()
    more = f" and {len(reasons) - NAMED_MAX} more" if len(reasons) > NAMED_MAX else ""
    return (f"listed, and yet never stopped: {', '.join(reasons[:NAMED_MAX])}{more}",)
