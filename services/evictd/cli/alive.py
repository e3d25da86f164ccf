"""Where signs of life are written and looked for. Nothing heavy: `evictd health` imports it."""

import os
from pathlib import Path

SYSTEM = Path("/run/evictd")


def runtime_folder() -> Path:
    """`$RUNTIME_DIRECTORY` (set by systemd and in the image), else a place of this user."""
    if given := os.environ.get("RUNTIME_DIRECTORY"):
        return Path(given.split(":")[0])  # systemd separates several by colons
    if os.geteuid() == 0:
        return SYSTEM
    user = os.environ.get("XDG_RUNTIME_DIR")
    return Path(user) / "evictd" if user else Path.home() / ".local" / "state" / "evictd" / "run"


def signs(worker: str = "*") -> list[Path]:
    """The files of one worker, or of all that run here; none where this user may not look."""
    try:
        return sorted(runtime_folder().glob(f"{worker}.alive"))
    except PermissionError:
        return []
