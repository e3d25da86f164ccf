"""Taking a responder's report into its entry, if it is its turn. [contract 3, Report]"""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import structs

from evictd.core.effects import unstamped
from evictd.core.moments import Now, in_utc, whole_second
from evictd.core.protocol.case import Case, Run, stamp, with_eviction
from evictd.core.protocol.chain import active, active_entry, entry_of
from evictd.core.protocol.conditions import eviction_finished, transition_time
from evictd.core.protocol.inputs import Reported
from evictd.core.protocol.policy import Policy
from evictd.core.protocol.progression import UPSTREAM_TERMS, turn_limit
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER, ConditionType
from evictd_schemas import Eviction, Report, ResponderStatus, Setback

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


def take(policy: Policy, case: Case, given: Reported, now: Now) -> Case:
    """The case with the report taken; unchanged where it is not, or says nothing new."""
    eviction = eviction_named(case, given.namespace, given.name)
    if eviction is None or standing(case, given, now) is not Standing.TAKEN:
        return case
    entry = entry_of(eviction.status.responders, given.responder)
    if ahead(given.report, now) or entry is None or entry.start_time is None:
        return case
    run = case.run if case.run.eviction_uid == eviction.metadata.uid else Run()
    report = unstamped(given.report)
    if run.reports.get(entry.name) == report:
        return case
    run = structs.replace(
        run,
        eviction_uid=eviction.metadata.uid,
        reports={**run.reports, entry.name: report},
        signs=_signs(run, entry, report, now, listed=given.listed),
    )
    gone = _gone(eviction, entry.name, report)
    case = structs.replace(case, run=run, reported_gone=case.reported_gone or gone)
    return merged(policy, case, eviction, now)


def merged(policy: Policy, case: Case, eviction: Eviction, now: Now) -> Case:
    """The case with what the Active responder said written into its entry.

    A mere sign of life is held back for a while, so that a hasty responder does not make hasty
    readers; it counts all the same.
    """
    entry = active_entry(eviction.status)
    if entry is None or (due := _due_time(policy, case, eviction, entry)) is None or due > now.utc:
        return case
    run = case.run
    fresh = _entry(eviction, entry, run, stamp(now))
    times = {**run.merged_times, entry.name: stamp(now)}
    case = structs.replace(case, run=structs.replace(run, merged_times=times))
    return with_eviction(case, with_entry(eviction, fresh))


def merge_time(policy: Policy, case: Case, eviction: Eviction) -> datetime | None:
    """When a report that is held back is to be published."""
    entry = active_entry(eviction.status)
    return None if entry is None else _due_time(policy, case, eviction, entry)


def last_sign(case: Case, entry: ResponderStatus) -> datetime | None:
    """The last sign of life of a responder, published or not; its start at first."""
    known = (case.run.signs.get(entry.name), entry.heartbeat_time, entry.start_time)
    return max((time for time in known if time is not None), default=None)


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


def _due_time(
    policy: Policy, case: Case, eviction: Eviction, entry: ResponderStatus
) -> datetime | None:
    """None where there is nothing to write."""
    report, start = case.run.reports.get(entry.name), entry.start_time
    if case.run.eviction_uid != eviction.metadata.uid or report is None or start is None:
        return None
    fresh = _entry(eviction, entry, case.run, start)
    if fresh == entry:
        return None
    completed = fresh.completion_time != entry.completion_time
    pressing = completed or fresh.point_of_no_return != entry.point_of_no_return
    last = case.run.merged_times.get(entry.name)
    if pressing or last is None:
        return start
    return last + timedelta(seconds=policy.report_pause_seconds)


def _entry(eviction: Eviction, entry: ResponderStatus, run: Run, now: datetime) -> ResponderStatus:
    """Times go forward and never past now; completion and the point of no return stay."""
    report, start = run.reports[entry.name], entry.start_time or now
    heartbeat = run.signs.get(entry.name, entry.heartbeat_time)
    expected = report.expected_completion_time
    completion = entry.completion_time or _clamped(report.completion_time, start, now)
    if completion is None and _gone(eviction, entry.name, report):
        completion = now
    fresh = structs.replace(
        entry,
        heartbeat_time=heartbeat,
        expected_completion_time=expected and max(start, whole_second(in_utc(expected))),
        completion_time=completion,
        message=report.message,
        point_of_no_return=entry.point_of_no_return or report.point_of_no_return,
        setback=_setback(report),
    )
    if heartbeat == entry.heartbeat_time:
        return fresh
    terms = run.terms.get(entry.name, UPSTREAM_TERMS)
    limit = turn_limit(fresh, terms, is_dry=eviction.status.dry_run)
    return structs.replace(fresh, deadline_time=limit.time)


def _setback(report: Report) -> Setback | None:
    setback = report.setback
    if setback is None or setback.next_try_time is None:
        return setback
    return structs.replace(setback, next_try_time=in_utc(setback.next_try_time))


def _signs(
    run: Run, entry: ResponderStatus, report: Report, now: Now, *, listed: bool
) -> dict[str, datetime]:
    """A report without a heartbeat is a sign of life when it comes, unless it came with a list."""
    start, moment = entry.start_time or now.utc, stamp(now)
    sign = _clamped(report.heartbeat_time, start, moment)
    if sign is None and not listed:
        sign = max(start, moment)
    known = (run.signs.get(entry.name), entry.heartbeat_time, sign)
    latest = max((time for time in known if time is not None), default=None)
    return run.signs if latest is None else {**run.signs, entry.name: latest}


def _gone(eviction: Eviction, responder: str, report: Report) -> bool:
    """Only the default responder knows the end of its target, and only of a real Eviction."""
    real = responder == DEFAULT_RESPONDER and not eviction.status.dry_run
    return real and report.target_gone


def _clamped(time: datetime | None, start: datetime, now: datetime) -> datetime | None:
    return None if time is None else max(start, min(whole_second(in_utc(time)), now))


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
