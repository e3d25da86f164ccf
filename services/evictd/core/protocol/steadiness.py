"""One target's time goes on evenly, whatever the wall clock does. [design, law 6]

Recorded moments are wall clock readings of this controller, so that people can read them and a
restart can go on from them. When the wall clock jumps, the target keeps the time that it had: all
its moments stay comparable, and no deadline comes early or late.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import inf

from msgspec import structs

from evictd.core.moments import Now, after
from evictd.core.protocol.case import Case, Clock
from evictd.core.protocol.inputs import ControllerRules, Given, Recalled, Reported
from evictd_schemas import Eviction

JUMP_SECONDS = 1.0
"""Differences up to this between two steps are slewing and are left alone."""
PAST_MAX = datetime(9000, 1, 1, tzinfo=UTC)
"""No clock of ours tells of a later time; to one before it every deadline can be added."""


def steadied(rules: ControllerRules, case: Case, given: Given, now: Now) -> tuple[Case, Now]:
    """The case with this step's readings, and the moment in the target's own time."""
    if case.clock is not None and case.clock.era != rules.era:
        case = _of_a_former_era(case)
    skew_seconds = min(_skew_seconds(rules, case.clock, now), _lag_seconds(given, now))
    clock = Clock(
        era=rules.era, boot_seconds=now.boot_seconds, utc=now.utc, skew_seconds=skew_seconds
    )
    steady = structs.replace(now, utc=now.utc - timedelta(seconds=skew_seconds))
    return structs.replace(case, clock=clock), steady


def translated(case: Case, given: Given) -> Given:
    """A report's times, which are readings of the wall clock, in the target's own time."""
    if not isinstance(given, Reported) or case.clock is None or not case.clock.skew_seconds:
        return given
    back_seconds = -case.clock.skew_seconds
    report = structs.replace(
        given.report,
        heartbeat_time=_shifted(given.report.heartbeat_time, back_seconds),
        expected_completion_time=_shifted(given.report.expected_completion_time, back_seconds),
        completion_time=_shifted(given.report.completion_time, back_seconds),
    )
    return structs.replace(given, report=report)


def credible(eviction: Eviction) -> bool:
    """Whether a controller can have written these times."""
    return all(time <= PAST_MAX for time in _past(eviction))


def _skew_seconds(rules: ControllerRules, clock: Clock | None, now: Now) -> float:
    if clock is None:
        return 0.0
    wall_seconds = (now.utc - clock.utc).total_seconds()
    if clock.era != rules.era:  # how long it was away is not known, but no less than not at all
        return clock.skew_seconds + min(0.0, wall_seconds)
    jump_seconds = wall_seconds - (now.boot_seconds - clock.boot_seconds)
    small = abs(jump_seconds) <= JUMP_SECONDS
    return clock.skew_seconds if small else clock.skew_seconds + jump_seconds


def _lag_seconds(given: Given, now: Now) -> float:
    """How far the wall clock is behind, at least: what was written down had happened by then.

    Otherwise deadlines that were published before a clock was set back, and are read back after a
    journal was lost, would be as late as the clock.
    """
    if not isinstance(given, Recalled):
        return inf
    latest = max((time for item in given.evictions for time in _past(item)), default=now.utc)
    lag_seconds = (now.utc - latest).total_seconds()
    return lag_seconds if lag_seconds < -JUMP_SECONDS else inf


def _past(eviction: Eviction) -> Iterator[datetime]:
    """Moments that the controller has written and that lay behind it."""
    told = [condition.last_transition_time for condition in eviction.status.conditions]
    for entry in eviction.status.responders:
        told += (entry.start_time, entry.heartbeat_time)
    return (time for time in told if time is not None)


def _of_a_former_era(case: Case) -> Case:
    """What was waited for before a reboot began before everything that is observed after it."""
    requests = tuple(structs.replace(held, received_boot_seconds=0.0) for held in case.requests)
    run = case.run
    if run.finish is not None:
        run = structs.replace(run, finish=structs.replace(run.finish, boot_seconds=0.0))
    return structs.replace(case, requests=requests, run=run)


def _shifted(time: datetime | None, seconds: float) -> datetime | None:
    return None if time is None else after(time, seconds)
