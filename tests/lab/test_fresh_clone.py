"""A fresh clone and the README's two commands, with nothing else installed, as root and as somebody
who is not: it comes up, also beside another broker, and again after it was killed."""

from __future__ import annotations

import json
import os
import pwd
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.machine import PATIENCE_SECONDS, until

ROOT = Path(__file__).parents[2]
STORY_SECONDS = 400
INSTALL_SECONDS = 150.0
USUAL_PORT = 1883
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PIP_NEEDS = ("PIP_", "SSL_CERT_", "REQUESTS_CA_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""Beginnings of the variables by which pip reaches its packages."""


class Visitor:
    """Somebody with a clone, a home and the system's own commands."""

    def __init__(self, account: str, folder: Path) -> None:
        self.account = pwd.getpwnam(account)
        self.folder = folder
        self.checkout = folder / "evictd"
        self.starts = 0
        subprocess.run(
            ["git", "-c", "safe.directory=*", "clone", "-q", "--no-hardlinks", ROOT, self.checkout],
            check=True,
            timeout=PATIENCE_SECONDS,
        )
        owner = f"{self.account.pw_uid}:{self.account.pw_gid}"
        subprocess.run(["chown", "-R", owner, folder], check=True, timeout=PATIENCE_SECONDS)
        passed = {n: v for n, v in os.environ.items() if n.upper().startswith(PIP_NEEDS)}
        self.environment = {**passed, "PATH": SYSTEM_PATH, "HOME": str(folder)}
        self.state = folder / ".local" / "state" / "evictd"
        if account == "root":  # whose own folders belong to the machine
            self.state = folder / "state"
            self.environment["EVICTD_STATEFOLDER"] = str(self.state)
            self.environment["RUNTIME_DIRECTORY"] = str(folder / "run")

    def type(self, command: str, seconds: float = PATIENCE_SECONDS) -> str:
        """Run a command to its end; it must succeed."""
        result = self.run(command, seconds)
        assert result.returncode == 0, f"{command}\n{result.stdout}"
        return result.stdout

    def run(self, command: str, seconds: float) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, with all that it says in `stdout`."""
        return subprocess.run(
            ["sh", "-c", command],
            **self._as_person(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )

    @contextmanager
    def up(self) -> Iterator[subprocess.Popen[bytes]]:
        """`./up`, until it is connected; SIGTERM ends it well unless it was killed before."""
        self.starts += 1
        said = self.folder / f"up-{self.starts}.log"
        with said.open("wb") as log:
            process = subprocess.Popen(
                ["./up"],
                **self._as_person(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

        def connected() -> bool:
            assert process.poll() is None, said.read_text()
            return '"connected"' in said.read_text()

        try:
            until("it is up", connected, INSTALL_SECONDS)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(PATIENCE_SECONDS)
        assert code in (0, -signal.SIGKILL), said.read_text()

    def works(self) -> None:
        """Its workers are alive, and a client without any option hears from them."""
        self.type(".venv/bin/evictd client-config")
        status = json.loads(self.type("mosquitto_sub -C 1 -W 10 -t evictd/v1/+/workers/all"))
        assert status["status"] == "ready"
        health = ".venv/bin/evictd health"
        until("it is alive", lambda: not self.run(health, PATIENCE_SECONDS).returncode)
        assert "responder: alive" in self.type(health)

    def broker(self) -> tuple[int, int]:
        """Process id and port of the broker that evictd owns."""
        record = json.loads((self.state / "broker-record.json").read_text())
        return int(record["pid"]), int(record["port"])

    def _as_person(self) -> dict[str, object]:
        return {
            "user": self.account.pw_uid,
            "group": self.account.pw_gid,
            "extra_groups": [],
            "cwd": self.checkout,
            "env": self.environment,
        }


@pytest.fixture(params=["root", "plain"])
def account(request: pytest.FixtureRequest) -> Iterator[str]:
    """Root, or an account that is made for the test and gone after it."""
    if request.param == "root":
        yield "root"
        return
    name = f"evictd-{os.getpid()}"
    made = ["useradd", "--no-create-home", "--shell", "/bin/sh", name]
    subprocess.run(made, check=True, timeout=PATIENCE_SECONDS)
    yield name
    subprocess.run(["userdel", name], check=True, timeout=PATIENCE_SECONDS)


@pytest.fixture
def visitor(account: str) -> Iterator[Visitor]:
    """In a folder that everybody may pass through, as a home is."""
    with tempfile.TemporaryDirectory(prefix="evictd-clone-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield Visitor(account, folder)


@pytest.fixture
def another_broker() -> Iterator[None]:
    """Somebody's Mosquitto on the usual port; whoever has that port already will do."""
    process = subprocess.Popen(
        ["mosquitto", "-p", str(USUAL_PORT)],
        env={**os.environ, "PATH": SYSTEM_PATH},
        stderr=subprocess.DEVNULL,
    )
    until("the usual port is taken", lambda: takes_connections(USUAL_PORT))
    yield
    process.kill()
    process.wait()


def takes_connections(port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def is_mosquitto(process: int) -> bool:
    """Whether the process of that id is a broker, and not dead."""
    try:
        return "mosquitto" in Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return False


@pytest.mark.timeout(STORY_SECONDS)
def test_a_clone_and_two_commands(visitor: Visitor, another_broker: None) -> None:
    """Nothing of the first life is in the way of the second, and the tests run there."""
    with visitor.up() as first:
        visitor.works()
        broker, port = visitor.broker()
        assert port != USUAL_PORT
        first.kill()
        first.wait()
    with visitor.up():
        visitor.works()
        again, same_port = visitor.broker()
        assert not is_mosquitto(broker) or broker == again
        assert same_port == port
    until("the broker has gone with it", lambda: not is_mosquitto(again))
    told = visitor.type("./test tests/house/test_house_rules.py -q", INSTALL_SECONDS)
    assert " passed in " in told
