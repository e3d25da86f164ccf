"""How long from memory falling below its line until SIGTERM reaches the workload.

As root, from the project's folder:

    python -m benchmarks.crossing [RUNS]

A control group of 1 GiB is the machine; one process in it takes memory at a steady rate. The moment
of the crossing is read from the group itself every two milliseconds; the process tells when SIGTERM
reached it. Both are on the boot clock. Prints figures, asserts nothing.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.lab.conftest import CAP_BYTES, make_capped_cgroup
from tests.lab.node import Node
from tests.lab.workloads import MIB, Appetite, workloads

from evictd.collector.sources import cgroup_memory

LINE_MIB = 200
RATES_MIB = (50, 150, 600)
"""A leak that is quick, a program that starts, one that runs away: a second of each is 5, 15 and
60 per cent of the machine."""
RUNS = 7
LOOK_SECONDS = 0.002
REST_SECONDS = 2.0
"""At most, before each run: where between two looks of evictd it begins is left to chance."""
SETTINGS: dict[str, Any] = {
    "mode": "act",
    "profile": "kubelet",
    "evictionHard": {"memory.available": f"{LINE_MIB}Mi"},
    "evictionPressureTransitionPeriod": "1s",
}


@dataclass(frozen=True, kw_only=True)
class Run:
    """Seconds after the crossing, and what was left at the end, in MiB."""

    observed_seconds: float
    sigterm_seconds: float
    left_mib: float


class Crossing(threading.Thread):
    """Reads the group until its memory falls below the line, then notes the least that was left."""

    def __init__(self, cgroup: Any) -> None:
        super().__init__()
        self.boot_seconds: float | None = None
        self.least_mib = float("inf")
        self._cgroup = cgroup
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            found = cgroup_memory.read(self._cgroup.memory)
            left_mib = (CAP_BYTES - found.working_set_bytes) / MIB if found else self.least_mib
            self.least_mib = min(self.least_mib, left_mib)
            if self.boot_seconds is None and left_mib < LINE_MIB:
                self.boot_seconds = time.clock_gettime(time.CLOCK_BOOTTIME)

    def close(self) -> None:
        """Stop reading."""
        self._over.set()
        self.join()


def crossed(node: Node, cgroup: Any, number: int, rate_mib: int) -> Run:
    """One workload of a fresh name takes everything until it is stopped."""
    name, cleared = f"greedy-{number}", len(node.hears.events("NodeHasSufficientMemory"))
    appetite = {name: Appetite(top_mib=1000, mib_a_second=rate_mib)}
    with workloads(cgroup, node.folder, appetite) as running:
        node.until("it is seen", lambda: node.pod(name), 30)
        threading.Event().wait(random.uniform(0, REST_SECONDS))  # noqa: S311 - no secret
        crossing = Crossing(cgroup)
        crossing.start()
        running[name].begin()
        sigterm_seconds = running[name].told()
        crossing.close()
        node.until("memory is back", lambda: _events(node) > cleared, 30)
    crossing_seconds = crossing.boot_seconds or sigterm_seconds
    below = (
        message.boot_seconds
        for message in node.hears.all("observation")
        if message.boot_seconds > crossing_seconds and _available(message) < LINE_MIB * MIB
    )
    return Run(
        observed_seconds=next(below) - crossing_seconds,
        sigterm_seconds=sigterm_seconds - crossing_seconds,
        left_mib=crossing.least_mib,
    )


def _available(message: Any) -> float:
    return float(message.content["signals"]["memory.available"]["available"])


def _events(node: Node) -> int:
    return len(node.hears.events("NodeHasSufficientMemory"))


def row(kind: str, rate_mib: int, runs: list[Run]) -> str:
    """Median and range, in milliseconds."""

    def spread(figures: list[float], unit: float) -> str:
        low, middle, high = (unit * pick(figures) for pick in (min, median, max))
        return f"{middle:.0f} ({low:.0f} to {high:.0f})"

    observed = spread([run.observed_seconds for run in runs], 1000)
    stopped = spread([run.sigterm_seconds for run in runs], 1000)
    left = spread([run.left_mib for run in runs], 1)
    return f"| {kind} | {rate_mib} | {observed} | {stopped} | {left} |"


def measure(count: int) -> None:
    """Every rate, in both layouts."""
    print(f"{count} runs each; line {LINE_MIB} MiB of {CAP_BYTES // MIB} MiB")  # noqa: T201
    print("| layout | MiB/s | observed, ms | SIGTERM, ms | least left, MiB |")  # noqa: T201
    print("|---|---|---|---|---|")  # noqa: T201
    for kind in ("separate", "joined"):
        cgroup = make_capped_cgroup(f"evictd-bench-{os.getpid()}")
        try:
            with tempfile.TemporaryDirectory() as folder:
                node = Node(folder=Path(folder), settings=_settings(cgroup))
                with node.separate() if kind == "separate" else node.joined():
                    for rate_mib in RATES_MIB:
                        numbers = range(rate_mib * 1000, rate_mib * 1000 + count)
                        runs = [crossed(node, cgroup, number, rate_mib) for number in numbers]
                        print(row(kind, rate_mib, runs), flush=True)  # noqa: T201
        finally:
            cgroup.remove()


def _settings(cgroup: Any) -> dict[str, Any]:
    """The group is the machine, and its children are the workloads."""
    path = f"/{cgroup.name}"
    runtimes = {"docker": {"enabled": False}, "cgroup": {"parent": path}}
    return {**SETTINGS, "sources": {"memory": {"cgroup": path}, "runtimes": runtimes}}


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
