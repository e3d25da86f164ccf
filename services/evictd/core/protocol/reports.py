"""Taking a responder's report into its entry, if it is its turn. [contract 3, Report]"""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import structs

from evictd.core.moments import Now
from evictd.core.protocol.case import Case, Run, stamp, with_eviction
from evictd.core.protocol.chain import active, entry_of
from evictd.core.protocol.conditions import eviction_finished, transition_time
from evictd.core.protocol.inputs import Reported
from evictd.core.protocol.progression import UPSTREAM_TERMS, silence_limit
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER, ConditionType
from evictd_schemas import Eviction, Report, ResponderStatus

LATE_SECONDS = 60.0
"""For so long after its turn a responder's report is only ignored; later it is rejected."""
AHEAD_SECONDS_MAX = 30.0
"""Times further in the future than this are rejected."""


class Standing(StrEnum):
    """What becomes of a report."""

    TAKEN = "taken"
    IGNORED = "ignored"
    REJECTED = "rejected"


def standing(case: Case, given: Reported, now: Now) -> Standing:
    """Whether it is the responder's turn; another life's report is ignored, as is a late one."""
    eviction = eviction_named(case, given.namespace, given.name)
    if eviction is None:
        return Standing.IGNORED if given.listed else Standing.REJECTED
    if given.report.eviction_uid != eviction.metadata.uid:
        return Standing.IGNORED
    current = active(eviction.status.target_responders)
    if current is not None and current.name == given.responder:
        return Standing.TAKEN
    left = _left_time(case, eviction, given.responder)
    late = left is not None and now.utc - left <= timedelta(seconds=LATE_SECONDS)
    return Standing.IGNORED if late or given.listed else Standing.REJECTED


def take(case: Case, given: Reported, now: Now) -> Case:
    """The case with the report merged into its entry; unchanged where it is not taken."""
    eviction = eviction_named(case, given.namespace, given.name)
    if eviction is None or standing(case, given, now) is not Standing.TAKEN:
        return case
    if ahead(given.report, now):
        return case
    run = case.run if case.run.eviction_uid == eviction.metadata.uid else Run()
    report = structs.replace(given.report, epoch=0, rev=0)
    entry = entry_of(eviction.status.responders, given.responder)
    if entry is None or entry.start_time is None or run.reports.get(given.responder) == report:
        return case
    merged = _merged(entry, report, stamp(now), listed=given.listed)
    gone = report.target_gone and given.responder == DEFAULT_RESPONDER
    gone = gone and not eviction.status.dry_run
    if gone and merged.completion_time is None:
        merged = structs.replace(merged, completion_time=stamp(now))
    if merged.heartbeat_time != entry.heartbeat_time:
        terms = run.terms.get(entry.name, UPSTREAM_TERMS)
        merged = structs.replace(merged, deadline_time=silence_limit(merged, terms).time)
    run = structs.replace(
        run,
        eviction_uid=eviction.metadata.uid,
        reports={**run.reports, given.responder: report},
    )
    case = structs.replace(case, run=run, reported_gone=case.reported_gone or gone)
    return with_eviction(case, with_entry(eviction, merged))


def ahead(report: Report, now: Now) -> tuple[str, ...]:
    """The fields whose time lies too far in the future."""
    latest = now.utc + timedelta(seconds=AHEAD_SECONDS_MAX)
    times = {"heartbeatTime": report.heartbeat_time, "completionTime": report.completion_time}
    return tuple(name for name, time in times.items() if time is not None and time > latest)


def eviction_named(case: Case, namespace: str, name: str) -> Eviction | None:
    """The Eviction of that topic."""
    for eviction in case.evictions:
        if (eviction.metadata.namespace, eviction.metadata.name) == (namespace, name):
            return eviction
    return None


def with_entry(eviction: Eviction, entry: ResponderStatus) -> Eviction:
    """The Eviction with one responder's entry replaced."""
    entries = tuple(
        entry if item.name == entry.name else item for item in eviction.status.responders
    )
    return structs.replace(eviction, status=structs.replace(eviction.status, responders=entries))


def _merged(
    entry: ResponderStatus, report: Report, now: datetime, *, listed: bool
) -> ResponderStatus:
    """Times go forward and never past now; completion and the point of no return stay."""
    start = entry.start_time or now
    heartbeat = _clamped(report.heartbeat_time, start, now)
    if heartbeat is None and not listed:
        heartbeat = max(now, start)
    known = [time for time in (entry.heartbeat_time, heartbeat) if time is not None]
    return structs.replace(
        entry,
        heartbeat_time=max(known, default=None),
        expected_completion_time=report.expected_completion_time,
        completion_time=entry.completion_time or _clamped(report.completion_time, start, now),
        message=report.message,
        point_of_no_return=entry.point_of_no_return or report.point_of_no_return,
    )


def _clamped(time: datetime | None, start: datetime, now: datetime) -> datetime | None:
    return None if time is None else max(start, min(time.replace(microsecond=0), now))


def _left_time(case: Case, eviction: Eviction, responder: str) -> datetime | None:
    entry = entry_of(eviction.status.responders, responder)
    if entry is None or entry.start_time is None:
        return None
    run = case.run
    if run.eviction_uid == eviction.metadata.uid and responder in run.left_times:
        return run.left_times[responder]
    if not eviction_finished(eviction.status.conditions):
        return None
    return max(transition_time(eviction.status.conditions, kind) for kind in ConditionType)
