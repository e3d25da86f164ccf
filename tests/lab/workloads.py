"""Four workloads below one capped cgroup: one important, one that fills the page cache, one greedy,
one modest. Real processes that tell when SIGTERM reaches them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MIB = 1 << 20
CACHE_MIB = 150

PROGRAM = """
import json, mmap, signal, sys, threading, time
top_mib, mib_a_second, cache, deaf = json.loads(sys.argv[1])
def told(number, frame):
    print(json.dumps(time.clock_gettime(time.CLOCK_BOOTTIME)), flush=True)
    if not deaf:
        sys.exit(0)
signal.signal(signal.SIGTERM, told)
print(json.dumps("ready"), flush=True)
sys.stdin.readline()
if cache:
    with open(cache, "rb") as file:
        while file.read(1 << 20):
            pass
held, began = [], time.monotonic()
for mib in range(4, top_mib + 1, 4):
    piece = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    piece.write(b"x" * (4 << 20))
    held.append(piece)
    time.sleep(max(0.0, began + mib / mib_a_second - time.monotonic()))
while True:
    time.sleep(60)
"""
"""Waits for a line, reads a file into the page cache, takes memory at a steady rate, keeps it."""


@dataclass(frozen=True, kw_only=True)
class Appetite:
    """What one workload takes, in MiB and MiB a second; `deaf` ignores SIGTERM but tells of it."""

    top_mib: int = 20
    mib_a_second: int = 400
    reads_cache: bool = False
    deaf: bool = False


APPETITES = {
    "critical": Appetite(top_mib=300),
    "cachey": Appetite(reads_cache=True),
    "greedy": Appetite(top_mib=900, mib_a_second=150),
    "modest": Appetite(top_mib=60),
}
"""Together more than the cap; the greedy one is still growing when the line is crossed."""


class Workload:
    """One process in a cgroup of its own, child of this one."""

    def __init__(self, parent: Any, name: str, appetite: Appetite, cache: Path | None) -> None:
        self.name = name
        self.cgroup = parent.child(name)
        read = str(cache) if appetite.reads_cache else None
        words = json.dumps([appetite.top_mib, appetite.mib_a_second, read, appetite.deaf])
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.cgroup.add(self.process.pid)
        assert self._line() == "ready"

    @property
    def lives(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def begin(self) -> None:
        """Let it take what it takes."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def told(self) -> float:
        """Wait for SIGTERM to reach it. Returns the boot time at which it did, in seconds."""
        return float(self._line())

    def end(self) -> list[float]:
        """End it. Returns the boot times, in seconds, at which SIGTERM reached it and
        that `told` has not returned."""
        self.process.kill()
        printed, _ = self.process.communicate()
        return [float(json.loads(line)) for line in printed.splitlines()]

    def _line(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


@contextmanager
def workloads(
    parent: Any, folder: Path, appetites: dict[str, Appetite]
) -> Iterator[dict[str, Workload]]:
    """Started, each waiting for its `begin`; all are ended afterwards."""
    cache = folder / "cache"
    if any(appetite.reads_cache for appetite in appetites.values()):
        _write_uncached(cache)
    started: dict[str, Workload] = {}
    try:
        for name, appetite in appetites.items():
            started[name] = Workload(parent, name, appetite, cache)
        yield started
    finally:
        for workload in started.values():
            workload.end()
        cache.unlink(missing_ok=True)


def _write_uncached(file: Path) -> None:
    """A file on disk that is not in the page cache yet."""
    with file.open("wb") as opened:
        opened.write(os.urandom(MIB) * CACHE_MIB)
        opened.flush()
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
