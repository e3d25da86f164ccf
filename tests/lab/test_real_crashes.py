"""evictd is killed while something real that ignores SIGTERM still has its grace."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

if (root := str(Path(__file__).parents[2])) not in sys.path:
    sys.path.insert(0, root)

from tests.lab.node import REQUESTER, RESPONDER, Node, request
from tests.lab.workloads import Appetite, workloads

GRACE_SECONDS = 6
"""Less than what either runtime gives by itself: whoever asks may ask for it here."""
MIDDLE_SECONDS = 2
SLACK_SECONDS = 3
"""For starting again and for noticing the end."""
DEAF = "trap '' TERM; while :; do sleep 0.1; done"


def settings(runtimes: dict[str, Any]) -> dict[str, Any]:
    """A node that acts on everybody, and on a short grace that a person asks for."""
    return {
        "mode": "act",
        "candidates": "all",
        "hardRequesters": [REQUESTER],
        "sources": {"runtimes": runtimes, "intervalSeconds": 1},
    }


def evicted_once(node: Node, name: str, *killed: str) -> None:
    """Ask, kill that process in the middle, start it again: it ends, once, and in time."""
    node.until(f"{name} is seen", lambda: node.pod(name))
    pod = node.pod(name)
    assert pod is not None
    node.publish(*request(pod, gracePeriodSeconds=GRACE_SECONDS))
    report = f"evictions/{pod['namespace']}/"

    def reports() -> list[Any]:
        told = [m for m in node.hears.all(report) if m.topic.endswith(RESPONDER)]
        return [m.content for m in told if m.content]

    node.until("the stop has begun", lambda: any(r.get("pointOfNoReturn") for r in reports()))
    began = time.monotonic()
    node.until("some grace has passed", lambda: time.monotonic() > began + MIDDLE_SECONDS)
    node.kill(killed[-1])
    node.start(*killed)
    node.until("it has gone", lambda: node.hears.events("Evicted"), GRACE_SECONDS + SLACK_SECONDS)
    assert GRACE_SECONDS - 1 <= time.monotonic() - began <= GRACE_SECONDS + SLACK_SECONDS
    node.looks_on()
    evicted, *again = node.hears.events("Evicted")
    assert {event["id"] for event in again} <= {evicted["id"]}
    assert evicted["data"]["pod"] == {key: pod[key] for key in ("namespace", "name", "uid")}
    assert len({r["completionTime"] for r in reports() if r.get("completionTime")}) == 1
    assert node.hears.newest(f"stopped/{pod['namespace']}/{name}")["uid"] == pod["uid"]


@pytest.mark.parametrize("killed", [("run", "responder"), ("up",)], ids=" ".join)
def test_a_control_group_s_stop_is_taken_up_again(
    killed: tuple[str, ...], capped_cgroup: Any, tmp_path: Path
) -> None:
    """The grace is not given twice; of `evictd up` the broker is killed too."""
    runtimes = {"docker": {"enabled": False}, "cgroup": {"parent": f"/{capped_cgroup.name}"}}
    node = Node(folder=tmp_path, settings=settings(runtimes))
    with (
        workloads(capped_cgroup, tmp_path, {"job": Appetite(deaf=True)}) as running,
        node.joined() if killed == ("up",) else node.separate(),
    ):
        evicted_once(node, "job", *killed)
        assert not running["job"].lives


def test_a_container_s_stop_is_taken_up_again(docker_engine: Any, tmp_path: Path) -> None:
    """Whatever the engine does about a stop whose client has gone."""
    docker_engine.docker(
        *("run", "--detach", "--network=none", "--name=job"),
        *(docker_engine.image, "sh", "-c", DEAF),
    )
    runtimes = {"docker": {"socket": str(docker_engine.socket)}}
    node = Node(folder=tmp_path, settings=settings(runtimes))
    try:
        with node.separate():
            evicted_once(node, "job", "run", "responder")
        state = docker_engine.docker("inspect", "--format={{.State.Status}}", "job")
        assert state.strip() == "exited"
    finally:
        docker_engine.docker("rm", "--force", "job")
