"""evictd as real processes on a real bus: started, killed, heard and spoken to as people do it.

Every process is ended by its own id. Nothing here knows what evictd should do.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOME = "edge-7"
ROLES = ("collector", "evaluator", "evictor", "controller", "responder")
PATIENCE_SECONDS = 20.0
STOP_SECONDS = 8.0
"""An orderly end takes no longer, whatever the broker does."""
LOOK_SECONDS = 0.02
LOG_LINES = 25
"""Of each process, in the note of a failure."""
PROBE = "evictd/v1/nobody/probe"
"""No topic of the contract: who hears it hears everything."""


def until(what: str, holds: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    """Look again until it is true of real processes; a failure says what was waited for."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        pause.wait(LOOK_SECONDS)


@dataclass(frozen=True, kw_only=True)
class Heard:
    """One message as a client got it; an empty payload says "gone"."""

    topic: str
    payload: bytes
    listed: bool

    @property
    def content(self) -> Any:
        """The decoded payload, None where it is empty."""
        return json.loads(self.payload) if self.payload else None


class Ear:
    """A `mosquitto_sub` that hears everything. It connects again by itself."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self.command = tuple(command)
        """A subscription with the same login."""
        self.messages: list[Heard] = []
        self.state: dict[str, bytes] = {}
        """What the newest message of each topic said, events apart."""
        self._process = subprocess.Popen(
            [*command, "-q", "1", "-t", "evictd/#", "-F", "%r %t %x"],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            listed, topic, payload = line.rstrip("\n").split(" ", 2)
            heard = Heard(topic=topic, payload=bytes.fromhex(payload), listed=listed == "1")
            if "/events/" not in topic:
                self.state[topic] = heard.payload
            self.messages.append(heard)

    def close(self) -> None:
        """End the client, by SIGKILL: its handler of SIGTERM locks up now and then."""
        self._process.kill()
        self._thread.join(PATIENCE_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.wait(PATIENCE_SECONDS)

    def now(self, topic: str) -> Any:
        """What is on a topic as far as was heard, None where nothing is."""
        payload = self.state.get(topic)
        return json.loads(payload) if payload else None

    def below(self, prefix: str) -> dict[str, Any]:
        """Every topic that begins like this and has something on it now."""
        found = tuple(self.state.items())
        return {
            topic: json.loads(text) for topic, text in found if topic.startswith(prefix) and text
        }

    def events(self, node: str, reason: str) -> list[Any]:
        """The events of one Reason of a node, oldest first, each id once as readers count it."""
        found = (
            message.content
            for message in tuple(self.messages)
            if message.topic.startswith(f"evictd/v1/{node}/events/")
            and message.topic.endswith(f"/{reason}")
        )
        return list({event["id"]: event for event in found}.values())


@dataclass(kw_only=True)
class Site:
    """A machine with evictd's processes, its settings and state in a folder of its own.

    Without `broker` (an address) it has the one that `evictd up` owns.
    """

    folder: Path
    settings: dict[str, Any]
    broker: str | None = None
    node: str = HOME
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ear: Ear = field(init=False)
    probes: int = 0

    @property
    def environment(self) -> dict[str, str]:
        """All that a process of this site is told."""
        told = {
            "PATH": f"{os.environ['PATH']}:/usr/sbin",
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "RUNTIME_DIRECTORY": str(self.folder / "run"),
            "EVICTD_STATEFOLDER": str(self.folder / "state"),
            "EVICTD_CONFIG": str(self.folder / "evictd.yaml"),
            "EVICTD_NODE": self.node,
        }
        return told if self.broker is None else {**told, "EVICTD_BROKER": self.broker}

    @property
    def root(self) -> str:
        """Where the topics of this machine begin."""
        return f"evictd/v1/{self.node}"

    @contextmanager
    def running(self, *workers: str) -> Iterator[Site]:
        """Start workers, or `up`; when all are ready the test goes on; all end orderly."""
        self.folder.chmod(0o711)  # the owned broker runs as another user
        (self.folder / "evictd.yaml").write_text(json.dumps(self.settings))
        with ExitStack() as stack:
            stack.enter_context(self._telling())
            stack.callback(self.end)
            for worker in workers:
                self.start(worker)
            if self.broker is None:
                until("the owned broker is there", lambda: '"connected"' in self.log("up"))
                self.call("client-config")
            self.ear = Ear(["mosquitto_sub", *self._options()], self.environment)
            stack.callback(self.ear.close)
            self.await_hearing()
            for worker in workers:
                self.await_ready(worker)
            yield self

    def start(self, worker: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start one process; what it says goes to a log of its own."""
        arguments = ("up",) if worker == "up" else ("run", worker)
        with self._log(worker).open("ab") as log:
            self.processes[worker] = subprocess.Popen(
                [sys.executable, "-m", "evictd", *arguments],
                env={**self.environment, **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self.processes[worker]

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run evictd to its end; it must succeed."""
        return subprocess.run(
            [sys.executable, "-m", "evictd", *arguments],
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def kill(self, worker: str) -> None:
        """SIGKILL to one process, and its end."""
        process = self.processes.pop(worker)
        process.kill()
        process.wait(PATIENCE_SECONDS)

    def end(self) -> None:
        """SIGTERM to all; each must end by itself, in time and well."""
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        codes = {name: process.wait(PATIENCE_SECONDS) for name, process in self.processes.items()}
        self.processes.clear()
        assert set(codes.values()) <= {0}, codes

    def publish(self, topic: str, content: dict[str, Any] | bytes, *, retain: bool = False) -> None:
        """By the standard client, as a person would."""
        payload = content if isinstance(content, bytes) else json.dumps(content).encode()
        subprocess.run(
            [
                *("mosquitto_pub", *self._options(), "-q", "1", "-t", topic),
                *(("-s",) if payload else ("-n",)),
                *(("-r",) if retain else ()),
            ],
            input=payload,
            env=self.environment,
            check=True,
            timeout=PATIENCE_SECONDS,
        )

    def status(self, worker: str) -> Any:
        """What a process says of itself on the bus, {} before it said anything."""
        return self.ear.now(f"{self.root}/workers/{'all' if worker == 'up' else worker}") or {}

    def await_ready(self, worker: str, *, after_epoch: int = 0, after_connection: int = 0) -> None:
        """Until it is there in a life or connection newer than these."""

        def ready() -> bool:
            status = self.status(worker)
            return (
                status.get("status") == "ready"
                and status["epoch"] > after_epoch
                and status["connection"] > after_connection
            )

        until(f"{worker} is ready", ready)

    def await_hearing(self) -> None:
        """Until the client hears what is published now, after a broker was gone too."""
        self.probes += 1
        wanted = str(self.probes).encode()
        self.publish(PROBE, wanted, retain=True)
        until("the client hears", lambda: self.ear.state.get(PROBE) == wanted)

    def log(self, worker: str) -> str:
        """What a process has said so far."""
        return self._log(worker).read_text()

    def _log(self, worker: str) -> Path:
        return self.folder / f"{worker}.log"

    def _options(self) -> list[str]:
        """None where evictd itself has written them, for the broker that it owns."""
        if self.broker is None:
            return []
        return ["-V", "5", "-h", "127.0.0.1", "-p", self.broker.rpartition(":")[2]]

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """In a failure stands what the processes said."""
        try:
            yield
        except AssertionError as failure:
            for log in sorted(self.folder.glob("*.log")):
                tail = "\n".join(log.read_text().splitlines()[-LOG_LINES:])
                failure.add_note(f"--- {log.stem}\n{tail}")
            raise
