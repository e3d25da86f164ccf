"""The way of the data with nothing simulated: a small machine of real memory runs short, and the
right workload goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.lab.node import Node
from tests.lab.workloads import APPETITES, MIB, Appetite, Workload, workloads

LINE_MIB = 200
IMPORTANCE = {
    "kubelet": {"critical": 1000, "cachey": 100, "greedy": 100, "modest": 0},
    "host": {"critical": 1000, "cachey": 100, "greedy": 100, "modest": 100},
}
"""The kubelet asks first who is over its request, a plain host first who matters least: that the
modest one matters least saves it there and not here."""
REQUESTS = {"critical": "100Mi", "cachey": "50Mi", "greedy": "50Mi", "modest": "200Mi"}


def settings(profile: str, cgroup: Any) -> dict[str, Any]:
    """The capped cgroup is the machine, each child of it a workload."""
    return {
        "mode": "act",
        "profile": profile,
        "evictionHard": {"memory.available": f"{LINE_MIB}Mi"},
        "evictionPressureTransitionPeriod": "1s",
        "workloads": {
            name: {"priority": priority, "request": {"memory": REQUESTS[name]}}
            for name, priority in IMPORTANCE[profile].items()
        },
        "sources": {
            "memory": {"cgroup": f"/{cgroup.name}"},
            "intervalSeconds": 1,
            "runtimes": {
                "docker": {"enabled": False},
                "cgroup": {"parent": f"/{cgroup.name}"},
            },
        },
    }


def everybody_eats(node: Node, running: dict[str, Workload]) -> None:
    """All at once, as soon as evictd knows them all; until somebody has gone."""
    node.until("all are seen", lambda: all(node.pod(name) for name in running))
    for workload in running.values():
        workload.begin()
    node.until("one is evicted", lambda: node.hears.events("Evicted"))


def the_greedy_one_goes(
    node: Node,
    cgroup: Any,
    folder: Path,
    appetites: dict[str, Appetite] = APPETITES,
    line_mib: int = LINE_MIB,
) -> None:
    """And nobody else, once, and the machine has memory again."""
    with workloads(cgroup, folder, appetites) as running:
        everybody_eats(node, running)
        node.until("it has gone", lambda: not running["greedy"].lives)
        node.until("memory is back", lambda: node.available() >= line_mib * MIB)
        node.until("the condition clears", lambda: node.hears.events("NodeHasSufficientMemory"))
        node.looks_on()
        (evicted,) = node.hears.events("Evicted")
        assert evicted["data"]["pod"]["name"] == "greedy"
        assert evicted["data"]["signal"] == "memory.available"
        assert [name for name, workload in running.items() if not workload.lives] == ["greedy"]
        assert not node.hears.kernel_kills()
        assert not any(running[name].end() for name in appetites if name != "greedy")
        assert len(running["greedy"].end()) == 1


@pytest.mark.parametrize("profile", IMPORTANCE)
def test_separate_workers_take_the_right_workload(
    profile: str, capped_cgroup: Any, tmp_path: Path
) -> None:
    """Five processes and a broker: one workload gets SIGTERM once, the signal recovers."""
    node = Node(folder=tmp_path, settings=settings(profile, capped_cgroup))
    with node.separate():
        the_greedy_one_goes(node, capped_cgroup, tmp_path)


@pytest.mark.parametrize("profile", IMPORTANCE)
def test_one_process_takes_the_right_workload(
    profile: str, capped_cgroup: Any, tmp_path: Path
) -> None:
    """The same with `evictd up` and the broker that it owns."""
    node = Node(folder=tmp_path, settings=settings(profile, capped_cgroup))
    with node.joined():
        the_greedy_one_goes(node, capped_cgroup, tmp_path)


def test_who_ignores_the_signal_and_eats_on_is_killed_before_the_kernel_has_to(
    capped_cgroup: Any, tmp_path: Path
) -> None:
    """Its grace of ten seconds ends when memory falls below half the line."""
    node = Node(folder=tmp_path, settings=settings("host", capped_cgroup))
    deaf = Appetite(top_mib=900, mib_a_second=150, deaf=True)
    with (
        node.joined(),
        workloads(capped_cgroup, tmp_path, {**APPETITES, "greedy": deaf}) as running,
    ):
        everybody_eats(node, running)
        (evicted,) = node.hears.events("Evicted")
        assert evicted["data"]["pod"]["name"] == "greedy"
        assert not node.hears.kernel_kills()
        assert [name for name, workload in running.items() if not workload.lives] == ["greedy"]
