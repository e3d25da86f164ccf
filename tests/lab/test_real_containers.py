"""A Compose project on a machine that evictd watches from outside, through the engine's socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.node import Node
from tests.lab.projects import Compose, acting, composed, service

LINE_MIB = 800
GRACE_SECONDS = 10
"""The engine's own."""
PROJECT = "shop"
EAT = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
held = []
while True:
    held.append(b"x" * (30 << 20))
    time.sleep(0.1)
"""
"""300 MiB a second, whatever is said to it."""


@pytest.fixture
def project(docker_engine: Any, tmp_path: Path) -> Iterator[Compose]:
    """Compose, for a project of three: one labelled, one protected and larger than it might be,
    one of which nobody has said anything."""
    services = {
        "batch": service(docker_engine, 600, restart="always", labels={"evictd.priority": "low"}),
        "db": service(docker_engine, 200, labels={"evictd.protect": "true"}),
        "web": service(docker_engine, 100),
    }
    with composed(docker_engine, PROJECT, tmp_path, services) as compose:
        yield compose


def test_of_a_compose_project_the_labelled_container_goes(
    docker_engine: Any, project: Any, tmp_path: Path
) -> None:
    """It ends well and stays down although it is always restarted; the others run on."""
    node = Node(folder=tmp_path, settings=acting(docker_engine, LINE_MIB))
    with node.joined():
        project("up", "--detach")
        node.until("one is evicted", lambda: node.hears.events("Evicted"))
        node.until("memory is back", lambda: node.available() >= LINE_MIB << 20)
        node.looks_on()
        (evicted,) = node.hears.events("Evicted")
        assert evicted["subject"] == f"{PROJECT}/batch"
        assert evicted["data"]["pod"]["name"] == "batch"
        assert not node.hears.kernel_kills()
        lines = project("ps", "--all", "--format={{.Service}} {{.State}} {{.ExitCode}}")
        assert sorted(lines.splitlines()) == ["batch exited 0", "db running 0", "web running 0"]


def test_a_container_that_ignores_the_signal_and_eats_on_is_killed_before_the_kernel_has_to(
    docker_engine: Any, tmp_path: Path
) -> None:
    """The engine's stop with ten seconds of grace is overtaken by one with none."""
    node = Node(folder=tmp_path, settings=acting(docker_engine, LINE_MIB))
    try:
        with node.joined():
            docker_engine.docker(
                *("run", "--detach", "--network=none", "--name=eater"),
                *("--label=evictd.priority=low", docker_engine.image, "python3", "-c", EAT),
            )
            node.until("it is evicted", lambda: node.hears.events("Evicted"))
            (evicted,) = node.hears.events("Evicted")
            assert evicted["data"]["tookSeconds"] < GRACE_SECONDS - 1
            assert not node.hears.kernel_kills()
        inspected = docker_engine.docker("inspect", "--format={{json .State}}", "eater")
        state = json.loads(inspected)
        assert (state["Status"], state["ExitCode"], state["OOMKilled"]) == ("exited", 137, False)
    finally:
        docker_engine.docker("rm", "--force", "eater")
