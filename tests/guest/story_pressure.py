"""A machine of control groups v2 runs short, of memory and of process ids: the right one goes.

Nobody grows on below the line, as some do in `tests/lab`: that is a race with the grace, which an
emulated machine may lose.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.lab.conftest import CAP_BYTES
from tests.lab.node import Node
from tests.lab.test_real_pressure import the_greedy_one_goes
from tests.lab.workloads import MIB, Appetite

from evictd.collector.sources import meminfo

LINE_MIB = 400
BELOW_MIB = 80
"""So far the greedy one goes below the line: above half of it, where its grace would be cut."""
OTHERS_MIB = {"critical": 300, "modest": 60}
PIDS_MAX = 60
PIDS_LINE = 20
PIDS_TAKEN = {"many": 30, "critical": 11, "few": 3}
SPAWN = """
import signal, subprocess, sys, threading
wanted = int(sys.argv[1])
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
print("ready", flush=True)
sys.stdin.readline()
children = [subprocess.Popen(["sleep", "1000"]) for _ in range(wanted)]
threading.Event().wait()
"""


def settings(parent: Any, hard: dict[str, str], **sources: Any) -> dict[str, Any]:
    """Children of the group are workloads; the sources are the machine's, unless said here."""
    return {
        "mode": "act",
        "evictionHard": hard,
        "evictionPressureTransitionPeriod": "1s",
        "workloads": {"critical": {"priority": 1000}, "*": {"priority": 100}},
        "sources": {
            "intervalSeconds": 1,
            "runtimes": {"docker": {"enabled": False}, "cgroup": {"parent": f"/{parent.name}"}},
            **sources,
        },
    }


@pytest.mark.parametrize("scope", ["group", "machine"])
def test_of_memory_the_greedy_one_gives_back(
    scope: str, capped_cgroup: Any, tmp_path: Path
) -> None:
    """SIGTERM once, evicted once, and the capped group, or the machine itself, has it again."""
    hard = {"memory.available": f"{LINE_MIB}Mi"}
    capacity = CAP_BYTES
    memory = {"cgroup": f"/{capped_cgroup.name}"}
    if scope == "machine":
        (capped_cgroup.memory / "memory.max").write_text("max")
        capacity = meminfo.read(Path("/proc")).total_bytes
        memory = {}
    node = Node(folder=tmp_path, settings=settings(capped_cgroup, hard, memory=memory))
    with node.joined():
        observed = node.hears.newest("observation")["signals"]["memory.available"]
        assert observed["capacity"] == capacity
        left_mib = int(observed["views"]["mem_available"]) // MIB - sum(OTHERS_MIB.values())
        appetites = {name: Appetite(top_mib=top_mib) for name, top_mib in OTHERS_MIB.items()}
        appetites["greedy"] = Appetite(top_mib=left_mib - LINE_MIB + BELOW_MIB)
        the_greedy_one_goes(node, capped_cgroup, tmp_path, appetites, LINE_MIB)


def test_of_process_ids_the_one_that_took_most_gives_back(
    capped_cgroup: Any, tmp_path: Path
) -> None:
    """The parent's `pids.max` is the budget; it is the important one who crosses the line."""
    (capped_cgroup.pids / "pids.max").write_text(str(PIDS_MAX))
    hard = {"pid.available": str(PIDS_LINE)}
    pids = {"cgroup": f"/{capped_cgroup.name}"}
    node = Node(folder=tmp_path, settings=settings(capped_cgroup, hard, pids=pids))
    with node.joined(), spawners(capped_cgroup, PIDS_TAKEN) as running:
        for name in ("few", "many"):
            go(running[name])
            node.until("it is seen", lambda name=name: count(node, name) == 1 + PIDS_TAKEN[name])
        go(running["critical"])
        node.until("one is evicted", lambda: node.hears.events("Evicted"))
        node.until("they are back", lambda: available(node) > PIDS_LINE)
        node.looks_on()
        (evicted,) = node.hears.events("Evicted")
        assert evicted["data"]["pod"]["name"] == "many"
        assert evicted["data"]["signal"] == "pid.available"
        codes = {name: process.poll() for name, process in running.items()}
        assert codes == {"critical": None, "many": 0, "few": None}
        signal = node.hears.newest("observation")["signals"]["pid.available"]
        assert signal["capacity"] == PIDS_MAX


def available(node: Node) -> int:
    """Process ids by the newest observation."""
    return int(node.hears.newest("observation")["signals"]["pid.available"]["available"])


def count(node: Node, name: str) -> int:
    """Processes of a workload by the newest observation."""
    statistics = (node.pod(name) or {}).get("stats", {})
    return int(statistics.get("process_stats", {}).get("process_count", 0))


@contextmanager
def spawners(parent: Any, wanted: dict[str, int]) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Each in a group of its own, waiting to start so many children; all are ended afterwards."""
    running: dict[str, subprocess.Popen[str]] = {}
    try:
        for name, number in wanted.items():
            group = parent.child(name)
            running[name] = subprocess.Popen(
                [sys.executable, "-c", SPAWN, str(number)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            group.add(running[name].pid)
            assert running[name].stdout is not None
            assert running[name].stdout.readline() == "ready\n"
        yield running
    finally:
        parent.end_processes()
        for process in running.values():
            with process:
                process.kill()


def go(process: subprocess.Popen[str]) -> None:
    """Let it start what it starts."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
