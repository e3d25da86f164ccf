"""The one place that reads a clock.

Two readings: boot time for durations, UTC for stamps. [design, law 6]
"""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from evictd.core.moments import Now


class Clock(Protocol):
    """Read at the edge; everything inside gets `now` as an argument."""

    def now(self) -> Now:
        """Both readings of this instant."""
        ...


class SystemClock:
    """The machine's clock.

    Boot time goes on while the machine sleeps, so that a sleep is seen as a gap.
    """

    def now(self) -> Now:
        return Now(
            boot_seconds=time.clock_gettime(time.CLOCK_BOOTTIME),
            utc=datetime.now(UTC),
        )


class LoopClock:
    """Both readings follow the event loop's own time, so that virtual time moves them together."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start

    def now(self) -> Now:
        seconds = asyncio.get_running_loop().time()
        return Now(boot_seconds=seconds, utc=self._start + timedelta(seconds=seconds))
