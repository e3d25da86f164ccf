"""Evictions and requests in words: who is meant, how far it is, until when. It prints nothing."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from evictd.cli.tables import NOTHING
from evictd.client import Found, Mirror
from evictd.core.protocol.chain import active_entry
from evictd.core.protocol.conditions import cause_of, find, holds
from evictd.core.protocol.vocabulary import ConditionType, Intent, RequestType
from evictd_schemas import (
    Condition,
    Eviction,
    EvictionRequest,
    EvictionStatus,
    RequestStatus,
    topics,
)

NO_ANSWER = "no answer yet"


def document(found: Found[Any], **more: Any) -> dict[str, Any]:
    """The message as it is on the bus, with its place."""
    told = msgspec.to_builtins(found.message)
    return {"node": found.place.node, "topic": found.topic, **told, **more}


def target_of(found: Found[Eviction] | Found[EvictionRequest]) -> str:
    """Whom it is about."""
    return target_text(found.place.names["namespace"], found.message)


def target_text(namespace: str, message: Eviction | EvictionRequest) -> str:
    """The same for a message that is no longer on the bus."""
    pod = message.spec.target.pod
    return f"{namespace}/{pod.name}" if pod is not None else NOTHING


def name_told(eviction: Eviction) -> str:
    """Its workload's name; its own, where it is about none."""
    pod = eviction.spec.target.pod
    return eviction.metadata.name if pod is None else pod.name


def state_text(conditions: Iterable[Condition], *, dry_run: bool = False) -> str:
    """Where it stands, in a word or two."""
    known = tuple(conditions)
    cause = cause_of(known)
    if holds(known, ConditionType.TARGET_EVICTED):
        return "Evicted"
    if cause is not None:
        return f"Failed: {cause}"
    return "Rehearsed" if dry_run else "Running"


def end_time(status: EvictionStatus) -> datetime | None:
    """When it ended; None while it runs."""
    for kind in ConditionType:
        if holds(status.conditions, kind):
            found = find(status.conditions, kind)
            return None if found is None else found.last_transition_time
    return None


def type_text(status: EvictionStatus) -> str:
    """How long it waits for custom responders, and whether it is only played."""
    return f"{status.type} (dry run)" if status.dry_run else status.type


def deadline_of(status: EvictionStatus) -> datetime | None:
    """When the next patience ends: that of the Active responder, or of the whole Eviction."""
    entry = active_entry(status)
    if end_time(status) is not None:
        return None
    whole = None if status.type == RequestType.HARD else status.deadline_time
    times = (whole, None if entry is None else entry.deadline_time)
    return min((time for time in times if time is not None), default=None)


def status_of(mirror: Mirror, found: Found[EvictionRequest]) -> RequestStatus | None:
    """The controller's answer, None before it came."""
    return mirror.get(topics.REQUEST_STATUS, found.place.node, **found.place.names)


def request_state(intent: str, status: RequestStatus | None) -> str:
    """Where a request stands."""
    if status is None:
        return NO_ANSWER
    state = state_text(status.conditions)
    if state != "Running":
        return state
    if intent == Intent.WITHDRAWN:
        return "Withdrawn"
    return "Awaiting" if status.eviction is None else state
