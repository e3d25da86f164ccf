"""The time, whether somebody keeps it, and when evictd last wrote something here."""

import ctypes
from datetime import UTC, datetime
from pathlib import Path

from evictd.cli.checkup.clock import ClockFacts
from evictd.shell.whole_file import changed_time

SYNCHRONISED = Path("/run/systemd/timesync/synchronized")
TIMEX_BYTES = 512
"""More than the kernel's structure has anywhere; zeros ask and set nothing."""
TIME_ERROR = 5
"""The clock is not synchronised. [adjtimex(2)]"""


def clock(state_folder: Path) -> ClockFacts:
    """Now."""
    return ClockFacts(
        now=datetime.now(UTC), synchronised=synchronised(), newest_file=newest_file(state_folder)
    )


def synchronised() -> bool | None:
    """What the kernel says, or systemd's mark where it does not; None where nobody tells."""
    try:
        state = int(ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(TIMEX_BYTES)))
    except (OSError, AttributeError):
        state = -1
    if state < 0:
        return True if SYNCHRONISED.exists() else None
    return state != TIME_ERROR


def newest_file(folder: Path) -> datetime | None:
    """When anything of evictd's state was written last; None where there is none to see."""
    try:
        return max((changed_time(entry) for entry in folder.iterdir()), default=None)
    except OSError:
        return None
