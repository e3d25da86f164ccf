"""The two conditions that the controller writes, and what is read from them.

[eviction-request-api 2.6, 5.2, 5.4.2]
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct, structs

from evictd.core.protocol.vocabulary import Cause, ConditionType, Status
from evictd_schemas import Condition

NEVER = datetime.min.replace(tzinfo=UTC)
"""Stands for a time that is not set: earlier than any other."""
WAITING = "waiting for an Eviction to report on progress"

Conditions = tuple[Condition, ...]


class Verdict(Struct, frozen=True, kw_only=True):
    """Both conditions of one moment: reasons, and the text of the one that tells something."""

    failed: Status
    failed_cause: Cause
    evicted: Status
    evicted_cause: Cause
    failed_message: str = ""
    evicted_message: str = ""


PENDING = Verdict(
    failed=Status.FALSE,
    failed_cause=Cause.AWAITING,
    evicted=Status.FALSE,
    evicted_cause=Cause.AWAITING,
)


def failure(cause: Cause, message: str) -> Verdict:
    """Failed=True and its counterpart."""
    return Verdict(
        failed=Status.TRUE,
        failed_cause=cause,
        failed_message=message,
        evicted=Status.FALSE,
        evicted_cause=Cause.EVICTION_FAILED,
    )


def success(cause: Cause, message: str) -> Verdict:
    """TargetEvicted=True and its counterpart."""
    return Verdict(
        failed=Status.FALSE,
        failed_cause=Cause.SUCCEEDED,
        evicted=Status.TRUE,
        evicted_cause=cause,
        evicted_message=message,
    )


CANCELED = failure(Cause.CANCELED, "No active requesters with eviction intent.")
EXHAUSTED = failure(
    Cause.NO_FURTHER_RESPONDER, "All responders have completed without evicting the target."
)
GONE = success(Cause.POD_DELETED, "Target pod has been deleted.")
TERMINAL = success(Cause.POD_TERMINAL, "Pod has reached terminal state.")


def find(conditions: Sequence[Condition], kind: str) -> Condition | None:
    """The condition of a type."""
    return next((condition for condition in conditions if condition.type == kind), None)


def holds(conditions: Sequence[Condition], kind: str) -> bool:
    """Whether the condition of a type is True."""
    found = find(conditions, kind)
    return found is not None and found.status == Status.TRUE


def cause_of(conditions: Sequence[Condition]) -> str | None:
    """The reason of Failed=True, None while it is not."""
    found = find(conditions, ConditionType.FAILED)
    return found.reason if found is not None and found.status == Status.TRUE else None


def transition_time(conditions: Sequence[Condition], kind: str) -> datetime:
    """When a condition last changed its status; `NEVER` where that is unknown."""
    found = find(conditions, kind)
    return NEVER if found is None or found.last_transition_time is None else _time(found)


def compare_transition(kind: str, one: Sequence[Condition], other: Sequence[Condition]) -> int:
    """1 where the first changed later, -1 where the second did, else 0."""
    first, second = transition_time(one, kind), transition_time(other, kind)
    return (first > second) - (first < second)


def eviction_finished(conditions: Sequence[Condition]) -> bool:
    """Both conditions are final on an Eviction."""
    return holds(conditions, ConditionType.FAILED) or holds(
        conditions, ConditionType.TARGET_EVICTED
    )


def request_finished(conditions: Sequence[Condition]) -> bool:
    """On a request a Failed from a used-up or canceled round is not final."""
    final = {Cause.INVALID, Cause.DRY_RUN}
    return holds(conditions, ConditionType.TARGET_EVICTED) or cause_of(conditions) in final


def put(conditions: Conditions, wanted: Condition, now: datetime) -> tuple[Conditions, bool]:
    """Set one condition. Its time stays while the status does; `changed` looks at the rest only."""
    held = find(conditions, wanted.type)
    same_status = held is not None and held.status == wanted.status
    kept_time = held.last_transition_time if held is not None and same_status else None
    fresh = structs.replace(wanted, last_transition_time=now if kept_time is None else kept_time)
    if held is None:
        return (*conditions, fresh), True
    merged = tuple(fresh if item.type == wanted.type else item for item in conditions)
    changed = not same_status or held.reason != fresh.reason or held.message != fresh.message
    return merged, changed


def conclude(conditions: Conditions, verdict: Verdict, now: datetime) -> tuple[Conditions, bool]:
    """Write both conditions, Failed first."""
    failed = Condition(
        type=ConditionType.FAILED,
        status=verdict.failed,
        reason=verdict.failed_cause,
        message=verdict.failed_message,
    )
    evicted = Condition(
        type=ConditionType.TARGET_EVICTED,
        status=verdict.evicted,
        reason=verdict.evicted_cause,
        message=verdict.evicted_message,
    )
    first, failed_changed = put(conditions, failed, now)
    both, evicted_changed = put(first, evicted, now)
    return both, failed_changed or evicted_changed


def copied(
    conditions: Conditions, source: Sequence[Condition], kind: ConditionType, now: datetime
) -> tuple[Conditions, bool]:
    """A request shows its Eviction's condition, with a transition time of its own."""
    found = find(source, kind)
    if found is None:
        found = Condition(type=kind, status=Status.FALSE, reason=Cause.AWAITING, message=WAITING)
    return put(conditions, structs.replace(found, last_transition_time=None), now)


def verdict_of(*, gone: bool, terminal: bool, canceled: bool, done: bool, waiting: bool) -> Verdict:
    """What a sync of an Eviction concludes; the first match counts. [eviction-request-api 5.4.2]"""
    if gone and not waiting:
        return GONE
    if terminal and not waiting:
        return TERMINAL
    if canceled:
        return CANCELED
    return EXHAUSTED if done else PENDING


def _time(condition: Condition) -> datetime:
    assert condition.last_transition_time is not None  # noqa: S101 - the caller has looked
    return condition.last_transition_time
