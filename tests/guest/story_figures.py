"""Figures of control groups v2 that only a machine with swap and every right has."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.conftest import until
from tests.lab.workloads import MIB, Appetite, workloads

from evictd.collector import stalls
from evictd.collector.sources import memory
from evictd.collector.sources.workloads import memory_statistics
from evictd.collector.stalls import KernelStalls
from evictd.runtimes import Whereabouts
from evictd.runtimes.hierarchies import locate
from evictd.shell.blocking import in_thread

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")
SWAP_MIB = 256
LIMIT_MIB = 64
TAKEN_MIB = 160
PATIENCE_SECONDS = 60


@pytest.fixture
def swap(tmp_path: Path) -> Iterator[None]:
    """A swap file, used until the story ends."""
    file = tmp_path / "swap"
    file.write_bytes(bytes(SWAP_MIB * MIB))
    file.chmod(0o600)
    subprocess.run(["mkswap", file], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["swapon", file], check=True)
    yield
    subprocess.run(["swapoff", file], check=True)


def test_a_machine_without_swap_has_no_such_signal() -> None:
    """That is not swap used up."""
    assert "swap.available" not in memory.read(PROC, locate(CGROUPS), None)


def test_what_a_group_has_swapped_out_is_seen_in_the_machine_s_swap_and_its_own(
    swap: None, capped_cgroup: Any, tmp_path: Path
) -> None:
    """A group of 64 MiB holds 160: the rest is in swap, and is told of the group."""
    appetite = {"web": Appetite(top_mib=TAKEN_MIB)}
    with workloads(capped_cgroup, tmp_path, appetite) as running:
        web = running["web"]
        (web.cgroup.memory / "memory.max").write_text(str(LIMIT_MIB * MIB))
        before = memory.read(PROC, locate(CGROUPS), None)["swap.available"]
        assert SWAP_MIB * MIB - before.capacity < MIB
        web.begin()
        until(lambda: _held_bytes(web.cgroup.memory) >= TAKEN_MIB * MIB)
        where = Whereabouts(memory_cgroup=str(web.cgroup.memory))
        figures = memory_statistics(where, PROC)
        after = memory.read(PROC, locate(CGROUPS), None)["swap.available"]
        assert figures is not None
        assert figures.swap_bytes is not None
        assert figures.swap_bytes >= (TAKEN_MIB - LIMIT_MIB) * MIB
        assert before.available - after.available >= (TAKEN_MIB - LIMIT_MIB) * MIB
        (web.cgroup.memory / "memory.swap.max").write_text(str(SWAP_MIB // 2 * MIB))
        own = memory.read(PROC, locate(CGROUPS), f"{capped_cgroup.name}/web")
        assert own["memory.available"].capacity == LIMIT_MIB * MIB
        assert own["swap.available"].capacity == SWAP_MIB // 2 * MIB
        assert own["swap.available"].available <= (SWAP_MIB // 2 - TAKEN_MIB + LIMIT_MIB) * MIB


async def test_a_stall_is_told_in_windows_of_one_second(
    capped_cgroup: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short window is granted, and a group at its memory.high wakes who watches it."""
    monkeypatch.setattr(stalls, "WINDOWS_MICROSECONDS", (1_000_000,))
    woken = asyncio.Event()
    watch = KernelStalls(in_thread)
    started = workloads(capped_cgroup, tmp_path, {"web": Appetite(top_mib=TAKEN_MIB)})
    running = await in_thread(started.__enter__)
    try:
        web = running["web"]
        await in_thread(lambda: _write(web.cgroup.memory / "memory.high", LIMIT_MIB * MIB))
        await watch.arm(web.cgroup.memory / "memory.pressure", woken.set)
        assert watch.armed
        await in_thread(web.begin)
        await asyncio.wait_for(woken.wait(), PATIENCE_SECONDS)
    finally:
        watch.disarm()
        await in_thread(lambda: started.__exit__(None, None, None))


def _held_bytes(group: Path) -> int:
    """In memory and in swap."""
    names = ("memory.current", "memory.swap.current")
    return sum(int((group / name).read_text()) for name in names)


def _write(file: Path, amount: int) -> None:
    file.write_text(str(amount))
