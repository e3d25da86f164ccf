"""A real Mosquitto: its own process, port, configuration and folder."""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom

import pytest

START_SECONDS = 20.0
PORTS = range(20_000, 32_000)
"""Below those that the kernel gives to whoever connects: none of these is taken while its broker is
away and its clients try to connect again."""


def free_port() -> int:
    """One on which nobody listens. By chance, since other test processes look for one too."""
    for port in SystemRandom().sample(PORTS, len(PORTS)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no port of {PORTS} is free")


class Mosquitto:
    """A broker that a test may kill, stop, empty and start again on the same port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        self.url = f"mqtt://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(
        self,
        *,
        persistent: bool = False,
        access: str | None = None,
        queued_max: int = 100_000,
        inflight_max: int = 100,
    ) -> None:
        """Returns when it takes connections. `access`: the text of its access list; the others are
        messages that it keeps for one reader, and of which it waits for the answer."""
        configuration = self._folder / "mosquitto.conf"
        configuration.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
            f"max_queued_messages {queued_max}\nmax_inflight_messages {inflight_max}\n"
            "max_packet_size 4194304\n"
            f"persistence {'true' if persistent else 'false'}\n"
            f"persistence_location {self._folder}/\nlog_dest stdout\n"
            f"{'user root' if os.geteuid() == 0 else ''}\n"
            f"{self._access(access)}"
        )
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["mosquitto", "-c", configuration],
                stdout=log,
                stderr=log,
                env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"},
            )
        self._await_listening()

    def _access(self, text: str | None) -> str:
        if text is None:
            return ""
        file = self._folder / "access"
        file.write_text(text)
        file.chmod(0o600)
        return f"acl_file {file}\n"

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """At once, without saving; waits for the end."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _await_listening(self) -> None:
        pause = threading.Event()
        assert self._process is not None
        for _ in range(int(START_SECONDS / 0.01)):
            if self._process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                pause.wait(0.01)
            else:
                return
        raise AssertionError((self._folder / "log").read_text())


@pytest.fixture(scope="session")
def shared_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """One for all tests that leave it alone; each uses a node of its own."""
    broker = Mosquitto(tmp_path_factory.mktemp("mosquitto"))
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    """One for a test that hurts it."""
    broker = Mosquitto(tmp_path)
    broker.start()
    yield broker
    broker.kill()
