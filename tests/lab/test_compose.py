"""The Compose files, brought up for real: image, logins, broker, one container for each worker.

No image registry is needed: the base images are stand-ins made of Debian's packages.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.lab.hand import NODE, OTHERS, POD_UID, observation
from tests.machine import until

ROOT = Path(__file__).parents[2]
FULL = ("docker-compose.yml",)
SMALL = ("compose.small.yml",)
WITH_PROXY = (*FULL, "deploy/compose.socket-proxy.yml")
WORKERS = ("collector", "evaluator", "evictor", "controller", "responder")
ONE_SHOT = ("bus-init", "node-name")
COMPOSE = {"Compose v2": ("docker", "compose"), "docker-compose 1.29": ("docker-compose",)}
ATTEMPT_SECONDS = 120  # starting everything on two busy cores
ENGINE_FAULT = "failed to create shim task"
# An engine under load rarely loses a network namespace while it starts a container; a user types
# `up` again, and so does the test, once.
TOPICS = "evictd/v1"
RESPONDER = "imperative-eviction.k8s.io/evictor"

# Containers of five workers start on two cores; making images is the fixtures' time.
pytestmark = pytest.mark.timeout(180, func_only=True)


@dataclass(frozen=True, kw_only=True)
class System:
    """One `up` of Compose files, with the tool that did it."""

    engine: Any
    variables: dict[str, str]
    tool: tuple[str, ...] = COMPOSE["Compose v2"]
    files: tuple[str, ...] = FULL
    project: str = "evictd-lab"

    @property
    def command(self) -> tuple[str, ...]:
        """The Compose tool, and what every call of it says."""
        files = (word for file in self.files for word in ("--file", file))
        return (*self.tool, "--project-name", self.project, *files)

    @property
    def workers(self) -> tuple[str, ...]:
        """The services that run evictd."""
        return ("evictd",) if self.files == SMALL else WORKERS

    @contextmanager
    def up(self) -> Iterator[System]:
        """Everything runs and is healthy; all of it is gone afterwards."""
        try:
            with self._telling():
                self._start()
            for service in ("bus", *self.workers):
                self.until(f"{service} is healthy", partial(self.is_healthy, service))
            yield self
        finally:
            self.compose("down", "--volumes", "--timeout", "20")

    def _start(self) -> None:
        started = self.attempt(*self.command, "up", "-d", "--no-build")
        if started.returncode:
            assert ENGINE_FAULT in started.stderr, started.stderr
            self.compose("up", "-d", "--no-build")

    def compose(self, *arguments: str, seconds: float = 120) -> str:
        """Run the Compose tool on these files."""
        command = (*self.command, *arguments)
        return self.engine.run(*command, folder=ROOT, seconds=seconds, variables=self.variables)

    def until(self, what: str, condition: Callable[[], object], seconds: float = 60.0) -> None:
        """Wait until something is true of the containers; fail when it is not in time."""
        with self._telling():
            until(what, condition, seconds, look_seconds=0.2)  # each look starts programs

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
        return self.attempt("docker", "exec", described["Id"], *words).returncode == 0

    def publish(self, topic: str, message: dict[str, Any]) -> None:
        """What a person does with the documented line."""
        self.compose(
            "exec", "-T", "bus", "mosquitto_pub", "-r", "-q", "1", "-t", topic,
            "-m", json.dumps(message),
        )  # fmt: skip

    def retained(self, topic_filter: str) -> dict[str, Any] | None:
        """The first retained message that matches, or None."""
        command = ("exec", "-T", "bus", "mosquitto_sub", "-C", "1", "-W", "2", "-t", topic_filter)
        heard = self.attempt(*self.command, *command)
        return dict(json.loads(heard.stdout)) if heard.stdout.strip() else None

    @contextmanager
    def hearing(self, folder: Path) -> Iterator[Callable[[], list[str]]]:
        """Gives the Reasons of the node's events so far. Workers' retained states come with the
        same subscription, so that hearing them is being subscribed."""
        heard = folder / "topics"
        topics = ("-t", f"{TOPICS}/{NODE}/events/#", "-t", f"{TOPICS}/+/workers/#")
        with heard.open("wb") as output:
            listener = subprocess.Popen(
                [*self.command, "exec", "-T", "bus", "mosquitto_sub", "-F", "%t", *topics],
                env={**self.engine.environment, **self.variables},
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
            )
        try:
            self.until("somebody listens", lambda: "/workers/" in heard.read_text())
            yield lambda: [
                topic.rpartition("/")[2]
                for topic in heard.read_text().splitlines()
                if "/events/" in topic
            ]
        finally:
            listener.kill()
            listener.wait()

    def attempt(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program that may fail."""
        return subprocess.run(
            command,
            env={**self.engine.environment, **self.variables},
            cwd=ROOT,
            check=False,
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ATTEMPT_SECONDS,
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


@pytest.fixture
def system(docker_engine: Any, variables: dict[str, str], image: None) -> System:
    """The shipped Compose file with the new tool, not yet up."""
    return System(engine=docker_engine, variables=variables)


@pytest.fixture
def fill(docker_engine: Any) -> Iterator[Callable[..., None]]:
    """Start a container outside the project that fills memory and keeps it."""
    names = []

    def start(name: str, *, mebibytes: int, priority: str) -> None:
        names.append(name)
        hog = f"""if True:
            import signal
            signal.signal(signal.SIGTERM, lambda *_: exit())
            held = bytearray({mebibytes} << 20)
            signal.pause()"""
        docker_engine.docker(
            *("run", "--detach", "--network=none", f"--name={name}"),
            *(f"--label=evictd.priority={priority}", docker_engine.image, "python3", "-c", hog),
        )

    yield start
    docker_engine.docker("rm", "--force", *names)


@pytest.mark.parametrize("tool", COMPOSE.values(), ids=COMPOSE)
@pytest.mark.parametrize("files", [FULL, SMALL, WITH_PROXY], ids=" with ".join)
def test_every_compose_file_is_read_by_the_new_tool_and_by_the_old_one(
    docker_engine: Any, tool: tuple[str, ...], files: tuple[str, ...]
) -> None:
    """Nothing in them is known to one of the two alone."""
    printed = System(engine=docker_engine, variables={}, tool=tool, files=files).compose("config")
    assert "eclipse-mosquitto:2.1.2-alpine" in printed


@pytest.mark.parametrize("files", [FULL, SMALL], ids=" with ".join)
@pytest.mark.parametrize("tool", COMPOSE.values(), ids=COMPOSE)
def test_everything_comes_up_and_is_healthy(
    system: System, tool: tuple[str, ...], files: tuple[str, ...]
) -> None:
    """One-shots end well, all others run, answer their health check, and were never restarted."""
    with replace(system, tool=tool, files=files).up() as running:
        states = running.containers()
        assert set(states) == {"bus", *running.workers, *ONE_SHOT}
        assert all(states[service].startswith("Exited (0)") for service in ONE_SHOT)
        assert not any(running.inspect(service)["RestartCount"] for service in running.workers)


@pytest.mark.parametrize("files", [FULL, SMALL], ids=" with ".join)
def test_a_hand_published_observation_becomes_an_eviction(
    system: System, files: tuple[str, ...], tmp_path: Path
) -> None:
    """Pressure, decision, request, Eviction, and its end when the victim is not observed any more:
    all from two lines typed by a person."""
    with replace(system, files=files).up() as running, running.hearing(tmp_path) as reasons:
        running.publish(f"{TOPICS}/{NODE}/observation", observation())
        running.until("a responder has its turn", lambda: "ResponderActive" in reasons())
        assert _condition(running) == "True"
        ranking = _decision(running)["ranking"]
        order = [(row["pod"]["name"], row["verdict"]) for row in ranking]
        assert order == [("db", "Critical"), ("web", "Victim"), ("cache", "Candidate")]
        request = f"{TOPICS}/{NODE}/evictionrequests/evictd.io/node-pressure/shop/+"
        asked = running.retained(request)
        assert asked is not None
        assert asked["spec"]["target"]["pod"] == {"name": "web", "uid": POD_UID}
        assert _active(running) == RESPONDER
        assert "Evicted" not in reasons()
        running.publish(f"{TOPICS}/{NODE}/observation", observation(*OTHERS, mebibytes=912))
        running.until("it is over", lambda: "Evicted" in reasons())
        told = Counter(reasons())
        once = ("EvictionThresholdMet", "EvictionRequested", "ResponderActive", "Evicted")
        assert [told[reason] for reason in once] == [1, 1, 1, 1]
        assert _condition(running) == "True", "it stays for the transition period"


@pytest.mark.parametrize("files", [FULL, SMALL], ids=" with ".join)
def test_people_read_and_ask_in_a_container_of_their_own(
    system: System, files: tuple[str, ...]
) -> None:
    """With the operator's login; in a worker's container with that of the worker, to read only."""
    with replace(system, files=files).up() as running:
        running.publish(f"{TOPICS}/{NODE}/observation", observation())
        running.until("memory is short", lambda: _condition(running) == "True")
        person = ("run", "--rm", "-T", "cli")
        assert NODE in running.compose(*person, "get", "nodes", "-o", "name").split()
        asked = running.compose(*person, "request", "shop/web", "--reason", "moving")
        assert f"{TOPICS}/{NODE}/evictionrequests/evictd.io/cli/shop/web-" in asked
        asking = f"{TOPICS}/{NODE}/evictionrequests/evictd.io/cli/shop/+/status"
        running.until("the controller answers", lambda: running.retained(asking))
        worker = "evictd" if files == SMALL else "controller"
        inside = ("exec", "-T", worker, "evictd")
        assert NODE in running.compose(*inside, "get", "nodes", "-o", "name").split()
        gone = {**observation(), "pods": []}
        running.publish(f"{TOPICS}/{NODE}/observation", gone)
        running.until("it is told", lambda: "web" in running.compose(*inside, "history"))


def test_the_simulated_machine_of_the_demo_profile_is_relieved(system: System) -> None:
    """It publishes under its own login, and the workers beside it name a victim."""
    profiled = {**system.variables, "COMPOSE_PROFILES": "demo"}
    with replace(system, variables=profiled).up() as running:
        decision = f"{TOPICS}/demo-1/decision"
        running.until(
            "a victim is named",
            lambda: (running.retained(decision) or {}).get("action") in {"Evict", "Wait"},
        )
        assert running.inspect("demo")["RestartCount"] == 0


def test_the_bus_is_reached_on_loopback_and_only_with_a_login(system: System) -> None:
    """The published port answers, and refuses who says no name."""
    with system.up() as running:
        refused = running.attempt(
            *(str(ROOT / "tests/lab/engine/engine.sh"), "inside"),
            *("mosquitto_sub", "-h", "127.0.0.1", "-p", "18830", "-E", "-t", "health"),
        )
    assert "not authori" in (refused.stdout + refused.stderr).lower()
    assert refused.returncode != 0


def refused(running: System) -> list[str]:
    """What the proxy kept back. The engine's statistics nobody needs: they are asked for only while
    a container that ends or begins has no processes in sight."""
    lines = running.compose("logs").splitlines()
    return [line for line in lines if "refused:" in line and "/stats?" not in line]


@pytest.mark.parametrize("files", [FULL, WITH_PROXY], ids=" with ".join)
def test_a_container_is_stopped_for_real_when_memory_is_short(
    system: System, files: tuple[str, ...], fill: Callable[..., None], tmp_path: Path
) -> None:
    """The way of the data with nothing simulated: cgroup, collector, bus, engine, and a neighbour
    that is more important stays."""
    with replace(system, files=(*files, _acting(system, tmp_path))).up() as running:
        running.until("the node was seen", lambda: running.retained(f"{TOPICS}/+/observation"))
        fill("important", mebibytes=64, priority="high")
        fill("hungry", mebibytes=700, priority="low")
        running.until("the hungry one ends", lambda: _state(running, "hungry") == "exited")
        stopped = f"{TOPICS}/+/stopped/_/hungry"
        running.until("what is down is told", lambda: running.retained(stopped))
        assert (running.retained(stopped) or {})["signal"] == "memory.available"
        assert _state(running, "important") == "running"
        assert {s for s, state in running.containers().items() if not state.startswith("Up")} == {
            *ONE_SHOT
        }
        assert refused(running) == [], "the proxy lets through what is needed"


def _acting(system: System, folder: Path) -> str:
    """A Compose file over the shipped one: the engine's capped cgroup is the machine, and evictd
    may act on it."""
    sources = {
        "procPath": "/host/proc",
        "cgroupPath": "/host/cgroup",
        "memory": {"cgroup": f"/{system.engine.cgroup}"},
        "fileSystems": {"nodefs": "/host/nodefs", "imagefs": "/host/imagefs"},
    }
    settings = folder / "evictd.yaml"
    settings.write_text("mode: act\nevictionHard: {memory.available: 800Mi}\n")
    mount = {"volumes": [f"{settings}:/etc/evictd/evictd.yaml:ro"]}
    services: dict[str, Any] = {worker: dict(mount) for worker in WORKERS}
    services["collector"]["environment"] = {"EVICTD_SOURCES": json.dumps(sources)}
    over = folder / "compose.acting.yml"
    over.write_text(json.dumps({"services": services}))
    return str(over)


def _state(system: System, name: str) -> str:
    return str(system.engine.docker("inspect", "--format={{.State.Status}}", name)).strip()


def _condition(system: System) -> str | None:
    pressure = system.retained(f"{TOPICS}/{NODE}/pressure") or {"conditions": []}
    return next(
        (c["status"] for c in pressure["conditions"] if c["type"] == "MemoryPressure"), None
    )


def _decision(system: System) -> dict[str, Any]:
    return system.retained(f"{TOPICS}/{NODE}/decision") or {}


def _active(system: System) -> str:
    eviction = system.retained(f"{TOPICS}/{NODE}/evictions/shop/+") or {}
    responders = eviction.get("status", {}).get("targetResponders", [])
    return " ".join(entry["name"] for entry in responders if entry.get("state") == "Active")
