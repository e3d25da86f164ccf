"""Time as an argument: `Now` for the worker's own waits, `Moment` for what was observed.

Durations come from one monotonic reading; two machines' wall clocks are never subtracted, except
where an observation carries nothing else. [design, law 6] [contract 3, Observation: time between
two observations]
"""

from datetime import UTC, datetime, timedelta

from msgspec import Struct

from evictd_schemas import Moment, Observation

FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(microsecond=0, tzinfo=UTC)
"""What others write may lie at either end of all times. [contract 1, Conventions]"""


class Now(Struct, frozen=True, kw_only=True):
    """The worker's clock in two readings: `boot_seconds` for durations, `utc` for stamps."""

    boot_seconds: float
    utc: datetime


def moment(observation: Observation) -> Moment:
    """The instant at which an observation was taken; what we write is UTC. [contract 1]"""
    return Moment(
        time=in_utc(observation.time),
        boot_id=observation.boot_id,
        uptime_seconds=observation.uptime_seconds,
    )


def same_boot(earlier: Moment, later: Moment) -> bool:
    """Whether both moments count the same boot's time."""
    return (
        earlier.boot_id is not None
        and earlier.boot_id == later.boot_id
        and earlier.uptime_seconds is not None
        and later.uptime_seconds is not None
    )


def rebooted(earlier: Moment, later: Moment) -> bool:
    """Whether the node started anew in between, so that first-observed times begin again."""
    return (
        earlier.boot_id is not None
        and later.boot_id is not None
        and earlier.boot_id != later.boot_id
    )


def later_in_boot(earlier: Moment, later: Moment) -> bool | None:
    """Whether the second came after the first; None where boot time cannot tell.

    [contract 3, EvictionRequest: taken after]
    """
    if not same_boot(earlier, later):
        return None
    return (later.uptime_seconds or 0.0) > (earlier.uptime_seconds or 0.0)


def whole_second(time: datetime) -> datetime:
    """As times of the protocol are written and compared. [contract 1]"""
    return time.replace(microsecond=0)


def after(time: datetime, seconds: float) -> datetime:
    """So many seconds later, or earlier; the nearest that can be written, where none is."""
    try:
        return time + timedelta(seconds=seconds)
    except OverflowError:
        return LAST if seconds > 0 else FIRST


def boot_seconds_of(time: datetime, now: Now) -> float:
    """An instant that was written down, on the worker's own clock; it may lie before the boot."""
    return now.boot_seconds + (time - now.utc).total_seconds()


def past_boot_seconds(time: datetime, now: Now) -> float:
    """The same of what has been; what comes from the future is new: a clock was set back."""
    return min(now.boot_seconds, boot_seconds_of(time, now))


def in_utc(time: datetime) -> datetime:
    """The same instant; the nearest that can be written, where UTC has none for it."""
    try:
        return time.astimezone(UTC)
    except OverflowError:
        return FIRST if time.year == FIRST.year else LAST


def elapsed_seconds(earlier: Moment, later: Moment) -> float:
    """Seconds from one moment to another, never negative."""
    if same_boot(earlier, later):
        assert earlier.uptime_seconds is not None  # noqa: S101 - same_boot has just looked
        assert later.uptime_seconds is not None  # noqa: S101 - same_boot has just looked
        return max(0.0, later.uptime_seconds - earlier.uptime_seconds)
    return max(0.0, (later.time - earlier.time).total_seconds())
