"""A machine made of files, and workloads that are only said to run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import anyio
import msgspec
import pytest
from blockbuster import blockbuster_ctx

from evictd.collector import Collector
from evictd.core.duty.outcomes import StartOutcome, StopOutcome
from evictd.core.observations import problems
from evictd.runtimes import Change, ChangeKind, Listing, Whereabouts, Workload
from evictd.shell.blocking import inline
from evictd.shell.bus import Delivery, Router
from evictd.shell.bus import Listing as BusListing
from evictd.shell.clock import LoopClock
from evictd.shell.epoch import Epoch
from evictd.shell.inbox import Inbox
from evictd.shell.journal import MemoryJournal
from evictd.shell.supervise import Outside
from evictd_schemas import Event, Observation, Pod, PodReference, topics
from evictd_schemas.sources import FileSystemSources, Sources

FIXTURES = Path(__file__).parents[2] / "fixtures"
MIB = 1 << 20
NODE = "edge"


@pytest.fixture(autouse=True)
def nothing_blocks() -> Iterator[None]:
    """As everywhere, but what `inline` runs stands for a thread, and a test may write its host."""
    with blockbuster_ctx() as guard:
        for function in guard.functions.values():
            function.can_block_in("evictd/shell/blocking.py", "inline")
            function.can_block_in("collector/conftest.py", "write")
        yield


class NoStalls:
    """Virtual time has no kernel to wake anyone."""

    armed = False

    async def arm(self, place: Path, wake: Callable[[], None]) -> None:
        """Nothing to register with."""

    def disarm(self) -> None:
        """Nothing to give back."""


class Host:
    """The files of one machine below a temporary folder, with cgroup v2."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.proc = root / "proc"
        self.cgroups = root / "cgroup"
        self.memory(available_mib=3000)
        self.pressure()
        self.write("proc/sys/kernel/pid_max", "4194304\n")
        self.write("proc/sys/kernel/threads-max", "30000\n")
        self.write("proc/sys/kernel/random/boot_id", "7e6c0d4e-5b1e-4f5e-9a1f-6c1d7f4a2b10\n")
        self.write("proc/loadavg", "0.10 0.20 0.30 2/500 4711\n")
        self.kills(0)
        self.write("cgroup/cgroup.controllers", "cpu memory pids\n")
        self.write("cgroup/memory.stat", f"anon {500 * MIB}\nfile {700 * MIB}\ninactive_file 0\n")

    def write(self, place: str, content: str) -> Path:
        """One file of the machine."""
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def fixture(self, place: str, kind: str, name: str) -> Path:
        """A captured file, put in its place."""
        return self.write(place, (FIXTURES / kind / name).read_text())

    def memory(self, available_mib: int, total_mib: int = 4096) -> None:
        """What meminfo says."""
        kib = 1024
        self.write(
            "proc/meminfo",
            f"MemTotal: {total_mib * kib} kB\nMemFree: {available_mib * kib // 2} kB\n"
            f"MemAvailable: {available_mib * kib} kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
        )

    def pressure(self, some: float = 0.0, full: float = 0.0) -> None:
        """How much the machine stalls."""
        lines = (
            f"some avg10={some:.2f} avg60=0.00 avg300=0.00 total=0\n"
            f"full avg10={full:.2f} avg60=0.00 avg300=0.00 total=0\n"
        )
        self.write("proc/pressure/memory", lines)
        self.write("proc/pressure/io", lines)

    def kills(self, count: int) -> None:
        """How many processes the kernel has killed since boot."""
        self.write("proc/vmstat", f"nr_free_pages 1\noom_kill {count}\n")

    def group(self, name: str, *, usage_mib: int, inactive_mib: int = 0, kills: int = 0) -> Path:
        """A v2 group with figures."""
        self.write(f"cgroup/{name}/memory.current", f"{usage_mib * MIB}\n")
        self.write(
            f"cgroup/{name}/memory.stat",
            f"anon {(usage_mib - inactive_mib) * MIB}\ninactive_file {inactive_mib * MIB}\n",
        )
        self.write(f"cgroup/{name}/memory.events", f"oom {kills}\noom_kill {kills}\n")
        self.write(f"cgroup/{name}/pids.current", "3\n")
        return self.root / "cgroup" / name

    def sources(self, interval_seconds: float = 10.0) -> Sources:
        """Settings that point here."""
        return Sources(
            proc_path=str(self.proc),
            cgroup_path=str(self.cgroups),
            file_systems=FileSystemSources(nodefs=str(self.root)),
            interval_seconds=interval_seconds,
        )


class SaidRuntime:
    """A runtime that lists what it is told to, as slowly as it is told to."""

    def __init__(self, name: str = "said") -> None:
        self.name = name
        self.workloads: tuple[Workload, ...] = ()
        self.problems: tuple[str, ...] = ()
        self.complete = True
        self.takes_seconds = 0.0
        self.error: Exception | None = None
        self.hints_after_seconds: list[float] = []
        self.hints_error: Exception | None = None
        self.lists = 0

    async def list(self) -> Listing:
        self.lists += 1
        if self.takes_seconds:
            await anyio.sleep(self.takes_seconds)
        if self.error is not None:
            raise self.error
        return Listing(workloads=self.workloads, complete=self.complete, problems=self.problems)

    async def watch(self) -> AsyncIterator[Change]:
        for seconds in self.hints_after_seconds:
            await anyio.sleep(seconds)
            yield Change(kind=ChangeKind.STARTED)
        if self.hints_error is not None:
            error, self.hints_error = self.hints_error, None
            raise error
        await anyio.sleep_forever()

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        raise AssertionError(f"a collector stopped {pod} within {grace_seconds}")

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        raise AssertionError(f"a collector started {namespace}/{name}, {runtime_id}")

    async def close(self) -> None:
        """Nothing to give back."""


class Watcher:
    """Keeps what the collector publishes, and when."""

    filters = (topics.OBSERVATION.at(NODE), topics.EVENT.everywhere(NODE))

    def __init__(self) -> None:
        self.observations: list[tuple[float, Observation]] = []
        self.events: list[Event] = []

    def deliver(self, delivery: Delivery) -> None:
        if "/events/" in delivery.topic:
            self.events.append(msgspec.json.decode(delivery.payload, type=Event))
        elif not delivery.listed:
            seconds = round(asyncio.get_running_loop().time(), 3)
            decoded = msgspec.json.decode(delivery.payload, type=Observation)
            previous = self.observations[-1][1] if self.observations else None
            assert problems(NODE, decoded, previous) == ()
            self.observations.append((seconds, decoded))

    def listed(self, listing: BusListing) -> None:
        """Everything comes live."""

    @property
    def times(self) -> list[float]:
        return [seconds for seconds, _ in self.observations]

    @property
    def last(self) -> Observation:
        return self.observations[-1][1]

    @property
    def reasons(self) -> list[str]:
        return [event.data["reason"] for event in self.events]


class Stage:
    """A collector that runs, its bus, and who watches it."""

    def __init__(self, sources: Sources, runtimes: tuple[Any, ...]) -> None:
        self.router = Router()
        self.watcher = Watcher()
        self.router.attach(self.watcher)
        clock = LoopClock()
        self.outside: Outside[Any, Any, Any] = Outside(
            node=NODE,
            scope=NODE,
            bus=self.router,
            epoch=Epoch(1),
            inbox=Inbox(clock),
            clock=clock,
            journal=MemoryJournal(),
            run_blocking=inline,
            rules=lambda _: None,
        )
        self.sources = sources
        self.runtimes = runtimes

    def say(self, topic: str, message: object) -> None:
        """Another worker publishes."""
        self.router.publish(topic, msgspec.json.encode(message), retain=True)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Watcher]:
        self.collector = Collector(self.outside, self.sources, self.runtimes, NoStalls())
        task = asyncio.create_task(self.collector.run())
        try:
            yield self.watcher
        finally:
            self.outside.inbox.close()
            await task


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A quiet machine of 4 GiB."""
    return Host(tmp_path)


@pytest.fixture
def runtime() -> SaidRuntime:
    """A runtime in which nothing runs yet."""
    return SaidRuntime()


@pytest.fixture
def workload() -> Callable[..., Workload]:
    """Makes one workload, measured in a folder or nowhere."""

    def make(name: str, folder: Path | None = None, **fields: object) -> Workload:
        place = None if folder is None else str(folder)
        pod = Pod(namespace="shop", name=name, uid=str(uuid5(NAMESPACE_URL, name)), runtime="said")
        return Workload(
            pod=pod,
            whereabouts=Whereabouts(
                memory_cgroup=place, pids_cgroup=place, unified_cgroup=place, **fields
            ),
        )

    return make


@pytest.fixture
def stage(host: Host, runtime: SaidRuntime) -> Stage:
    return Stage(host.sources(), (runtime,))
