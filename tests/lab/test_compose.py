"""The Compose files, brought up for real: image, logins, broker, one container for each worker.

No image registry is needed: the base images are stand-ins made of Debian's packages.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WORKERS = ("collector", "evaluator", "evictor", "controller", "responder")
ONE_SHOT = ("bus-init", "node-name")
COMPOSE = {"Compose v2": ("docker", "compose"), "docker-compose 1.29": ("docker-compose",)}
NODE = "demo-7"
POD_UID = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"

# Containers of five workers start on two cores; making images is the fixtures' time.
pytestmark = pytest.mark.timeout(180, func_only=True)


@dataclass(frozen=True, kw_only=True)
class System:
    """One `up` of the Compose file, with the tool that did it."""

    engine: Any
    tool: tuple[str, ...]
    variables: dict[str, str]
    project: str = "evictd-lab"

    def compose(self, *arguments: str, seconds: float = 120) -> str:
        """Run the Compose tool on the shipped file."""
        command = (*self.tool, "--project-name", self.project, *arguments)
        return self.engine.run(*command, folder=ROOT, seconds=seconds, variables=self.variables)

    def up(self) -> None:
        """Start everything."""
        with self._telling():
            self.compose("up", "-d", "--no-build")

    def until(self, what: str, condition: Callable[[], object], seconds: float = 60.0) -> None:
        """Wait until something is true of the containers; fail when it is not in time."""
        deadline = time.monotonic() + seconds
        pause = threading.Event()
        with self._telling():
            while not condition():
                assert time.monotonic() < deadline, f"{what}: not within {seconds:.0f} s"
                pause.wait(0.2)

    def until_healthy(self) -> None:
        """Wait until everything that stays up passes its own health check."""
        for service in ("bus", *WORKERS):
            self.until(f"{service} is healthy", partial(self.is_healthy, service))

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """In a failure stands what the containers said, since they are gone when it is read."""
        try:
            yield
        except AssertionError as failure:
            failure.add_note(self.compose("logs", "--no-color", "--tail=30"))
            raise

    def containers(self) -> dict[str, str]:
        """Service to what the engine says about its container, such as `Up 3 seconds`."""
        listing = self.engine.docker(
            "ps",
            "--all",
            f"--filter=label=com.docker.compose.project={self.project}",
            '--format={{.Label "com.docker.compose.service"}}\t{{.Status}}\t{{.ID}}',
        )
        rows = [line.split("\t") for line in listing.splitlines()]
        return {service: f"{status} {identity}" for service, status, identity in rows}

    def inspect(self, service: str) -> dict[str, Any]:
        """The engine's whole description of a service's container."""
        identity = self.containers()[service].split()[-1]
        described = json.loads(self.engine.docker("inspect", identity))
        return dict(described[0])

    def is_healthy(self, service: str) -> bool:
        """Whether the service's own health check, run now instead of in a minute, passes."""
        described = self.inspect(service)
        kind, *command = described["Config"]["Healthcheck"]["Test"]
        words = command if kind == "CMD" else ["sh", "-c", *command]
        return self._try("docker", "exec", described["Id"], *words).returncode == 0

    def publish(self, topic: str, message: dict[str, Any]) -> None:
        """What a person does with the documented line."""
        self.compose(
            "exec", "-T", "bus", "mosquitto_pub", "-r", "-q", "1", "-t", topic,
            "-m", json.dumps(message),
        )  # fmt: skip

    def retained(self, topic_filter: str) -> dict[str, Any] | None:
        """The first retained message that matches, or None."""
        command = ("exec", "-T", "bus", "mosquitto_sub", "-C", "1", "-W", "2", "-t", topic_filter)
        heard = self._try(*self.tool, "--project-name", self.project, *command)
        return dict(json.loads(heard.stdout)) if heard.stdout.strip() else None

    def _try(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env={**self.engine.environment, **self.variables},
            cwd=ROOT,
            check=False,
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
        )


@pytest.fixture(scope="module")
def variables(docker_engine: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What differs from a user's machine: the engine's socket, and an engine without all rights."""
    return {
        "DOCKER_SOCKET": str(docker_engine.socket),
        "EVICTD_FOLDER": str(tmp_path_factory.mktemp("nodefs")),
        "EVICTD_OOM_SCORE_ADJ": "0",
    }


@pytest.fixture(scope="module")
def image(docker_engine: Any, variables: dict[str, str]) -> None:
    """The product's image, built once the way a user builds it, with package indexes in reach."""
    docker_engine.restart("host")
    docker_engine.run("docker", "compose", "build", folder=ROOT, seconds=600, variables=variables)
    docker_engine.restart("netns")


@pytest.fixture(params=COMPOSE.values(), ids=COMPOSE)
def system(
    request: pytest.FixtureRequest, docker_engine: Any, variables: dict[str, str], image: None
) -> Iterator[System]:
    """The shipped Compose file, up; everything of it is gone afterwards."""
    system = System(engine=docker_engine, tool=request.param, variables=variables)
    try:
        system.up()
        yield system
    finally:
        system.compose("down", "--volumes", "--timeout", "20")


@pytest.mark.parametrize("tool", COMPOSE.values(), ids=COMPOSE)
@pytest.mark.parametrize(
    "files",
    [
        ("docker-compose.yml",),
        ("compose.small.yml",),
        ("docker-compose.yml", "deploy/compose.socket-proxy.yml"),
    ],
    ids=" with ".join,
)
def test_every_compose_file_is_read_by_the_new_tool_and_by_the_old_one(
    docker_engine: Any, tool: tuple[str, ...], files: tuple[str, ...]
) -> None:
    """Nothing in them is known to one of the two alone."""
    chosen = [word for file in files for word in ("-f", file)]
    printed = docker_engine.run(*tool, *chosen, "config", folder=ROOT)
    assert "eclipse-mosquitto:2.1.2-alpine" in printed


def test_everything_comes_up_and_is_healthy(system: System) -> None:
    """One-shots end well, all others run, answer their health check, and were never restarted."""
    system.until_healthy()
    states = system.containers()
    assert set(states) == {"bus", *WORKERS, *ONE_SHOT}
    assert all(states[service].startswith("Exited (0)") for service in ONE_SHOT)
    assert {
        service: system.inspect(service)["RestartCount"] for service in WORKERS
    } == dict.fromkeys(WORKERS, 0)


@pytest.mark.parametrize("system", [COMPOSE["Compose v2"]], indirect=True, ids=["Compose v2"])
def test_a_hand_published_observation_becomes_an_eviction(system: System) -> None:
    """Pressure, decision, request, Eviction: all from one line typed by a person."""
    system.until_healthy()
    system.publish(f"evictd/v1/{NODE}/observation", _observation())
    system.until("memory is short", lambda: _condition(system, "MemoryPressure") == "True")
    system.until("a decision names a victim", lambda: _decision(system).get("action") == "Evict")
    request = f"evictd/v1/{NODE}/evictionrequests/evictd.io/node-pressure/shop/+"
    system.until("the request is out", lambda: system.retained(request))
    system.until("the default responder is asked", lambda: "imperative-eviction" in _active(system))


@pytest.mark.parametrize("system", [COMPOSE["Compose v2"]], indirect=True, ids=["Compose v2"])
def test_the_bus_is_reached_on_loopback_and_only_with_a_login(system: System) -> None:
    """The published port answers, and refuses who says no name."""
    refused = system._try(
        *(str(ROOT / "tests/lab/engine/engine.sh"), "inside"),
        *("mosquitto_sub", "-h", "127.0.0.1", "-p", "18830", "-E", "-t", "health"),
    )
    assert "not authori" in (refused.stdout + refused.stderr).lower()
    assert refused.returncode != 0


def _observation() -> dict[str, Any]:
    web = {
        "namespace": "shop",
        "name": "web",
        "uid": POD_UID,
        "requests": {"memory": 268435456},
        "stats": {"memory": {"workingSetBytes": 536870912}},
    }
    return {
        "node": NODE,
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "signals": {"memory.available": {"available": 402653184, "capacity": 4294967296}},
        "pods": [web],
    }


def _condition(system: System, kind: str) -> str | None:
    pressure = system.retained(f"evictd/v1/{NODE}/pressure") or {"conditions": []}
    return next((c["status"] for c in pressure["conditions"] if c["type"] == kind), None)


def _decision(system: System) -> dict[str, Any]:
    return system.retained(f"evictd/v1/{NODE}/decision") or {}


def _active(system: System) -> str:
    eviction = system.retained(f"evictd/v1/{NODE}/evictions/shop/+") or {}
    responders = eviction.get("status", {}).get("targetResponders", [])
    return " ".join(r["name"] for r in responders if r.get("state") == "Active")
