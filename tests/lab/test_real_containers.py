"""A Compose project on a machine that evictd watches from outside, through the engine's socket."""

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

LINE_MIB = 800
PROJECT = "shop"
HOLD = """
import signal, sys, threading
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
held = bytearray(int(sys.argv[1]) << 20)
threading.Event().wait()
"""


@pytest.fixture
def project(docker_engine: Any, tmp_path: Path) -> Iterator[Any]:
    """Compose, for a project of three: one labelled, one protected and larger than it might be,
    one of which nobody has said anything."""

    def service(mebibytes: int, **more: Any) -> dict[str, Any]:
        command = ["python3", "-c", HOLD, str(mebibytes)]
        return {"image": docker_engine.image, "network_mode": "none", "command": command, **more}

    services = {
        "batch": service(600, restart="always", labels={"evictd.priority": "low"}),
        "db": service(200, labels={"evictd.protect": "true"}),
        "web": service(100),
    }
    file = tmp_path / "compose.yml"
    file.write_text(json.dumps({"services": services}))

    def compose(*arguments: str) -> str:
        words = ("compose", "--project-name", PROJECT, "--file", str(file), *arguments)
        return str(docker_engine.docker(*words))

    yield compose
    compose("down", "--timeout", "1")


def test_of_a_compose_project_the_labelled_container_goes(
    docker_engine: Any, project: Any, tmp_path: Path
) -> None:
    """It ends well and stays down although it is always restarted; the others run on."""
    node = Node(
        folder=tmp_path,
        settings={
            "mode": "act",
            "evictionHard": {"memory.available": f"{LINE_MIB}Mi"},
            "sources": {
                "memory": {"cgroup": f"/{docker_engine.cgroup}"},
                "intervalSeconds": 1,
                "runtimes": {"docker": {"socket": str(docker_engine.socket)}},
            },
        },
    )
    with node.joined():
        project("up", "--detach")
        node.until("one is evicted", lambda: node.hears.events("Evicted"))
        node.until("memory is back", lambda: node.available() >= LINE_MIB << 20)
        node.looks_on()
        (evicted,) = node.hears.events("Evicted")
        assert evicted["subject"] == f"{PROJECT}/batch"
        assert evicted["data"]["pod"]["name"] == "batch"
        assert not node.hears.events("SystemOOM")
        lines = project("ps", "--all", "--format={{.Service}} {{.State}} {{.ExitCode}}")
        assert sorted(lines.splitlines()) == ["batch exited 0", "db running 0", "web running 0"]
