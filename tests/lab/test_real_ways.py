"""Containers that are restarted instead of stopped, that go only together, and that something else
starts again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.lab.node import Node
from tests.lab.projects import HOLD, acting, composed, service

PROJECT = "ways"
LINE_MIB = 1000  # of 1536 for all containers
LEAK = f"""
import pathlib, sys
mark = pathlib.Path("/leaked")
if mark.exists():
    sys.argv[1] = "20"
mark.touch()
{HOLD}"""
"""Its first life takes all that it was told to, each further one next to nothing."""


def test_a_leaking_container_is_restarted_and_nothing_stays_down(
    docker_engine: Any, tmp_path: Path
) -> None:
    """The very container, in another life; the memory is back, and it is evicted once."""
    labels = {"evictd.action": "restart"}
    services = {"leak": service(docker_engine, 700, program=LEAK, labels=labels)}
    node = Node(folder=tmp_path, settings=acting(docker_engine, LINE_MIB))
    with composed(docker_engine, PROJECT, tmp_path, services) as project, node.joined():
        project("up", "--detach")
        node.until("it is evicted", lambda: node.hears.events("Evicted"))
        node.until("memory is back", lambda: node.available() >= LINE_MIB << 20)
        (evicted,) = node.hears.events("Evicted")
        first = evicted["data"]["pod"]["uid"]
        node.until("it lives again", lambda: (node.pod("leak") or {}).get("uid", first) != first)
        node.looks_on()
        assert len(node.hears.events("Evicted")) == 1
        assert node.hears.all("stopped/") == []
        assert project("ps", "--format={{.Service}} {{.State}}").split() == ["leak", "running"]


def test_a_group_goes_together_and_what_a_healer_starts_again_is_passed_over(
    docker_engine: Any, tmp_path: Path
) -> None:
    """Who needs the other goes first, the other follows though it is not short any more; brought
    back by something else, they are failed victims and not taken again."""
    labels = {"evictd.group": "front", "evictd.restore": "never"}
    services = {
        "db": service(docker_engine, 300, labels={**labels, "evictd.priority": "low"}),
        "web": service(docker_engine, 330, labels=labels, depends_on=["db"]),
    }
    node = Node(folder=tmp_path, settings=acting(docker_engine, LINE_MIB))
    with composed(docker_engine, PROJECT, tmp_path, services) as project, node.joined():
        project("up", "--detach")
        node.until("both are evicted", lambda: len(node.hears.events("Evicted")) == 2, 30)
        subjects = [event["subject"] for event in node.hears.events("Evicted")]
        assert subjects == [f"{PROJECT}/web", f"{PROJECT}/db"]
        project("start")
        node.until("nobody is left", lambda: node.hears.events("NothingLeftToEvict"), 30)
        decision = node.hears.newest("decision")
        assert {row["verdict"] for row in decision["ranking"]} == {"Failed"}
        assert all("something started it again within" in row["why"] for row in decision["ranking"])
        node.looks_on()
        assert len(node.hears.events("Evicted")) == 2
        states = project("ps", "--format={{.Service}} {{.State}}").splitlines()
        assert sorted(states) == ["db running", "web running"]
