"""Podman as systemd runs it on the guest, by units of its own, with one image."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.guest import bare_image
from tests.guest.units import CALL_SECONDS, systemctl

SOCKET = Path("/run/podman/podman.sock")
ADDRESS = f"unix://{SOCKET}"
IMAGE = "localhost/machine"
WILLING = "trap 'exit 3' TERM; while :; do sleep 0.1; done"
DEAF = "trap '' TERM; while :; do sleep 0.1; done"
SETTINGS = Path("/etc/containers/containers.conf.d/guest.conf")
# By itself the service ends five seconds after the last call, and needs seconds here to begin.
CONTENT = "[engine]\nservice_timeout = 0\n"


@contextmanager
def podman_service() -> Iterator[None]:
    """As on a machine whose owner has enabled the socket."""
    SETTINGS.parent.mkdir(parents=True, exist_ok=True)
    SETTINGS.write_text(CONTENT)
    systemctl("start", "podman.socket")
    try:
        _answered()
        podman("import", "-", IMAGE, given=bare_image.archive())
        yield
    finally:
        systemctl("stop", "podman.socket", "podman.service")
        SETTINGS.unlink()


def _answered() -> None:
    """The first call is what starts it."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(CALL_SECONDS)
        connection.connect(str(SOCKET))
        connection.sendall(b"GET /info HTTP/1.0\r\n\r\n")
        assert connection.recv(1024).startswith(b"HTTP/1.0 200"), "its service does not answer"


def podman(*words: str, given: bytes | None = None) -> str:
    """One call of its own client; it must succeed."""
    finished = subprocess.run(
        ["podman", *words], input=given, capture_output=True, timeout=CALL_SECONDS, check=False
    )
    assert finished.returncode == 0, (words, finished.stderr.decode())
    return finished.stdout.decode().strip()
