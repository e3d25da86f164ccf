"""Files that others name, in arguments of their processes: read as far as they are small files.

Anybody may start a process under a known name and give it a pipe, or a device without end.
"""

import stat
from pathlib import Path

FILE_BYTES_MAX = 1 << 20
"""Of a configuration; none of those that are looked for is longer."""


def beginning(place: Path) -> str | None:
    """The text of a file, the first `FILE_BYTES_MAX` of it; None for what is none."""
    try:
        figures = place.stat()
        # The kernel's own files have no size; some of them can be read only once, or never end.
        if not stat.S_ISREG(figures.st_mode) or figures.st_size == 0:
            return None
        with place.open(encoding="utf-8", errors="replace") as file:
            return file.read(FILE_BYTES_MAX)
    except (OSError, ValueError):  # a name may be none that a file can have
        return None
