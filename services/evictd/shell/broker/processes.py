"""Processes by id and start time, so that a number that was given again is never taken for ours."""

import os
import signal
from pathlib import Path
from threading import Event

PAUSE_SECONDS = 0.02


def start_time(pid: int) -> int | None:
    """Clock ticks after boot at which the process began; None when it is gone or dead.

    [proc(5), stat, field 22]
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])


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
