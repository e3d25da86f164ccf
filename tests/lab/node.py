"""One machine as the lab runs it: evictd's processes, a broker, a client that hears all of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.integration.conftest import Mosquitto
from tests.lab.patience import PATIENCE

NAME = "lab"
ROOT = f"evictd/v1/{NAME}"
ROLES = ("collector", "evaluator", "evictor", "controller", "responder")
RESPONDER = "imperative-eviction.k8s.io/evictor"
REQUESTER = "acme.io/mover"
SESSION = ("-i", "ear", "-c", "-q", "1", "-x", "600")
START_SECONDS = 20.0 * PATIENCE
END_SECONDS = 15.0 * PATIENCE
WAIT_SECONDS = 15.0 * PATIENCE
"""For what has no deadline of its own."""
LOG_LINES = 25
"""Of each process, in the note of a failure."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """What the client heard, and when by the boot clock."""

    topic: str
    payload: str
    retained: bool
    boot_seconds: float

    @property
    def content(self) -> Any:
        """The decoded payload; None where it is empty, which means "gone"."""
        return json.loads(self.payload) if self.payload else None


class Ear:
    """A `mosquitto_sub` that hears everything of the node from its start on, with a session that
    outlives a broker's restart."""

    def __init__(self, options: list[str], environment: dict[str, str]) -> None:
        self.messages: list[Message] = []
        self._process = subprocess.Popen(
            ["mosquitto_sub", *options, *SESSION, "-t", f"{ROOT}/#", "-F", "%r %t %p"],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            retained, topic, payload = line.rstrip("\n").split(" ", 2)
            boot_seconds = time.clock_gettime(time.CLOCK_BOOTTIME)
            self.messages.append(
                Message(
                    topic=topic,
                    payload=payload,
                    retained=retained == "1",
                    boot_seconds=boot_seconds,
                )
            )

    def close(self) -> None:
        """End the client."""
        self._process.kill()  # its handler of SIGTERM locks up now and then
        self._thread.join(END_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.wait(END_SECONDS)

    def newest(self, below: str) -> Any:
        """The content of the newest message of a topic below the node, None before there is one."""
        found = self.all(below)
        return found[-1].content if found else None

    def all(self, below: str) -> list[Message]:
        """Everything heard on topics below the node that begin like this."""
        return [m for m in tuple(self.messages) if m.topic.startswith(f"{ROOT}/{below}")]

    def events(self, reason: str) -> list[Any]:
        """The events of one Reason, oldest first."""
        found = (m for m in self.all("events/") if m.topic.endswith(f"/{reason}"))
        return [m.content for m in found]

    def kernel_kills(self) -> list[Any]:
        """Workloads of the node that the kernel killed; what it killed elsewhere is no matter."""
        return [victim for oom in self.events("SystemOOM") for victim in oom["data"]["victims"]]


@dataclass(kw_only=True)
class Node:
    """evictd on this machine, with settings and state in a folder of its own."""

    folder: Path
    settings: dict[str, Any]
    broker: Mosquitto | None = None
    """None: the one that `evictd up` owns."""
    beside: tuple[str, ...] = ()
    """What comes before each command of evictd, such as one that enters a namespace."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    hears: Ear = field(init=False)

    @property
    def environment(self) -> dict[str, str]:
        """All that a process of this node is told."""
        told = {
            "PATH": f"{os.environ['PATH']}:/usr/sbin",
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "RUNTIME_DIRECTORY": str(self.folder / "run"),
            "EVICTD_STATEFOLDER": str(self.folder / "state"),
            "EVICTD_CONFIG": str(self.folder / "evictd.yaml"),
            "EVICTD_NODE": NAME,
        }
        return told if self.broker is None else {**told, "EVICTD_BROKER": self.broker.url}

    @contextmanager
    def separate(self) -> Iterator[Node]:
        """One process for each worker, beside a Mosquitto."""
        self.broker = Mosquitto(self.folder)
        self.broker.start()
        try:
            with self._running(*(("run", role) for role in ROLES)):
                yield self
        finally:
            self.broker.kill()

    def joined(self) -> AbstractContextManager[Node]:
        """One process for all of them, and for its broker."""
        return self._running(("up",))

    @contextmanager
    def _running(self, *commands: tuple[str, ...]) -> Iterator[Node]:
        """Start processes, wait until the node decides, and end everything afterwards."""
        self.folder.chmod(0o711)  # the owned broker runs as another user
        (self.folder / "evictd.yaml").write_text(json.dumps(self.settings))
        with ExitStack() as stack:
            stack.callback(self.end)
            stack.enter_context(self._telling())
            for command in commands:
                self.start(*command)
            self.hears = Ear(self._client_options(), self.environment)
            stack.callback(self.hears.close)
            self.until("every worker is ready", lambda: self._ready(commands), START_SECONDS)
            self.until("the node decides", lambda: self.hears.newest("decision"), START_SECONDS)
            yield self

    def start(self, *command: str) -> None:
        """Start one process of evictd; what it says goes to a log of its own."""
        name = command[-1]
        with self._log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*self.beside, sys.executable, "-m", "evictd", *command],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self, name: str) -> None:
        """SIGKILL to one process, and wait for its end."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(END_SECONDS)

    def end(self) -> None:
        """SIGTERM to all; each must end by itself, and well."""
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        codes = {name: process.wait(END_SECONDS) for name, process in self.processes.items()}
        self.processes.clear()
        assert set(codes.values()) <= {0}, f"{codes}\n{self._logs()}"

    def publish(self, below: str, content: dict[str, Any]) -> None:
        """Retained, by the standard client, as a person would."""
        message = ("-t", f"{ROOT}/{below}", "-r", "-q", "1", "-m", json.dumps(content))
        command = ["mosquitto_pub", *self._client_options(), *message]
        subprocess.run(command, env=self.environment, check=True, timeout=START_SECONDS)

    def pod(self, name: str) -> dict[str, Any] | None:
        """A workload as the newest observation has it."""
        observation = self.hears.newest("observation") or {}
        pods = observation.get("pods", [])
        return next((dict(pod) for pod in pods if pod["name"] == name), None)

    def available(self) -> float:
        """Bytes of memory available by the newest observation."""
        return float(self.hears.newest("observation")["signals"]["memory.available"]["available"])

    def until(
        self, what: str, condition: Callable[[], object], seconds: float = WAIT_SECONDS
    ) -> None:
        """Wait until something is true of real processes; fail when it is not in time."""
        deadline = time.monotonic() + seconds
        pause = threading.Event()
        while not condition():
            assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
            pause.wait(0.02)

    def looks_on(self, looks: int = 2) -> None:
        """Wait for a few more observations: what should not happen has had its chance."""
        seen = len(self.hears.all("observation"))
        self.until("it looks on", lambda: len(self.hears.all("observation")) >= seen + looks)

    def _ready(self, commands: tuple[tuple[str, ...], ...]) -> bool:
        self._nobody_ended()
        workers = ["all" if command == ("up",) else command[-1] for command in commands]
        statuses = [self.hears.newest(f"workers/{worker}") for worker in workers]
        return all(status and status["status"] == "ready" for status in statuses)

    def _client_options(self) -> list[str]:
        """None for the owned broker: evictd writes them down where the clients look."""
        if self.broker is not None:
            return ["-V", "5", "-h", "127.0.0.1", "-p", str(self.broker.port)]
        if not (self.folder / "config" / "mosquitto_sub").exists():
            self.until("the broker is there", self._listens, START_SECONDS)
            self._evictd("client-config")
        return []

    def _nobody_ended(self) -> None:
        """Who ended before it was ready would be waited for in vain."""
        codes = {name: process.poll() for name, process in self.processes.items()}
        assert set(codes.values()) <= {None}, f"ended: {codes}"

    def _listens(self) -> bool:
        self._nobody_ended()
        return '"connected"' in self._log("up").read_text()

    def _evictd(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "evictd", *arguments]
        subprocess.run(
            command, env=self.environment, check=True, timeout=START_SECONDS, stdout=subprocess.PIPE
        )

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """In a failure stands what the processes said, since their logs are gone afterwards."""
        try:
            yield
        except AssertionError as failure:
            failure.add_note(self._logs())
            raise

    def _logs(self) -> str:
        said = []
        for log in sorted(self.folder.glob("*.log")):
            said += [f"--- {log.stem}", *log.read_text().splitlines()[-LOG_LINES:]]
        return "\n".join(said)


def request(pod: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any]]:
    """What a person publishes to have a workload moved away: the topic below the node, and it."""
    below = f"evictionrequests/{REQUESTER}/{pod['namespace']}/move-{pod['name']}"
    target = {"pod": {"name": pod["name"], "uid": pod["uid"]}}
    spec = {"target": target, "requester": REQUESTER, "intent": "Eviction", **more}
    return below, {"spec": spec}


def condition(content: dict[str, Any], kind: str) -> tuple[str, str] | None:
    """Status and reason of a condition, None where it is not there."""
    conditions = content["status"].get("conditions", [])
    return next(((c["status"], c["reason"]) for c in conditions if c["type"] == kind), None)
