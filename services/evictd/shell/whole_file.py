"""Files that are there whole, or as they were: no reader meets half of one, no crash leaves it."""

import os
from datetime import UTC, datetime
from pathlib import Path

from evictd.core.moments import after

START = datetime(1970, 1, 1, tzinfo=UTC)
"""From which a file system counts seconds."""


def replace(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Put the content in the place of whatever is there; `mode` holds whatever the umask.

    Blocking. Raises `OSError`.
    """
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    with os.fdopen(os.open(draft, flags, mode), "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
    draft.replace(path)


def changed_time(path: Path) -> datetime:
    """When it was changed last; the last moment that can be written for what lies beyond.

    Blocking. Raises `OSError`.
    """
    return after(START, path.stat().st_mtime)
