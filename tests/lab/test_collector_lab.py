"""The collector on a real kernel: a capped group as the node, stalls, file systems, process ids."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.lab.patience import PATIENCE

from evictd.collector import Collector
from evictd.collector.stalls import KernelStalls, register
from evictd.runtimes.cgroup import CgroupRuntime
from evictd.shell.blocking import in_thread
from evictd.shell.bus import Delivery, Listing, Router
from evictd.shell.clock import SystemClock
from evictd.shell.epoch import Epoch
from evictd.shell.inbox import Inbox
from evictd.shell.journal import MemoryJournal
from evictd.shell.supervise import Outside
from evictd_schemas import Event, Observation, Pod, topics
from evictd_schemas.sources import MemorySource, PidSource, Sources

NODE = "lab"
MIB = 1 << 20
STALL = "psi.memory.some.avg10"
HOG = """
import mmap, sys, time
sys.stdin.readline()
held = mmap.mmap(-1, int(sys.argv[1]), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for offset in range(0, len(held), 4096):
    held[offset] = 1
print("held", flush=True)
time.sleep(60)
"""
THRASH = """
import mmap, sys
sys.stdin.readline()
with open(sys.argv[1], "rb") as file:
    held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
while True:
    for offset in range(0, len(held), 4096):
        held[offset]
"""
SLEEPERS = """
import subprocess, sys
sys.stdin.readline()
children = [subprocess.Popen(["sleep", "60"]) for _ in range(int(sys.argv[1]))]
print("held", flush=True)
children[0].wait()
"""
FILE_SYSTEMS = """
import json, os, subprocess, sys
from pathlib import Path
from evictd.collector.sources import filesystems
folder, proc = Path(sys.argv[1]), Path("/proc")
nodefs, imagefs, bound = folder / "nodefs", folder / "imagefs", folder / "bound"
for place in (nodefs, imagefs, bound):
    place.mkdir()
image = folder / "image"
with image.open("wb") as file:
    file.truncate(64 << 20)
subprocess.run(["mkfs.ext4", "-q", "-N", "2048", "-m", "0", image], check=True)
subprocess.run(["mount", "-o", "loop", image, nodefs], check=True)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m,nr_inodes=1000", "tmpfs", imagefs],
               check=True)
subprocess.run(["mount", "--bind", imagefs, bound], check=True)
def figures(place):
    system = filesystems.read(str(place), proc)
    return [system.device, system.available_bytes, system.capacity_bytes, system.inodes_free,
            system.inodes]
said = {"nodefs": figures(nodefs), "imagefs": figures(imagefs), "bound": figures(bound)}
(imagefs / "blob").write_bytes(b"x" * (24 << 20))
for number in range(500):
    (nodefs / str(number)).touch()
said |= {"fuller": figures(nodefs), "filled": figures(imagefs)}
print(json.dumps(said))
"""

Start = Callable[..., "subprocess.Popen[str]"]


class Watcher:
    """What the collector published."""

    filters = (topics.OBSERVATION.at(NODE), topics.EVENT.everywhere(NODE))

    def __init__(self) -> None:
        self.observations: list[Observation] = []
        self.events: list[Event] = []

    def deliver(self, delivery: Delivery) -> None:
        if "/events/" in delivery.topic:
            self.events.append(msgspec.json.decode(delivery.payload, type=Event))
        else:
            self.observations.append(msgspec.json.decode(delivery.payload, type=Observation))

    def listed(self, listing: Listing) -> None:
        """Everything comes live."""

    def tells(self, *signals: str) -> bool:
        """Whether the newest has them all; a look goes on without a source that is slow."""
        return bool(self.observations) and set(signals) <= set(self.observations[-1].signals)

    def available(self, signal: str) -> float:
        return self.observations[-1].signals[signal].available

    def pod(self, name: str) -> Pod | None:
        pods = self.observations[-1].pods or ()
        return next((pod for pod in pods if pod.name == name), None)


async def eventually(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until something is true of a real machine, at most that long."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds * PATIENCE
    while not condition():
        assert loop.time() < deadline, f"not within {seconds * PATIENCE:g} s"
        await asyncio.sleep(0.02)


@asynccontextmanager
async def collecting(sources: Sources, runtimes: tuple[Any, ...] = ()) -> AsyncIterator[Watcher]:
    """A collector with threads, the machine's clock and the kernel's own triggers."""
    router, watcher, clock = Router(), Watcher(), SystemClock()
    router.attach(watcher)
    outside: Outside[Any, Any, Any] = Outside(
        node=NODE,
        scope=NODE,
        bus=router,
        epoch=Epoch(1),
        inbox=Inbox(clock),
        clock=clock,
        journal=MemoryJournal(),
        run_blocking=in_thread,
        rules=lambda _: None,
    )
    task = asyncio.create_task(Collector(outside, sources, runtimes).run())
    try:
        await eventually(lambda: watcher.tells("memory.available", "pid.available"))
        yield watcher
    finally:
        outside.inbox.close()
        await task


def scoped(name: str, interval_seconds: float = 0.2) -> Sources:
    """A group as the whole node."""
    return Sources(
        memory=MemorySource(cgroup=f"/{name}"),
        pids=PidSource(cgroup=f"/{name}"),
        interval_seconds=interval_seconds,
    )


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program inside a group, waiting for its word; all are ended afterwards."""
    running: list[subprocess.Popen[str]] = []

    def begin(group: Any, program: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        group.add(process.pid)
        return process

    yield begin
    for process in running:
        with process:  # its children may still hold the pipes, so that nothing is read from them
            process.kill()


def go(process: subprocess.Popen[str]) -> None:
    """Let a started program do its work."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


async def test_a_capped_group_is_a_small_node_with_its_workloads(
    capped_cgroup: Any, start: Start
) -> None:
    """Limit less working set, and the workload's own usage beside it."""
    web = await in_thread(lambda: capped_cgroup.child("web"))
    hog = await in_thread(lambda: start(web, HOG, 300 * MIB))
    runtime = CgroupRuntime(capped_cgroup.name, own_process_id=os.getpid())
    async with collecting(scoped(capped_cgroup.name), (runtime,)) as seen:
        await eventually(lambda: seen.pod("web"))
        before = seen.available("memory.available")
        await in_thread(lambda: go(hog))
        await eventually(lambda: before - seen.available("memory.available") > 290 * MIB)
        assert seen.observations[-1].signals["memory.available"].capacity == 1024 * MIB
        await eventually(lambda: _working_set(seen, "web") > 290 * MIB)
        pod = seen.pod("web")
        assert pod is not None
        assert pod.stats is not None
        assert pod.stats.process_stats is not None
        assert pod.stats.process_stats.process_count == 1
        await eventually(lambda: seen.observations[-1].pods_complete)
        await in_thread(hog.kill)
        await eventually(lambda: seen.pod("web") is None and seen.observations[-1].pods_complete)
    await runtime.close()


async def test_memory_that_goes_fast_is_seen_at_once(capped_cgroup: Any, start: Start) -> None:
    """With looks a minute apart, 400 of 1024 MiB taken at full speed are seen within moments.

    But for less than a tenth of what there was at the last look.
    """
    web = await in_thread(lambda: capped_cgroup.child("web"))
    hog = await in_thread(lambda: start(web, HOG, 400 * MIB))
    async with collecting(scoped(capped_cgroup.name, interval_seconds=60)) as seen:
        await in_thread(lambda: go(hog))
        await in_thread(lambda: hog.stdout.readline() if hog.stdout else "")
        await eventually(lambda: seen.available("memory.available") < 624 / 0.9 * MIB, 15)


async def test_page_cache_is_not_counted_as_used(
    capped_cgroup: Any, start: Start, tmp_path: Path
) -> None:
    """A file of 150 MiB read once leaves the available memory where it was."""
    web = await in_thread(lambda: capped_cgroup.child("web"))
    blob = tmp_path / "blob"
    await in_thread(lambda: _write_uncached(blob, 150))
    program = (
        "import sys, time\nsys.stdin.readline()\nwith open(sys.argv[1], 'rb') as file:\n"
        "    while file.read(1 << 20): pass\nprint('held', flush=True)\ntime.sleep(60)\n"
    )
    reader = await in_thread(lambda: start(web, program, blob))
    async with collecting(scoped(capped_cgroup.name)) as seen:
        before = seen.available("memory.available")
        await in_thread(lambda: go(reader))
        await in_thread(lambda: reader.stdout.readline() if reader.stdout else "")
        count = len(seen.observations)
        await eventually(lambda: len(seen.observations) > count + 1)
        used = await in_thread(lambda: _usage(web.memory))
        assert used > 140 * MIB
        assert before - seen.available("memory.available") < 30 * MIB


async def test_a_real_stall_wakes_the_collector(
    capped_cgroup: Any, start: Start, tmp_path: Path
) -> None:
    """With looks a minute apart, thrashing brings one within seconds."""
    assert capped_cgroup.unified is not None
    web = await in_thread(lambda: capped_cgroup.child("web"))
    await in_thread(lambda: _limit(web.memory, 32 * MIB))
    blob = tmp_path / "blob"
    await in_thread(lambda: _write_uncached(blob, 160))
    thrash = await in_thread(lambda: start(web, THRASH, blob))
    async with collecting(scoped(capped_cgroup.name, interval_seconds=60)) as seen:
        await eventually(lambda: seen.tells(STALL))
        assert seen.available(STALL) > 90
        count = len(seen.observations)
        await in_thread(lambda: go(thrash))
        await eventually(lambda: len(seen.observations) > count, 15)
        await eventually(lambda: seen.tells(STALL) and seen.available(STALL) < 99, 15)


async def test_a_trigger_on_a_group_that_goes_is_given_back(capped_cgroup: Any) -> None:
    """The kernel reports the end for ever; the loop must not spin on it."""
    assert capped_cgroup.unified is not None
    group = await in_thread(lambda: capped_cgroup.child("short"))
    stalls = KernelStalls(in_thread)
    await stalls.arm(group.unified / "memory.pressure", lambda: None)
    assert stalls.armed
    await in_thread(group.remove)
    await eventually(lambda: not stalls.armed)


def test_a_trigger_is_granted_without_special_rights(tmp_path: Path) -> None:
    """By windows of two seconds where the kernel takes no shorter ones."""
    descriptor = register(Path("/proc/pressure/memory"))
    assert descriptor is not None
    os.close(descriptor)
    assert register(tmp_path / "nowhere") is None


async def test_the_parent_s_budget_of_process_ids_counts(capped_cgroup: Any, start: Start) -> None:
    await in_thread(lambda: (capped_cgroup.pids / "pids.max").write_text("60"))
    web = await in_thread(lambda: capped_cgroup.child("web"))
    sleepers = await in_thread(lambda: start(web, SLEEPERS, 50))
    runtime = CgroupRuntime(capped_cgroup.name, own_process_id=os.getpid())
    async with collecting(scoped(capped_cgroup.name), (runtime,)) as seen:
        await in_thread(lambda: go(sleepers))
        await eventually(lambda: seen.available("pid.available") == 9)
        assert seen.observations[-1].signals["pid.available"].capacity == 60
        await eventually(lambda: _process_count(seen, "web") == 51)
    await runtime.close()


async def test_a_kill_by_the_kernel_names_its_victim(capped_cgroup: Any, start: Start) -> None:
    """The hog passes its group's limit; its neighbour in the group keeps the group alive."""
    web = await in_thread(lambda: capped_cgroup.child("web"))
    await in_thread(lambda: _limit(web.memory, 48 * MIB))
    await in_thread(lambda: start(web, SLEEPERS, 1))
    hog = await in_thread(lambda: start(web, HOG, 200 * MIB))
    runtime = CgroupRuntime(capped_cgroup.name, own_process_id=os.getpid())
    async with collecting(scoped(capped_cgroup.name), (runtime,)) as seen:
        await eventually(lambda: seen.pod("web"))
        await in_thread(lambda: go(hog))
        await eventually(lambda: seen.events)
    await runtime.close()
    event = seen.events[0]
    assert event.data["reason"] == "SystemOOM"
    assert event.subject == f"{capped_cgroup.name}/web"


def test_file_systems_are_told_apart_by_their_devices(tmp_path: Path) -> None:
    """ext4 on a loop device and tmpfs, in a mount name space of their own; a bind is the same."""
    finished = subprocess.run(
        ["unshare", "-m", "--propagation", "private", sys.executable, "-c", FILE_SYSTEMS, tmp_path],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    said = json.loads(finished.stdout)
    device, available, capacity, free, inodes = range(5)
    assert said["nodefs"][device] != said["imagefs"][device] == said["bound"][device]
    assert said["nodefs"][inodes] == 2048
    assert said["imagefs"][capacity] == 32 * MIB
    assert said["imagefs"][available] - said["filled"][available] >= 24 * MIB
    assert said["nodefs"][free] - said["fuller"][free] == 500
    assert tmp_path.as_posix() not in Path("/proc/self/mountinfo").read_text()


def _working_set(seen: Watcher, name: str) -> int:
    pod = seen.pod(name)
    if pod is None or pod.stats is None or pod.stats.memory is None:
        return 0
    return pod.stats.memory.working_set_bytes or 0


def _process_count(seen: Watcher, name: str) -> int:
    pod = seen.pod(name)
    if pod is None or pod.stats is None or pod.stats.process_stats is None:
        return 0
    return pod.stats.process_stats.process_count or 0


def _limit(memory_group: Path, bytes_max: int) -> None:
    """On v1 and v2."""
    first = memory_group / "memory.limit_in_bytes"
    (first if first.exists() else memory_group / "memory.max").write_text(str(bytes_max))


def _usage(memory_group: Path) -> int:
    """Page cache included, on v1 and v2."""
    first = memory_group / "memory.usage_in_bytes"
    return int((first if first.exists() else memory_group / "memory.current").read_text())


def _write_uncached(blob: Path, mebibytes: int) -> None:
    """A file on disk that is not in the page cache yet."""
    with blob.open("wb") as file:
        for _ in range(mebibytes):
            file.write(os.urandom(MIB))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
