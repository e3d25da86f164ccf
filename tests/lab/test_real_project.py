"""A Compose project of eight services in a real engine: who goes first, who goes with whom, who
comes back; and an engine that hangs while memory runs short."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.lab.node import Node
from tests.lab.projects import Compose, acting, composed, service

pytestmark = pytest.mark.timeout(120, func_only=True)

PROJECT = "home"
LINE_MIB = 400
CAP_MIB = 1536
ENGINE_SECONDS = 5
"""So long a look would wait for the engine if it had to."""
GROW = """
import signal, sys
steps = [int(word) for word in sys.argv[1:]]
heard = {signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, heard)
held = [bytearray(steps.pop(0) << 20)]
while (told := signal.sigwait(heard)) != signal.SIGTERM:
    if told == signal.SIGUSR1:
        held.append(bytearray(steps.pop(0) << 20))
    else:
        del held[1:]
"""
"""Holds so many MiB, at each SIGUSR1 the next number more, after SIGUSR2 the first alone."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """Services of one Compose project that hold and take memory when they are told to."""

    engine: Any
    compose: Compose

    def process(self, service: str) -> int:
        """Its first process, as this machine numbers it: it hears signals without the engine."""
        number = self.engine.docker("inspect", "--format={{.State.Pid}}", self.container(service))
        return int(number)

    def container(self, service: str) -> str:
        """The name of its one container."""
        return f"{PROJECT}-{service}-1"

    def states(self) -> dict[str, str]:
        """What the engine itself says of each service."""
        lines = self.compose("ps", "--all", "--format={{.Service}} {{.State}}").split("\n")
        return dict(line.split() for line in lines if line)


@contextmanager
def project(engine: Any, folder: Path, services: dict[str, dict[str, Any]]) -> Iterator[Project]:
    """`takes` of each are the MiB that it holds and then takes; the rest is Compose's."""

    def held(takes: tuple[int, ...], **more: Any) -> dict[str, Any]:
        return service(engine, *takes, program=GROW, **more)

    made = {name: held(**settings) for name, settings in services.items()}
    with composed(engine, PROJECT, folder, made) as compose:
        yield Project(engine=engine, compose=compose)


def machine(engine: Any, folder: Path) -> Node:
    """The engine's capped cgroup is the machine."""
    settings = acting(engine, LINE_MIB, evictionPressureTransitionPeriod="2s")
    return Node(folder=folder, settings=settings)


def labels(**words: str) -> dict[str, str]:
    """The owner's words, under evictd's names."""
    return {f"evictd.{name}": word for name, word in words.items()}


EIGHT: dict[str, dict[str, Any]] = {
    "db": {"takes": (150, 256, 128, 160, 200), "labels": labels(protect="true")},
    "web": {"takes": (80,), "labels": labels(priority="high")},
    "queue": {"takes": (110,), "labels": labels(priority="normal")},
    "api": {"takes": (100,), "labels": labels(priority="0"), "depends_on": ["queue"]},
    "batch": {"takes": (150,), "labels": labels(priority="low", restore="never")},
    "cache": {
        "takes": (100,),
        "mem_reservation": "256m",
        "labels": labels(priority="low", restore="never"),
    },
    "report": {"takes": (100,), "labels": labels(priority="-2000", restore="never")},
    "metrics": {"takes": (60,)},
}
"""About 930 MiB. The database may not go, takes more and more, and what goes makes room for it."""
ORDER = ("report", "batch", "cache", "api", "queue")
"""Who matters least first; of two that matter alike the one above its reservation; what is needed
after what needs it, though it uses more."""
STEPS = (("report",), ("batch",), ("cache",), ("api", "queue"))
"""Who goes at each step of the database."""
STAY_DOWN = {"report", "batch", "cache"}


def test_of_eight_services_those_go_that_matter_least_and_come_back_in_turn(
    docker_engine: Any, tmp_path: Path
) -> None:
    """Never the protected one that takes it all, never one of which nobody has said anything; what
    is needed is back before what needs it, and what shall stay down does."""
    node = machine(docker_engine, tmp_path)
    with project(docker_engine, tmp_path, EIGHT) as home, node.joined():
        home.compose("up", "--detach")
        node.until("all are seen", lambda: all(node.pod(name) for name in EIGHT))
        database = home.process("db")
        gone: list[str] = []
        for step in STEPS:
            node.looks_on()
            assert subjects(node, "Evicted") == gone
            os.kill(database, signal.SIGUSR1)
            gone += step
            node.until(f"{step} evicted", partial(has_evicted, node, len(gone)), 20)
            node.until("memory is back", lambda: node.available() >= LINE_MIB << 20)
        assert subjects(node, "Evicted") == list(ORDER)
        assert set(down(node)) == set(ORDER)
        states = home.states()
        assert {name for name, state in states.items() if state == "exited"} == set(ORDER)
        assert {name for name, state in states.items() if state == "running"} == set(EIGHT) - set(
            ORDER
        )

        os.kill(database, signal.SIGUSR2)
        node.until("both are back", lambda: len(subjects(node, "Restored")) == 2, 75)
        assert subjects(node, "Restored") == ["queue", "api"]
        node.until("that is written down", lambda: set(down(node)) == STAY_DOWN)
        node.looks_on()
        states = home.states()
        assert {name for name, state in states.items() if state == "exited"} == STAY_DOWN
        assert len(subjects(node, "Evicted")) == len(ORDER)
        assert not node.hears.kernel_kills()


def test_an_engine_that_hangs_delays_no_decision_and_the_stop_comes_when_it_goes_on(
    docker_engine: Any, tmp_path: Path
) -> None:
    """Memory and what each workload uses are read without it; it is told that it is late."""
    services: dict[str, dict[str, Any]] = {
        "db": {"takes": (400, 300), "labels": labels(protect="true")},
        "batch": {"takes": (500,), "labels": labels(priority="low")},
    }
    node = machine(docker_engine, tmp_path)
    with project(docker_engine, tmp_path, services) as home, node.joined():
        home.compose("up", "--detach")
        node.until("both are seen", lambda: node.pod("db") and node.pod("batch"))
        node.until("with figures", lambda: node.available() < (CAP_MIB - 880) << 20)
        database, engine = home.process("db"), engine_process(docker_engine)
        with stopped(engine):
            node.looks_on()
            grown_seconds = time.clock_gettime(time.CLOCK_BOOTTIME)
            os.kill(database, signal.SIGUSR1)
            request = "evictionrequests/evictd.io/node-pressure/"
            node.until("its eviction is asked for", lambda: node.hears.all(request))
            asked = node.hears.all(request)[0]
            assert asked.boot_seconds - grown_seconds < ENGINE_SECONDS
            assert asked.content["spec"]["target"]["pod"]["name"] == "batch"
            node.until("who is late is told", lambda: "docker" in said(node), 15)
            assert not node.hears.events("Evicted")
        node.until("it is evicted", lambda: node.hears.events("Evicted"), 30)
        assert subjects(node, "Evicted") == ["batch"]
        assert home.states() == {"db": "running", "batch": "exited"}
        node.until("nobody is late", lambda: not said(node), 15)


@contextmanager
def stopped(process: int) -> Iterator[None]:
    """It neither works nor ends, as if it were waiting for a disk."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def engine_process(engine: Any) -> int:
    """This engine's own process, and no other's."""
    process = int((Path(engine.environment["ENGINE_FOLDER"]) / "dockerd.pid").read_text())
    assert str(engine.socket) in Path(f"/proc/{process}/cmdline").read_text()
    return process


def subjects(node: Node, reason: str) -> list[str]:
    """The services that events of one Reason are about, oldest first."""
    return [event["subject"].removeprefix(f"{PROJECT}/") for event in node.hears.events(reason)]


def has_evicted(node: Node, count: int) -> bool:
    """Whether so many have gone by now."""
    return len(node.hears.events("Evicted")) >= count


def down(node: Node) -> list[str]:
    """What is down because of evictd."""
    newest = {message.topic: message.content for message in node.hears.all(f"stopped/{PROJECT}/")}
    return [topic.rpartition("/")[2] for topic, content in newest.items() if content is not None]


def said(node: Node) -> str:
    """What the workers say of themselves."""
    return str(node.hears.newest("workers/all").get("message", ""))
