"""One machine with evictd's real processes: started, killed, and heard by a client of the bus.

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
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.lab.patience import PATIENCE

ROLES = ("collector", "evaluator", "evictor", "controller", "responder")
PATIENCE_SECONDS = 40.0 * PATIENCE
"""For what has no deadline of its own."""
LOOK_SECONDS = 0.02
LOG_LINES = 25
"""Of each process, in the note of a failure."""


def until(
    what: str,
    holds: Callable[[], object],
    seconds: float = PATIENCE_SECONDS,
    look_seconds: float = LOOK_SECONDS,
) -> None:
    """Look again until it is true of real processes; a failure says what was waited for."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        pause.wait(look_seconds)


@dataclass(frozen=True, kw_only=True)
class Heard:
    """One message as a client got it, and when; an empty payload says "gone"."""

    topic: str
    payload: bytes
    listed: bool
    boot_seconds: float

    @property
    def content(self) -> Any:
        """The decoded payload, None where it is empty."""
        return json.loads(self.payload) if self.payload else None


class Client:
    """A `mosquitto_sub` that hears its topics from its start on. It connects again by itself."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self.messages: list[Heard] = []
        self._process = subprocess.Popen(
            [*command, "-q", "1", "-F", "%r %t %x"],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def hear(self, heard: Heard) -> None:
        """Take one message, in a thread of its own."""
        self.messages.append(heard)

    def close(self) -> None:
        """End the client, by SIGKILL: its handler of SIGTERM locks up now and then."""
        self._process.kill()
        self._thread.join(PATIENCE_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.wait(PATIENCE_SECONDS)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            listed, topic, payload = line.rstrip("\n").split(" ", 2)
            self.hear(
                Heard(
                    topic=topic,
                    payload=bytes.fromhex(payload),
                    listed=listed == "1",
                    boot_seconds=time.clock_gettime(time.CLOCK_BOOTTIME),
                )
            )


@dataclass(kw_only=True)
class Machine:
    """evictd's processes, with settings and state in a folder of their own.

    Without `broker` (an address) it has the one that `evictd up` owns. `beside`: what comes before
    each command of evictd, such as one that enters a namespace.
    """

    folder: Path
    settings: dict[str, Any]
    broker: str | None = None
    node: str
    beside: tuple[str, ...] = ()
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """All that a process of this machine is told."""
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

    @property
    def listening(self) -> list[str]:
        """A subscription without its topics."""
        return ["mosquitto_sub", *self._options()]

    @contextmanager
    def started(self, *workers: str) -> Iterator[None]:
        """Start workers, or `up`; once there is a broker the test goes on; all end orderly."""
        self.folder.chmod(0o711)  # the owned broker runs as another user
        (self.folder / "evictd.yaml").write_text(json.dumps(self.settings))
        with self._telling():
            try:
                for worker in workers:
                    self.start(worker)
                if self.broker is None:
                    until("the owned broker is there", self._owned_broker_listens)
                    self.call("client-config")
                yield
            finally:
                self.end()

    def start(self, worker: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start one process; what it says goes to a log of its own."""
        arguments = ("up",) if worker == "up" else ("run", worker)
        with self._log(worker).open("ab") as log:
            self.processes[worker] = subprocess.Popen(
                [*self.beside, sys.executable, "-m", "evictd", *arguments],
                env={**self.environment, **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self.processes[worker]

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run evictd to its end; it must succeed."""
        ended = self.ends(*arguments)
        assert ended.returncode == 0, f"{arguments}: {ended.returncode}\n{ended.stderr}"
        return ended

    def ends(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run evictd to its end, whatever that is."""
        return subprocess.run(
            [sys.executable, "-m", "evictd", *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            check=False,
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

    def nobody_ended(self) -> None:
        """Who ended before it was ready would be waited for in vain."""
        codes = {name: process.poll() for name, process in self.processes.items()}
        assert set(codes.values()) <= {None}, f"ended: {codes}"

    def send(self, topic: str, content: dict[str, Any] | bytes, *, retain: bool) -> None:
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

    def log(self, worker: str) -> str:
        """What a process has said so far."""
        return self._log(worker).read_text()

    def _log(self, worker: str) -> Path:
        return self.folder / f"{worker}.log"

    def _owned_broker_listens(self) -> bool:
        self.nobody_ended()
        return '"connected"' in self.log("up")

    def _options(self) -> list[str]:
        """None where evictd itself has written them, for the broker that it owns."""
        if self.broker is None:
            return []
        return ["-V", "5", "-h", "127.0.0.1", "-p", self.broker.rpartition(":")[2]]

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """In a failure stands what the processes said, since their logs are gone afterwards."""
        try:
            yield
        except AssertionError as failure:
            for log in sorted(self.folder.glob("*.log")):
                tail = "\n".join(log.read_text().splitlines()[-LOG_LINES:])
                failure.add_note(f"--- {log.stem}\n{tail}")
            raise
