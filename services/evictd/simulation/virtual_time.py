"""Time as a number: what a story's workers read from a clock, and its observations carry."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from evictd.core.moments import Now
from evictd_schemas import Moment

START = datetime(2026, 1, 1, tzinfo=UTC)
BOOT_SECONDS = 1000.0
"""The machine has been up for a while when a story begins."""


@dataclass
class VirtualTime:
    """Seconds since the story began; the wall clock may be set, the machine may boot again."""

    seconds: float = 0.0
    _wall_seconds: float = 0.0
    _boots: int = 1
    _booted_at_seconds: float = -BOOT_SECONDS

    @property
    def now(self) -> Now:
        """The workers' own clock, which knows nothing of the machine's boots."""
        utc = START + timedelta(seconds=self.seconds + self._wall_seconds)
        return Now(boot_seconds=BOOT_SECONDS + self.seconds, utc=utc)

    @property
    def moment(self) -> Moment:
        """The same as observations have it."""
        return Moment(
            time=self.now.utc,
            boot_id=f"boot-{self._boots}",
            uptime_seconds=self.seconds - self._booted_at_seconds,
        )

    def advance(self, seconds: float) -> None:
        """To that time; never back."""
        self.seconds = max(self.seconds, seconds)

    def set_wall_clock(self, forward_seconds: float) -> None:
        """Somebody sets the clock; durations do not change."""
        self._wall_seconds += forward_seconds

    def reboot(self) -> None:
        """Another boot begins."""
        self._boots += 1
        self._booted_at_seconds = self.seconds

    @staticmethod
    def seconds_of(boot_seconds: float) -> float:
        """When the workers' clock says that."""
        return boot_seconds - BOOT_SECONDS
