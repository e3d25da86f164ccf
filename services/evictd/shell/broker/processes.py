"""Processes by id and start time, so that a number that was given again is never taken for ours."""

import os
import signal
from pathlib import Path
from threading import Event

from evictd.shell.kernel_text import process_stat

PAUSE_SECONDS = 0.02


def start_time(pid: int) -> int | None:
    """Clock ticks after boot at which the process began; None when it is gone or dead.

    Raises `HostError` for what makes no sense.
    """
    place = Path(f"/proc/{pid}/stat")
    try:
        text = place.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = process_stat(text, place)
    return None if found.state in "ZX" else found.start_ticks


def end(pid: int, started: int, seconds: float) -> None:
    """SIGTERM, and SIGKILL after that time; nothing if that very process is gone. Blocking."""
    pause = Event()
    for number, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, seconds)):
        if start_time(pid) != started:
            return
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        for _ in range(int(patience / PAUSE_SECONDS)):
            if start_time(pid) != started:
                return
            pause.wait(PAUSE_SECONDS)
