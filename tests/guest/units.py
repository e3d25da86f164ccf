"""Units of a real systemd by hand: started, looked at, and deaf before anybody stops them."""

import signal
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from anyio import to_thread
from tests.machine import until

CALL_SECONDS = 100

T = TypeVar("T")


async def away(function: Callable[..., T], *words: object, **named: object) -> T:
    """What blocks, away from the loop."""
    return await to_thread.run_sync(partial(function, *words, **named))


def systemctl(*words: str) -> str:
    """By hand, and it must succeed."""
    finished = subprocess.run(
        ["systemctl", *words], capture_output=True, text=True, timeout=CALL_SECONDS, check=False
    )
    assert finished.returncode == 0, (words, finished.stderr)
    return finished.stdout


def start(name: str, *, deaf: bool = False) -> None:
    """By hand. A shell is deaf only after its first line, which is waited for."""
    systemctl("start", name)
    if deaf:
        process_id = shown(name, "MainPID")
        until(f"{name} is deaf", lambda: ignores_its_end(process_id))


def ignores_its_end(process_id: str) -> bool:
    """Whether SIGTERM is among what it ignores."""
    status = Path(f"/proc/{process_id}/status").read_text()
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored.split()[1], 16) & 1 << signal.SIGTERM - 1)


def shown(name: str, word: str = "ActiveState") -> str:
    """One word of systemd about a unit."""
    return systemctl("show", f"--property={word}", "--value", name).strip()
