"""A real Mosquitto: its own process, port, configuration and folder."""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

START_SECONDS = 10.0


class Mosquitto:
    """A broker that a test may kill, stop, empty and start again on the same port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"mqtt://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, *, persistent: bool = False, access: str | None = None) -> None:
        """Returns when it takes connections. `access`: the text of its access list."""
        configuration = self._folder / "mosquitto.conf"
        configuration.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n"
            "max_queued_messages 100000\nmax_inflight_messages 100\nmax_packet_size 4194304\n"
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
        for _ in range(int(START_SECONDS / 0.01)):
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
