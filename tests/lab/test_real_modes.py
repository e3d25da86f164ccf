"""What a node that does not act does about a request for something real: it says so, no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.node import RESPONDER, Node, condition, request
from tests.lab.workloads import Appetite, workloads

CONTAINER = "shop-web-1"
TELLS = "trap 'echo told' TERM; while :; do sleep 0.1; done"


@pytest.fixture
def container(docker_engine: Any) -> Iterator[str]:
    """One container of Compose's making that would tell of a SIGTERM."""
    labels = ("com.docker.compose.project=shop", "com.docker.compose.service=web")
    docker_engine.docker(
        *("run", "--detach", "--network=none", f"--name={CONTAINER}"),
        *(f"--label={label}" for label in labels),
        *(docker_engine.image, "sh", "-c", TELLS),
    )
    yield "web"
    docker_engine.docker("rm", "--force", CONTAINER)


@pytest.mark.parametrize("mode", ["observe", "dry-run"])
def test_a_request_by_hand_stops_nothing_and_says_so(
    mode: str, docker_engine: Any, container: str, capped_cgroup: Any, tmp_path: Path
) -> None:
    """A real container and a real control group; the mode of the node stands before every wish."""
    runtimes = {
        "docker": {"socket": str(docker_engine.socket)},
        "cgroup": {"parent": f"/{capped_cgroup.name}"},
    }
    node = Node(
        folder=tmp_path,
        settings={"mode": mode, "sources": {"runtimes": runtimes, "intervalSeconds": 1}},
    )
    with workloads(capped_cgroup, tmp_path, {"job": Appetite(deaf=True)}) as running, node.joined():
        for name in (container, "job"):
            node.until(f"{name} is seen", lambda name=name: node.pod(name))
            pod = node.pod(name)
            assert pod is not None
            node.publish(*request(pod))
            refused_with_reason(node, pod, mode)
        node.looks_on()
        assert running["job"].lives
        assert running["job"].end() == []
        assert not node.hears.events("Evicted")
    assert docker_engine.docker("logs", CONTAINER) == ""
    state = docker_engine.docker("inspect", "--format={{.State.Status}}", CONTAINER)
    assert state.strip() == "running"


def refused_with_reason(node: Node, pod: dict[str, Any], mode: str) -> None:
    """In the report, in the Eviction, in an event."""
    name = f"{pod['namespace']}/{pod['name']}"

    def finished() -> list[Any]:
        return [e for e in node.hears.events("DryRunFinished") if e["subject"] == name]

    node.until(f"the dry run of {name} ends", finished)
    (event,) = finished()
    assert event["data"]["mode"] == mode
    topic = f"evictions/{pod['namespace']}/"
    heard = [m for m in node.hears.all(topic) if m.content]
    reports = [m.content for m in heard if m.topic.endswith(RESPONDER)]
    said = {report["message"] for report in reports if report.get("completionTime")}
    assert said == {f"would have stopped {name}; mode is {mode}"}
    assert not any(report.get("targetGone") for report in reports)
    evictions = [m.content for m in heard if "/responders/" not in m.topic]
    assert condition(evictions[-1], "Failed") == ("True", "DryRun")
