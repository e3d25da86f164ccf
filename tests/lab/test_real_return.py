"""A container that evictd stopped for memory comes back by itself when there is room for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if (root := str(Path(__file__).parents[2])) not in sys.path:
    sys.path.insert(0, root)

from tests.lab.node import Node
from tests.lab.test_real_containers import HOLD

PROJECT = "home"
TAKES_MIB = 400
LINE_MIB = 900  # of 1536 for all containers: met by two, and no room for a second


@pytest.fixture
def project(docker_engine: Any, tmp_path: Path) -> Iterator[Any]:
    """Compose, for a project of two that take the same; one of them may go."""

    def service(**more: Any) -> dict[str, Any]:
        command = ["python3", "-c", HOLD, str(TAKES_MIB)]
        return {"image": docker_engine.image, "network_mode": "none", "command": command, **more}

    services = {
        "batch": service(labels={"evictd.priority": "low"}),
        "web": service(labels={"evictd.protect": "true"}),
    }
    file = tmp_path / "compose.yml"
    file.write_text(json.dumps({"services": services}))

    def compose(*arguments: str) -> str:
        words = ("compose", "--project-name", PROJECT, "--file", str(file), *arguments)
        return str(docker_engine.docker(*words))

    yield compose
    compose("down", "--timeout", "1")


def test_a_stopped_container_comes_back_when_there_is_room_for_it(
    docker_engine: Any, project: Any, tmp_path: Path
) -> None:
    """Not as soon as the condition is over, since there is no room for both; the same container,
    once, and then it is not down any more."""
    node = Node(
        folder=tmp_path,
        settings={
            "mode": "act",
            "evictionHard": {"memory.available": f"{LINE_MIB}Mi"},
            "evictionPressureTransitionPeriod": "2s",
            "sources": {
                "memory": {"cgroup": f"/{docker_engine.cgroup}"},
                "intervalSeconds": 1,
                "runtimes": {"docker": {"socket": str(docker_engine.socket)}},
            },
        },
    )
    down = f"stopped/{PROJECT}/batch"
    with node.joined():
        project("up", "--detach")
        node.until("one is evicted", lambda: node.hears.events("Evicted"))
        node.until("that is written down", lambda: node.hears.newest(down))
        node.until("it is over", lambda: node.hears.events("NodeHasSufficientMemory"))
        node.looks_on(5)
        record = node.hears.newest(down)
        assert record["lastUsage"] > TAKES_MIB << 19  # it may still have been growing
        assert not node.hears.events("Restored")
        project("stop", "--timeout", "1", "web")
        node.until("it is back", lambda: node.hears.events("Restored"))
        node.until("it is not down any more", lambda: node.hears.newest(down) is None)
        node.until("the order is over", lambda: node.hears.newest("orders/restore") is None)
        node.until("it is seen", lambda: node.pod("batch"))
        node.looks_on()
        pod = node.pod("batch")
        assert pod is not None
        assert pod["runtimeId"] == record["runtimeId"]
        assert pod["uid"] != record["uid"]
        assert len(node.hears.events("Evicted")) == 1
        assert len(node.hears.events("Restored")) == 1
        lines = project("ps", "--all", "--format={{.Service}} {{.State}}")
        assert sorted(lines.splitlines()) == ["batch running", "web exited"]
