"""Real control groups and real processes under the suite of all runtimes."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.contract.runtime_contract import RuntimeContract, killed_after, listed, running

from evictd.core.duty import StopResult
from evictd.runtimes.cgroup import CgroupRuntime, Places
from evictd.runtimes.settings import WorkloadSettings
from evictd_schemas import PodReference

WILLING = "{enter}; exec sleep 1000"
DEAF = "trap '' TERM; {enter}; while :; do sleep 1; done"
"""Whoever sees it in its group finds it deaf already."""


def next_tick() -> None:
    """Return in another tick of the kernel: it counts starts in ticks, and two lives in one are
    one."""
    ticks_per_second = os.sysconf("SC_CLK_TCK")

    def tick() -> int:
        return int(time.clock_gettime(time.CLOCK_BOOTTIME) * ticks_per_second)

    now = tick()
    pause = threading.Event()
    while tick() == now:
        pause.wait(0.001)


class CgroupBench:
    """Workloads in control groups below the capped one."""

    def __init__(self, parent: Any, places: Places | None = None) -> None:
        self.parent = parent
        self.protected: set[str] = set()
        self.started: dict[str, list[subprocess.Popen[bytes]]] = {}
        self.runtime = CgroupRuntime(
            f"/{parent.name}",
            own_process_id=os.getpid(),
            places=places,
            settings_for=self._settings,
        )

    def _settings(self, namespace: str, name: str) -> WorkloadSettings | None:
        assert namespace == self.parent.name
        return WorkloadSettings(protect=True) if name in self.protected else None

    async def start(self, name: str, *, deaf: bool = False, protected: bool = False) -> None:
        if protected:
            self.protected.add(name)
        await anyio.to_thread.run_sync(self.begin, name, DEAF if deaf else WILLING)

    async def end(self, name: str) -> None:
        await anyio.to_thread.run_sync(self.finish, name)

    def begin(self, name: str, script: str) -> subprocess.Popen[bytes]:
        """Start a process that is in the group before its program begins."""
        next_tick()
        folders = [folder / name for folder in self.parent.folders]
        for folder in folders:
            folder.mkdir(exist_ok=True)
        enter = "; ".join(f"echo $$ > {folder}/cgroup.procs" for folder in folders)
        process = subprocess.Popen(
            ["sh", "-c", script.format(enter=enter)], stdin=subprocess.DEVNULL
        )
        self.started.setdefault(name, []).append(process)
        return process

    def finish(self, name: str) -> None:
        """End every process of the group and take the group away."""
        for process in self.started.pop(name, []):
            process.kill()
            process.wait()
        for folder in self.parent.folders:
            for listing in (folder / name).glob("cgroup.procs"):
                for number in listing.read_text().split():
                    os.kill(int(number), signal.SIGKILL)

    def reap(self) -> None:
        """Leave no child behind."""
        for name in tuple(self.started):
            self.finish(name)


class TestCgroupRuntime(RuntimeContract):
    """What only the kernel can show."""

    starts = False

    @pytest.fixture
    async def bench(self, capped_cgroup: Any) -> AsyncIterator[CgroupBench]:
        bench = CgroupBench(capped_cgroup)
        yield bench
        await bench.runtime.close()
        await anyio.to_thread.run_sync(bench.reap)

    async def test_where_it_can_be_measured_is_told(self, bench: CgroupBench) -> None:
        """Folders that are there, and the oldest process."""
        web = await running(bench, "web")
        where = web.whereabouts
        for folder in (where.memory_cgroup, where.pids_cgroup, where.unified_cgroup):
            assert folder is not None
            assert folder.endswith(f"/{bench.parent.name}/web")
        assert where.main_process_id == bench.started["web"][0].pid

    async def test_a_group_filled_anew_is_another_life(self, bench: CgroupBench) -> None:
        """The folder may stay while its manager starts the program again."""
        first = await running(bench, "web")
        assert (await bench.runtime.stop(first.reference, 5)).result is StopResult.GONE
        second = await running(bench, "web")
        assert second.pod.uid != first.pod.uid

    async def test_every_process_beneath_the_group_ends(self, bench: CgroupBench) -> None:
        """Children that ignore the signal and nested groups included."""
        web = await running(bench, "web", deaf=True)
        outcome = await bench.runtime.stop(web.reference, 1)
        assert outcome.why.startswith("SIGTERM, then ")
        assert killed_after(outcome, 1)
        assert await anyio.to_thread.run_sync(bench.parent.processes) == set()

    async def test_the_group_that_holds_evictd_is_never_stopped(self, bench: CgroupBench) -> None:
        """Its own process in it makes it protected, whoever asks."""
        web = await running(bench, "web")
        runtime = CgroupRuntime(f"/{bench.parent.name}", own_process_id=bench.started["web"][0].pid)
        own = await listed(runtime, "web")
        assert own is not None
        assert own.pod.protected
        assert own.pod.managed_by == "evictd"
        outcome = await runtime.stop(web.reference, 0)
        assert outcome.result is StopResult.REFUSED
        assert outcome.why == "it is managed by evictd"

    async def test_the_group_of_an_engine_is_neither_listed_nor_stopped(
        self, bench: CgroupBench
    ) -> None:
        """Nor one that has an engine's group beneath it."""
        await running(bench, "web")
        await bench.start("docker")
        assert await listed(bench.runtime, "docker") is None
        reference = PodReference(namespace=bench.parent.name, name="docker", uid="any")
        outcome = await bench.runtime.stop(reference, 0)
        assert (outcome.result, outcome.why) == (StopResult.REFUSED, "it belongs to docker")
        for folder in bench.parent.folders:
            await anyio.Path(folder / "web" / "kubepods").mkdir()
        web = await listed(bench.runtime, "web")
        assert web is not None
        assert web.pod.managed_by == "kubelet"
        assert bench.started["docker"][0].poll() is None

    async def test_a_group_without_processes_is_no_workload(self, bench: CgroupBench) -> None:
        """An empty folder uses nothing."""
        for folder in bench.parent.folders:
            await anyio.Path(folder / "idle").mkdir()
        assert await listed(bench.runtime, "idle") is None

    async def test_its_limit_is_told_and_no_limit_is_none(self, bench: CgroupBench) -> None:
        """The kernel's way to write "no limit" is never a figure."""
        web = await running(bench, "web")
        assert web.pod.limits == {}
        assert web.pod.requests == {}
        limit = Path(str(web.whereabouts.memory_cgroup)) / "memory.limit_in_bytes"
        if not await anyio.Path(limit).exists():
            limit = limit.with_name("memory.max")
        await anyio.Path(limit).write_text(str(64 << 20))
        limited = await listed(bench.runtime, "web")
        assert limited is not None
        assert limited.pod.limits == {"memory": 64 << 20}


class TestV1Alone(RuntimeContract):
    """A kernel without the v2 tree: SIGKILL to each process."""

    starts = False

    @pytest.fixture
    def places(self, capped_cgroup: Any, tmp_path: Path) -> Places:
        for name, folder in (("memory", capped_cgroup.memory), ("pids", capped_cgroup.pids)):
            (tmp_path / name).symlink_to(folder.parent)
        return Places(cgroup=tmp_path)

    @pytest.fixture
    async def bench(self, capped_cgroup: Any, places: Places) -> AsyncIterator[CgroupBench]:
        bench = CgroupBench(capped_cgroup, places)
        yield bench
        await bench.runtime.close()
        await anyio.to_thread.run_sync(bench.reap)


class TestV2Alone(RuntimeContract):
    """The v2 tree alone: `cgroup.kill`."""

    starts = False

    @pytest.fixture
    async def bench(self, capped_cgroup: Any) -> AsyncIterator[CgroupBench]:
        bench = CgroupBench(capped_cgroup, Places(cgroup=capped_cgroup.unified.parent))
        yield bench
        await bench.runtime.close()
        await anyio.to_thread.run_sync(bench.reap)
