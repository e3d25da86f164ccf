"""The responder is killed while something real that ignores SIGTERM still has its grace."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

if (root := str(Path(__file__).parents[2])) not in sys.path:
    sys.path.insert(0, root)

from tests.lab.node import RESPONDER, Node, request
from tests.lab.workloads import Appetite, workloads

GRACE_SECONDS = 10
"""Of control groups and, without another wish, of containers."""
MIDDLE_SECONDS = 3
SLACK_SECONDS = 3
"""For starting again and for noticing the end."""
DEAF = "trap '' TERM; while :; do sleep 0.1; done"


def evicted_once(node: Node, name: str) -> None:
    """Ask, kill the responder in the middle, start it again: it ends, once, and in time."""
    node.until(f"{name} is seen", lambda: node.pod(name))
    pod = node.pod(name)
    assert pod is not None
    node.publish(*request(pod))
    report = f"evictions/{pod['namespace']}/"

    def reports() -> list[Any]:
        told = [m for m in node.hears.all(report) if m.topic.endswith(RESPONDER)]
        return [m.content for m in told if m.content]

    node.until("the stop has begun", lambda: any(r.get("pointOfNoReturn") for r in reports()))
    began = time.monotonic()
    node.until("some grace has passed", lambda: time.monotonic() > began + MIDDLE_SECONDS)
    node.kill("responder")
    node.start("run", "responder")
    node.until("it has gone", lambda: node.hears.events("Evicted"), GRACE_SECONDS + SLACK_SECONDS)
    assert GRACE_SECONDS - 1 <= time.monotonic() - began <= GRACE_SECONDS + SLACK_SECONDS
    node.looks_on()
    (evicted,) = node.hears.events("Evicted")
    assert evicted["data"]["pod"] == {key: pod[key] for key in ("namespace", "name", "uid")}
    assert len({r["completionTime"] for r in reports() if r.get("completionTime")}) == 1
    assert node.hears.newest(f"stopped/{pod['namespace']}/{name}")["uid"] == pod["uid"]


def test_a_killed_responder_ends_a_control_group_s_stop(capped_cgroup: Any, tmp_path: Path) -> None:
    """The grace is not given twice."""
    runtimes = {"docker": {"enabled": False}, "cgroup": {"parent": f"/{capped_cgroup.name}"}}
    node = Node(
        folder=tmp_path,
        settings={
            "mode": "act",
            "candidates": "all",
            "sources": {"runtimes": runtimes, "intervalSeconds": 1},
        },
    )
    with (
        workloads(capped_cgroup, tmp_path, {"job": Appetite(deaf=True)}) as running,
        node.separate(),
    ):
        evicted_once(node, "job")
        assert not running["job"].lives


def test_a_killed_responder_ends_a_container_s_stop(docker_engine: Any, tmp_path: Path) -> None:
    """Whatever the engine does about a stop whose client has gone."""
    docker_engine.docker(
        *("run", "--detach", "--network=none", "--name=job", "--label=evictd.priority=low"),
        *(docker_engine.image, "sh", "-c", DEAF),
    )
    runtimes = {"docker": {"socket": str(docker_engine.socket)}}
    node = Node(
        folder=tmp_path,
        settings={"mode": "act", "sources": {"runtimes": runtimes, "intervalSeconds": 1}},
    )
    try:
        with node.separate():
            evicted_once(node, "job")
        state = docker_engine.docker("inspect", "--format={{.State.Status}}", "job")
        assert state.strip() == "exited"
    finally:
        docker_engine.docker("rm", "--force", "job")
