"""Rules about what one responder says of its work, in its entry. [eviction-request-api 2.3, 4]

The entry of the first write carries its name, and the start of the one that is Active; nothing may
be filled in before. [eviction-request-api 4, hole]
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import structs

from evictd.core.admission.kinds import immutable, invalid, required, too_long
from evictd.core.problems import Problem
from evictd_schemas import ResponderStatus

AHEAD = timedelta(seconds=30)
"""How far a responder's clock may be off, in either direction; the end points are excluded."""
EXPECTED_MAX = timedelta(seconds=315_360_000)
"""Nothing is expected to take longer than ten years."""
MESSAGE_LENGTH_MAX = 4000


def entry_problems(
    path: str,
    entry: ResponderStatus,
    former: ResponderStatus | None,
    now: datetime,
    *,
    active: bool,
) -> Iterator[Problem]:
    """One entry after the write; it may change only while it is this responder's turn."""
    if len(entry.message) > MESSAGE_LENGTH_MAX:
        yield too_long(f"{path}.message", len(entry.message), MESSAGE_LENGTH_MAX)
    before = former or ResponderStatus(name=entry.name)
    if former is not None and not active:
        if reported(entry) != reported(former):
            yield immutable(path)
        yield from _fixed(path, entry, former)
        return
    if active and entry.start_time is None:
        yield required(f"{path}.startTime")
    broken = [*_fixed(path, entry, before), *_times(path, entry, before, now)]
    yield from broken
    if former is None and not broken and reported(entry) != _first(entry, active=active):
        yield invalid(path, "the first write carries its name, and its start once it is Active")


def reported(entry: ResponderStatus) -> ResponderStatus:
    """The entry without what evictd adds to it, which is never a responder's to write."""
    return structs.replace(
        entry,
        deadline_time=None,
        interrupted_reason=None,
        point_of_no_return=False,
        setback=None,
    )


def _first(entry: ResponderStatus, *, active: bool) -> ResponderStatus:
    return ResponderStatus(name=entry.name, start_time=entry.start_time if active else None)


def _fixed(path: str, entry: ResponderStatus, before: ResponderStatus) -> Iterator[Problem]:
    """What never changes once it is set."""
    if before.start_time is not None and entry.start_time != before.start_time:
        yield immutable(f"{path}.startTime")
    if before.completion_time is not None and entry.completion_time != before.completion_time:
        yield immutable(f"{path}.completionTime")


def _times(
    path: str, entry: ResponderStatus, before: ResponderStatus, now: datetime
) -> Iterator[Problem]:
    start, heartbeat = entry.start_time, entry.heartbeat_time
    if start is not None and start != before.start_time:
        yield from _present(f"{path}.startTime", start, now)
    if heartbeat is not None:
        yield from _since_start(f"{path}.heartbeatTime", heartbeat, start)
        if before.heartbeat_time is not None and heartbeat < before.heartbeat_time:
            yield invalid(f"{path}.heartbeatTime", "it never becomes lower")
        if heartbeat != before.heartbeat_time:
            yield from _present(f"{path}.heartbeatTime", heartbeat, now)
    elif before.heartbeat_time is not None:
        yield required(f"{path}.heartbeatTime")
    expected = entry.expected_completion_time
    if expected is not None:
        yield from _since_start(f"{path}.expectedCompletionTime", expected, start)
        if expected != before.expected_completion_time:
            yield from _expected(f"{path}.expectedCompletionTime", expected, now)
    completion = entry.completion_time
    if completion is not None:
        yield from _since_start(f"{path}.completionTime", completion, start)
        if completion != before.completion_time:
            yield from _present(f"{path}.completionTime", completion, now)


def _since_start(field: str, time: datetime, start: datetime | None) -> Iterator[Problem]:
    if start is None:
        yield invalid(field, "it needs startTime")
    elif time < start:
        yield invalid(field, "it lies before startTime")


def _present(field: str, time: datetime, now: datetime) -> Iterator[Problem]:
    if not -AHEAD < time - now < AHEAD:
        yield invalid(field, f"it is not within {AHEAD.seconds} s of now")


def _expected(field: str, time: datetime, now: datetime) -> Iterator[Problem]:
    if time - now <= -AHEAD:
        yield invalid(field, "it has long passed")
    elif time - now > EXPECTED_MAX:
        yield invalid(field, "it lies more than ten years ahead")
