"""All sources of one machine, and one look at them together.

A look never waits for a slow source: it takes the newest that each has said, tells how old that is,
and says when the list of workloads is not whole.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from evictd.collector import composition, faults
from evictd.collector.census import Census
from evictd.collector.composition import Look
from evictd.collector.endings import Endings
from evictd.collector.listings import Listings
from evictd.collector.probe import Probe
from evictd.collector.sources import (
    filesystems,
    kills,
    memory,
    pids,
    pressure,
    storage,
    workloads,
)
from evictd.collector.sources.filesystems import FileSystem
from evictd.collector.sources.storage import Occupied
from evictd.collector.sources.workloads import Measured
from evictd.collector.told_usage import ToldUsage
from evictd.core.moments import Now
from evictd.core.signals import disks
from evictd.runtimes import Runtime
from evictd.runtimes.hierarchies import Hierarchies, locate
from evictd.shell.blocking import RunBlocking
from evictd.shell.clock import Clock
from evictd_schemas import Layout, SignalReading
from evictd_schemas.sources import Sources

STORAGE_DEADLINE_SECONDS = 300.0
"""A count may take long: it walks through writable layers, on whatever disk they are."""
PATIENCE_SECONDS = 0.1
"""How long a look waits for its sources; kernel files and a healthy engine take less."""

SILENT_SECONDS = 2.0
"""A source that has been asked for so long is told as silent, long before its deadline."""

T = TypeVar("T")
Signals = dict[str, SignalReading]


class Seen(Struct, frozen=True, kw_only=True):
    """One look, and what there is to tell besides: sources that fail, problems, kernel kills."""

    look: Look
    measured: tuple[Measured, ...]
    kill_count: int | None
    failures: dict[str, str]
    problems: tuple[str, ...]


class Sight:
    """The probes of a machine. `answered` is called when a source answers after its look."""

    def __init__(
        self,
        *,
        sources: Sources,
        runtimes: Sequence[Runtime],
        clock: Clock,
        run_blocking: RunBlocking,
        answered: Callable[[str], None],
    ) -> None:
        self._sources = sources
        self._clock = clock
        self._run_blocking = run_blocking
        self._answered = answered
        self._proc = Path(sources.proc_path)
        self._devices: dict[str, str] = {}
        self._places = disks.places(sources.file_systems)
        self._measured: tuple[Measured, ...] = ()
        self._stalls: Probe[Signals] = self._probe("stalls", self._stalled)
        self._gauges = self._gauge_probes()
        self._systems = self._system_probes()
        self._mounts: Probe[dict[str, str]] = self._probe("mounts", self._mounted_devices)
        self._kills: Probe[int | None] = self._probe(
            "kernel kills", lambda: kills.machine_count(self._proc)
        )
        self._listings = Listings(runtimes, clock, answered)
        self._endings = Endings()
        self._storage: Probe[dict[str, Occupied]] = Probe(
            "workload storage",
            lambda: self._run_blocking(self._occupied),
            clock,
            deadline_seconds=STORAGE_DEADLINE_SECONDS,
        )
        self._census = Census(sources.interval_seconds)
        self._accounted = True
        self._told = ToldUsage(runtimes, clock)
        self._usage: Probe[tuple[Measured, ...]] = self._probe("workload usage", self._measure)

    def hierarchies(self) -> Hierarchies:
        """Where the control groups are now; blocks."""
        return locate(Path(self._sources.cgroup_path))

    def memory(self) -> SignalReading:
        """The memory signal alone; blocks. Raises `HostError` as its source does."""
        signals = memory.read(self._proc, self.hierarchies(), self._sources.memory.cgroup)
        return signals[memory.MEMORY]

    def _stalled(self) -> Signals:
        return pressure.read(self._proc, self.hierarchies(), self._sources.memory.cgroup)

    def stall_file(self) -> Path | None:
        """The pressure file of the memory signal's own scope; blocks."""
        places = pressure.pressure_files(
            self._proc, self.hierarchies(), self._sources.memory.cgroup
        )
        return places.get("memory")

    async def look(self, tasks: TaskGroup) -> Seen:
        """Read everything once, as far as it answers in time."""
        now = self._clock.now()
        await self._read(tasks, [*self._machine_probes(), *self._listings.probes])
        whole, problems = self._listings.take()
        before = self._lives()
        await self._read(tasks, [self._usage])
        self._take_usage()
        if before - self._lives():
            await self._read_again(tasks)
        signals = self._signals(now)
        occupied = self._take_storage(tasks, now)
        complete = whole == self._listings.names and self._usage.failure is None
        measured = self._told.added(tasks, now, self._measured)
        pods, doubles = composition.unique(
            storage.with_storage(look.pod, occupied) for look in measured
        )
        refused = [look.problem for look in self._measured if look.problem is not None]
        self._kills.use()
        return Seen(
            look=Look(
                now=now,
                signals=signals,
                layout=self._layout(),
                pods=self._endings.added(
                    pods, whole, complete=complete, boot_seconds=now.boot_seconds
                ),
                pods_complete=complete,
            ),
            measured=self._measured,
            kill_count=self._kills.value,
            failures=self._failures(),
            problems=(
                *faults.shortcomings(self._stalls.value, self._measured, accounted=self._accounted),
                *problems,
                *doubles,
                *refused,
                *(held.problem for held in occupied.values() if held.problem is not None),
            ),
        )

    def figures(self) -> dict[str, float]:
        """For each source how long it took last and has been waited for now, in seconds.

        And how often it has failed.
        """
        figures: dict[str, float] = {}
        for probe in self._probes():
            figures[f"{probe.name} seconds"] = round(probe.duration_seconds, 4)
            figures[f"{probe.name} waiting"] = round(probe.waiting_seconds, 3)
            figures[f"{probe.name} failures"] = probe.failures
        return figures

    def troubles(self) -> list[str]:
        """Sources that fail, and those that do not answer."""
        return [*(f"{name}: {why}" for name, why in self._failures().items()), *self.silent()]

    def silent(self) -> list[str]:
        """Sources that have been waited for too long; what counts on disk may take its time."""
        return [
            f"{probe.name} does not answer"
            for probe in self._probes()
            if probe is not self._storage
            and probe.failure is None
            and probe.waiting_seconds > SILENT_SECONDS
        ]

    async def _read(self, tasks: TaskGroup, probes: Sequence[Probe[Any]]) -> None:
        for probe in probes:
            probe.start(tasks)
        with anyio.move_on_after(PATIENCE_SECONDS):
            for probe in probes:
                await probe.settled()

    def _signals(self, now: Now) -> Signals:
        """Of every source that answers; an older answer carries its own time."""
        signals: Signals = {}
        for gauge in self._gauges:
            gauge.use()
            signals |= _timed(gauge, gauge.value or {}, now)
        for system in self._systems.values():
            system.use()
        for name, place in self._places.items():
            system = self._systems[place]
            if system.value is not None:
                self._devices[name] = system.value.device
                signals |= _timed(system, filesystems.signals(name, system.value), now)
        return signals

    def _layout(self) -> Layout:
        """By what the file systems said; for one that has never answered, by the mounts alone."""
        self._mounts.use()
        return filesystems.layout({**(self._mounts.value or {}), **self._devices})

    async def _read_again(self, tasks: TaskGroup) -> None:
        """The gauges, because somebody has gone.

        They may have been read while what it had was not free yet, and a shortage of before would
        cost the next one its life.
        """
        for gauge in self._gauges:
            gauge.use()
        await self._read(tasks, self._gauges)

    def _lives(self) -> set[str]:
        return {look.pod.uid for look in self._measured}

    def _take_usage(self) -> None:
        self._usage.use()
        if self._usage.value is not None:
            self._measured = self._usage.value

    def _take_storage(self, tasks: TaskGroup, now: Now) -> dict[str, Occupied]:
        """The last counts; new ones are begun when it is time and are not waited for."""
        self._storage.use()
        systems = {
            place: probe.value for place, probe in self._systems.items() if probe.value is not None
        }
        took_seconds = self._storage.duration_seconds
        is_idle = bool(self._listings.workloads) and not self._storage.waiting_seconds
        if is_idle and self._census.due(now.boot_seconds, took_seconds, systems):
            self._storage.start(tasks)
        return self._storage.value or {}

    def _occupied(self) -> dict[str, Occupied]:
        return self._census.round(self._listings.workloads, self._clock.now().utc)

    def _measure(self) -> tuple[Measured, ...]:
        self._accounted = self.hierarchies().memory is not None
        return workloads.measure(self._listings.workloads, self._proc)

    def _machine_probes(self) -> list[Probe[Any]]:
        return [*self._gauges, *self._systems.values(), self._mounts, self._kills]

    def _probes(self) -> list[Probe[Any]]:
        return [*self._machine_probes(), *self._listings.probes, self._usage, self._storage]

    def _failures(self) -> dict[str, str]:
        return {probe.name: probe.failure for probe in self._probes() if probe.failure is not None}

    def _probe(self, name: str, read: Callable[[], T]) -> Probe[T]:
        return Probe(name, lambda: self._run_blocking(read), self._clock, self._answered)

    def _gauge_probes(self) -> list[Probe[Signals]]:
        settings, proc = self._sources, self._proc
        return [
            self._probe(
                "memory", lambda: memory.read(proc, self.hierarchies(), settings.memory.cgroup)
            ),
            self._stalls,
            self._probe(
                "process ids", lambda: pids.read(proc, self.hierarchies(), settings.pids.cgroup)
            ),
        ]

    def _system_probes(self) -> dict[str, Probe[FileSystem]]:
        """One for each folder, so that a hung one blocks no other."""
        return {
            place: self._probe(f"file system {place}", self._system_reader(place))
            for place in self._places.values()
        }

    def _system_reader(self, place: str) -> Callable[[], FileSystem]:
        def read() -> FileSystem:
            return filesystems.read(place, self._proc)

        return read

    def _mounted_devices(self) -> dict[str, str]:
        return filesystems.mounted_devices(self._places, self._proc)


def _timed(probe: Probe[Any], signals: Signals, now: Now) -> Signals:
    if probe.taken is None or probe.taken.boot_seconds >= now.boot_seconds:
        return signals
    return composition.stamped(signals, probe.taken.utc)
