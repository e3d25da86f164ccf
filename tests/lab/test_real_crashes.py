"""evictd is killed while something real that ignores SIGTERM still has its grace."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.lab.node import REQUESTER, RESPONDER, Node, request
from tests.lab.workloads import Appetite, workloads

GRACE_SECONDS = 9
"""Less than what either runtime gives by itself: whoever asks may ask for it here."""
MIDDLE_SECONDS = 5
SLACK_SECONDS = 4
"""For the end, once the grace is over and it is there again: less than another grace."""
DEAF = "trap '' TERM; while :; do sleep 0.1; done"


def settings(runtimes: dict[str, Any]) -> dict[str, Any]:
    """A node that acts on everybody, and on a short grace that a person asks for."""
    return {
        "mode": "act",
        "candidates": "all",
        "hardRequesters": [REQUESTER],
        "sources": {"runtimes": runtimes, "intervalSeconds": 1},
    }


def evicted_once(node: Node, names: Sequence[str], killed: str) -> None:
    """Ask, kill that process in the middle, start it again: all end, once each, and in time."""
    pods = [seen(node, name) for name in names]
    for pod in pods:
        node.publish(*request(pod, gracePeriodSeconds=GRACE_SECONDS))
    node.until("the stops have begun", lambda: all(told(node, p, "pointOfNoReturn") for p in pods))
    began = time.monotonic()
    node.until("some grace has passed", lambda: time.monotonic() > began + MIDDLE_SECONDS)
    epoch = status(node, killed)["epoch"]
    node.kill(killed)
    node.start(killed)
    node.until("it is there again", lambda: status(node, killed)["epoch"] > epoch, 30)
    due = max(began + GRACE_SECONDS, time.monotonic()) + SLACK_SECONDS
    rest_seconds = due - time.monotonic()
    node.until("they have gone", lambda: all(evictions(node, pod) for pod in pods), rest_seconds)
    assert time.monotonic() - began >= GRACE_SECONDS - 2
    node.looks_on()
    for pod in pods:
        (evicted,) = evictions(node, pod)
        assert evicted["data"]["responder"] == RESPONDER
        assert len({report["completionTime"] for report in told(node, pod, "completionTime")}) == 1
        stopped = node.hears.newest(f"stopped/{pod['namespace']}/{pod['name']}")
        assert stopped["uid"] == pod["uid"]


def status(node: Node, worker: str) -> dict[str, Any]:
    """What that process says of itself."""
    return dict(node.hears.newest(f"workers/{'all' if worker == 'up' else worker}"))


def seen(node: Node, name: str) -> dict[str, Any]:
    """The workload, as soon as it is observed."""
    node.until(f"{name} is seen", lambda: node.pod(name))
    return node.pod(name) or {}


def told(node: Node, pod: dict[str, Any], field: str) -> list[Any]:
    """The responder's reports about a workload that hold this field."""
    messages = node.hears.all(f"evictions/{pod['namespace']}/")
    reports = [m.content for m in messages if m.topic.endswith(RESPONDER) and m.content]
    return [report for report in reports if report.get(field)]


def evictions(node: Node, pod: dict[str, Any]) -> list[Any]:
    """What was told of its end; an event that is repeated after a crash keeps its id."""
    life = {key: pod[key] for key in ("namespace", "name", "uid")}
    found = [event for event in node.hears.events("Evicted") if event["data"]["pod"] == life]
    return list({event["id"]: event for event in found}.values())


def test_a_killed_responder_takes_its_stops_up_again(
    docker_engine: Any, capped_cgroup: Any, tmp_path: Path
) -> None:
    """Of a container and of a control group; the grace is not given twice."""
    docker_engine.docker(
        *("run", "--detach", "--network=none", "--name=web"),
        *(docker_engine.image, "sh", "-c", DEAF),
    )
    runtimes = {
        "docker": {"socket": str(docker_engine.socket)},
        "cgroup": {"parent": f"/{capped_cgroup.name}"},
    }
    node = Node(folder=tmp_path, settings=settings(runtimes))
    try:
        with (
            workloads(capped_cgroup, tmp_path, {"job": Appetite(deaf=True)}) as running,
            node.separate(),
        ):
            evicted_once(node, ("web", "job"), "responder")
            assert not running["job"].lives
        state = docker_engine.docker("inspect", "--format={{.State.Status}}", "web")
        assert state.strip() == "exited"
    finally:
        docker_engine.docker("rm", "--force", "web")


def test_everything_killed_at_once_takes_a_stop_up_again(
    capped_cgroup: Any, tmp_path: Path
) -> None:
    """`evictd up`, and with it the broker that it owns."""
    runtimes = {"docker": {"enabled": False}, "cgroup": {"parent": f"/{capped_cgroup.name}"}}
    node = Node(folder=tmp_path, settings=settings(runtimes))
    with (
        workloads(capped_cgroup, tmp_path, {"job": Appetite(deaf=True)}) as running,
        node.joined(),
    ):
        evicted_once(node, ("job",), "up")
        assert not running["job"].lives
