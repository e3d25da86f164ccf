"""Sockets of the file system that tests listen on, wherever their folder lies."""

import os
import socket
from pathlib import Path


def bind(listener: socket.socket, place: Path) -> None:
    """Give the socket its file, in a folder that is made with it.

    The kernel takes a path of 107 bytes at most, and the folder of a test may lie deeper: the file
    is named through its open folder.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{place.name}")
    finally:
        os.close(folder)
