"""Sockets of the file system that tests listen on, wherever their folder lies."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def within_reach(folder: Path) -> Iterator[Path]:
    """The folder under a short name, good for this process and for those of the same user.

    The kernel takes a socket's path of 107 bytes at most, and the folder of a test may lie deeper.
    """
    opened = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield Path(f"/proc/{os.getpid()}/fd/{opened}")
    finally:
        os.close(opened)


def bind(listener: socket.socket, place: Path) -> None:
    """Give the socket its file, in a folder that is made with it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with within_reach(place.parent) as folder:
        listener.bind(str(folder / place.name))
