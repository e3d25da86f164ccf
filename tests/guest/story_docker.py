"""A Docker Engine on control groups v2: its containers are seen, and the one that may go goes."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.guest import bare_image
from tests.lab.conftest import until
from tests.lab.node import Node
from tests.lab.projects import HOLD

LINE_MIB = 400
HELD_MIB = {"db": 200, "batch": 450, "web": 60}
"""Together less than half a line below it, so that nobody's grace is cut."""
IMAGE = "machine"
START_SECONDS = 60
CALL_SECONDS = 120


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A running dockerd."""

    socket: Path

    def docker(self, *words: str, given: bytes | None = None) -> str:
        """One call of the client; it must succeed."""
        finished = subprocess.run(
            ["docker", "--host", f"unix://{self.socket}", *words],
            input=given,
            capture_output=True,
            timeout=CALL_SECONDS,
            check=False,
        )
        assert finished.returncode == 0, (words, finished.stderr.decode())
        return finished.stdout.decode().strip()

    def answers(self) -> bool:
        """Whether it is up; without the client, which takes seconds here."""
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(str(self.socket)) == 0

    def run(self, name: str, parent: str, held_mib: int, *labels: str) -> None:
        """A container that holds so much memory until it is told to end."""
        self.docker(
            *(
                "run",
                "--detach",
                "--network=none",
                f"--volume={bare_image.MOUNT}",
                f"--name={name}",
            ),
            *(f"--cgroup-parent=/{parent}", *(f"--label={label}" for label in labels)),
            *(IMAGE, "python3", "-c", HOLD, str(held_mib)),
        )


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Without a network; gone afterwards with its containers."""
    settings = tmp_path / "daemon.json"
    settings.write_text("{}")
    started = Engine(socket=tmp_path / "docker.sock")
    log = tmp_path / "dockerd"
    command = ["dockerd", "--config-file", settings, "--host", f"unix://{started.socket}"]
    closed = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"]
    with log.open("wb") as said:
        process = subprocess.Popen([*command, *closed], stdout=said, stderr=said)
    try:
        until(lambda: process.poll() is not None or started.answers(), START_SECONDS)
        assert process.poll() is None, log.read_text()
        started.docker("import", "-", IMAGE, given=bare_image.archive())
        yield started
        started.docker("rm", "--force", *HELD_MIB)
    finally:
        process.terminate()
        process.wait(CALL_SECONDS)


def test_of_three_containers_the_one_of_low_priority_goes(
    engine: Engine, capped_cgroup: Any, tmp_path: Path
) -> None:
    """It ends well; who holds less and who is protected run on."""
    settings = {
        "mode": "act",
        "evictionHard": {"memory.available": f"{LINE_MIB}Mi"},
        "sources": {
            "memory": {"cgroup": f"/{capped_cgroup.name}"},
            "intervalSeconds": 1,
            "runtimes": {"docker": {"socket": str(engine.socket)}},
        },
    }
    node = Node(folder=tmp_path, settings=settings)
    with node.joined():
        engine.run("db", capped_cgroup.name, HELD_MIB["db"], "evictd.protect=true")
        engine.run("web", capped_cgroup.name, HELD_MIB["web"])
        node.until("its memory is seen", lambda: _working_set_mib(node, "db") >= HELD_MIB["db"])
        engine.run("batch", capped_cgroup.name, HELD_MIB["batch"], "evictd.priority=low")
        node.until("one is evicted", lambda: node.hears.events("Evicted"))
        node.until("memory is back", lambda: node.available() >= LINE_MIB << 20)
        node.looks_on()
        (evicted,) = node.hears.events("Evicted")
        assert evicted["subject"] == "_/batch"
        assert not node.hears.events("SystemOOM")
        ran = ["running", 0, False]
        states = {"db": ran, "batch": ["exited", 0, False], "web": ran}
        assert _states(engine) == states


def _states(engine: Engine) -> dict[str, Any]:
    words = "[{{json .State.Status}}, {{json .State.ExitCode}}, {{json .State.OOMKilled}}]"
    told = engine.docker("inspect", f"--format={words}", *HELD_MIB)
    return dict(zip(HELD_MIB, map(json.loads, told.splitlines()), strict=True))


def _working_set_mib(node: Node, name: str) -> int:
    statistics = (node.pod(name) or {}).get("stats", {})
    return int(statistics.get("memory", {}).get("workingSetBytes", 0)) >> 20
