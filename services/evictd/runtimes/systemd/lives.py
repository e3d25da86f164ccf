"""Which units are up, and which life of each, without asking systemd.

For its journal systemd keeps a link for each unit that is up, whose target names the life. A look
takes a fraction of a millisecond. It is only a hint: a systemd that keeps no such links is asked
more often instead.
"""

from contextlib import suppress
from pathlib import Path

PREFIX = "invocation:"
UNITS_MAX = 20_000
"""Links that are read; no machine has so many units."""


def lives(run_path: Path) -> dict[str, str] | None:
    """Name to life of each unit that is up; None where nothing is kept. Blocks on small files."""
    folder = run_path / "systemd" / "units"
    try:
        links = [path for path in folder.iterdir() if path.name.startswith(PREFIX)]
    except OSError:
        return None
    found = {}
    for link in links[:UNITS_MAX]:
        with suppress(OSError):  # it went down in this moment
            found[link.name.removeprefix(PREFIX)] = str(link.readlink())
    return found
