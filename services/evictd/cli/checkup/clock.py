"""The clock: only people read it, but they must be able to believe it. [field cases H2, H7]"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok, problem

FIRST_YEAR = 2024
"""Nothing of evictd is older: an earlier year is that of a machine without a clock battery."""
AHEAD = timedelta(minutes=5)
"""A file that is younger than now by more was written by a clock that has been set back."""


class ClockFacts(Struct, frozen=True, kw_only=True):
    """`synchronised` None: nobody tells. `newest_file`: when evictd last wrote here."""

    now: datetime
    synchronised: bool | None = None
    newest_file: datetime | None = None


def findings(facts: ClockFacts) -> Iterator[Finding]:
    """Durations come from the boot clock; times in messages do not."""
    remedy = "start systemd-timesyncd or chrony (`timedatectl set-ntp true`)"
    if facts.now.year < FIRST_YEAR:
        yield problem(
            "clock",
            f"says {facts.now:%Y-%m-%d}",
            means="TLS fails, and times in messages and in the history are wrong; graces and "
            "deadlines are right",
            remedy=remedy,
        )
        return
    if facts.newest_file is not None and facts.newest_file > facts.now + AHEAD:
        yield problem(
            "clock",
            f"says {facts.now:%Y-%m-%d %H:%M}, and evictd has written at "
            f"{facts.newest_file:%Y-%m-%d %H:%M}",
            means="the clock was set back: the history is out of order, and what is to be tried "
            "later waits longer",
            remedy=remedy,
        )
        return
    if facts.synchronised is False:
        yield note(
            "clock",
            "is not synchronised",
            means="times in messages differ between machines; graces and deadlines do not suffer",
            remedy=remedy,
        )
        return
    yield ok("clock", "is synchronised" if facts.synchronised else "is plausible")
