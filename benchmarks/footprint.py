"""What evictd costs a machine on which nothing happens.

From the project's folder:

    python -m benchmarks.footprint [SECONDS]

Starts evictd in both layouts with the shipped rhythm (a look every 10 s, a glance at memory up to
ten times a second where it is short), leaves it alone, and prints resident and proportional memory
and the share of one core that each process used. Asserts nothing.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.lab.node import Node

SECONDS = 60.0
SETTLE_SECONDS = 5.0
"""Starting is not counted."""
KIB = 1024
SETTINGS = {"mode": "observe", "sources": {"runtimes": {"docker": {"enabled": False}}}}


def memory_mib(process: int) -> tuple[float, float]:
    """Resident and proportional size; what processes share is counted once in the second."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return sizes["Rss"] / KIB, sizes["Pss"] / KIB


def processor_seconds(process: int) -> float:
    """User and system time since its start."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle(node: Node, kind: str, seconds: float) -> None:
    """One row for each process."""
    processes = {name: process.pid for name, process in node.processes.items()}
    if node.mosquitto is not None:
        processes["mosquitto"] = node.mosquitto.pid
    threading.Event().wait(SETTLE_SECONDS)
    began = time.monotonic()
    before = {name: processor_seconds(process) for name, process in processes.items()}
    threading.Event().wait(seconds)
    passed = time.monotonic() - began
    for name, process in processes.items():
        resident, proportional = memory_mib(process)
        share = 100 * (processor_seconds(process) - before[name]) / passed
        print(f"| {kind} | {name} | {resident:.0f} | {proportional:.0f} | {share:.2f} |")  # noqa: T201


def measure(seconds: float) -> None:
    """Both layouts."""
    print("| layout | process | resident, MiB | proportional, MiB | % of one core |")  # noqa: T201
    print("|---|---|---|---|---|")  # noqa: T201
    for kind in ("separate", "joined"):
        with tempfile.TemporaryDirectory() as folder:
            node = Node(folder=Path(folder), settings=dict(SETTINGS))
            with node.separate() if kind == "separate" else node.joined():
                idle(node, kind, seconds)


if __name__ == "__main__":
    measure(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
