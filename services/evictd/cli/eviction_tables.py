"""Evictions, requests and responders as rows: what stands on the bus, in a few words each."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from evictd.cli.tables import NOTHING, Item, ago, due, listed
from evictd.client import Found, Mirror
from evictd.core.protocol.chain import active_entry
from evictd.core.protocol.conditions import cause_of, find, holds
from evictd.core.protocol.vocabulary import (
    DEFAULT_RESPONDER,
    ConditionType,
    Intent,
    RequestType,
    State,
)
from evictd.core.wording import name_text
from evictd_schemas import (
    Condition,
    Eviction,
    EvictionRequest,
    EvictionStatus,
    Pod,
    Registration,
    RequestStatus,
    topics,
)
from evictd_schemas.topics import ALL, Role

EVICTION_HEAD = (
    "NODE",
    "EVICTION",
    "TARGET",
    "TYPE",
    "STATE",
    "RESPONDER",
    "HEARTBEAT",
    "DEADLINE",
    "AGE",
)
EVICTION_WIDE = ("REQUESTERS", "REASON", "REPORT", "UID")
REQUEST_HEAD = ("NODE", "REQUEST", "REQUESTER", "TARGET", "TYPE", "STATE", "EVICTION", "AGE")
REQUEST_WIDE = ("DEADLINE", "GRACE", "REASON", "UID")
RESPONDER_HEAD = ("NODE", "RESPONDER", "STATUS", "PRIORITY", "WORKLOADS", "AT WORK ON")
RESPONDER_WIDE = ("START DEADLINE", "HEARTBEAT DEADLINE", "DRY RUN")
NO_ANSWER = "no answer yet"


def document(found: Found[Any], **more: Any) -> dict[str, Any]:
    """The message as it is on the bus, with its place."""
    told = msgspec.to_builtins(found.message)
    return {"node": found.place.node, "topic": found.topic, **told, **more}


def name_of(found: Found[Any]) -> str:
    """`namespace/name` of an object that is named so."""
    return f"{found.place.names['namespace']}/{found.place.names['name']}"


def requester_of(found: Found[EvictionRequest]) -> str:
    """Who asks, as the topic tells it."""
    return found.place.participant


def target_text(namespace: str, message: Eviction | EvictionRequest) -> str:
    """Whom it is about."""
    pod = message.spec.target.pod
    return f"{namespace}/{pod.name}" if pod is not None else NOTHING


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


def evictions(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """One row an Eviction."""
    for found in mirror.objects(topics.EVICTION):
        yield eviction_item(found, now)


def eviction_item(found: Found[Eviction], now: datetime) -> Item:
    """Its row."""
    status, metadata = found.message.status, found.message.metadata
    entry = active_entry(status)
    reason = status.reason
    return Item(
        name=name_of(found),
        cells=(
            found.place.node,
            name_of(found),
            target_text(found.place.names["namespace"], found.message),
            type_text(status),
            state_text(status.conditions, dry_run=status.dry_run),
            NOTHING if entry is None else entry.name,
            NOTHING if entry is None else ago(entry.heartbeat_time, now),
            due(deadline_of(status), now),
            ago(metadata.creation_timestamp, now),
        ),
        wide=(
            listed(item.name for item in status.requesters if item.intent == Intent.EVICTION),
            NOTHING if reason is None else reason.message or reason.signal or NOTHING,
            NOTHING if entry is None else entry.message or NOTHING,
            metadata.uid,
        ),
        document=document(found),
    )


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


def requests(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """One row a request, with the controller's answer."""
    for found in mirror.objects(topics.REQUEST):
        yield request_item(found, status_of(mirror, found), now)


def status_of(mirror: Mirror, found: Found[EvictionRequest]) -> RequestStatus | None:
    """The controller's answer, None before it came."""
    return mirror.get(topics.REQUEST_STATUS, found.place.node, **found.place.names)


def request_item(
    found: Found[EvictionRequest], status: RequestStatus | None, now: datetime
) -> Item:
    """Its row."""
    spec = found.message.spec
    eviction = None if status is None else status.eviction
    more = {} if status is None else {"status": msgspec.to_builtins(status)}
    grace = spec.grace_period_seconds
    return Item(
        name=name_of(found),
        cells=(
            found.place.node,
            name_of(found),
            requester_of(found),
            target_text(found.place.names["namespace"], found.message),
            f"{spec.type} (dry run)" if spec.dry_run else spec.type,
            request_state(spec.intent, status),
            NOTHING if eviction is None else eviction.name,
            NOTHING if status is None else ago(status.creation_timestamp, now),
        ),
        wide=(
            f"{spec.deadline_seconds:g}s"
            if spec.type == RequestType.SOFT_WITH_DEADLINE and spec.deadline_seconds is not None
            else NOTHING,
            "its own" if grace is None else f"{grace}s",
            NOTHING if spec.reason is None else spec.reason.message or NOTHING,
            NOTHING if status is None else status.uid,
        ),
        document=document(found, **more),
    )


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


def responders(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """Those that have registered, those that workloads name, and the built-in one of each node."""
    del now
    nodes = sorted({found.place.node for found in mirror.objects(topics.WORKER)})
    for node in nodes:
        yield from _built_in(mirror, node)
    registered = {}
    for found in mirror.objects(topics.REGISTRATION):
        name = found.place.participant
        registered[found.place.node, name] = found
        yield _registered(mirror, found, name)
    for (node, name), pods in sorted(_declared(mirror).items()):
        if (node, name) not in registered:
            yield _only_declared(mirror, node, name, pods)


def at_work(mirror: Mirror, node: str, responder: str) -> str:
    """The Evictions in which it is a responder's turn."""
    return listed(
        found.message.metadata.name
        for found in mirror.objects(topics.EVICTION, node)
        for item in found.message.status.target_responders
        if item.name == responder and item.state == State.ACTIVE
    )


def _built_in(mirror: Mirror, node: str) -> Iterator[Item]:
    """Its worker stands for it. [contract 3, Registration]"""
    for worker in (Role.RESPONDER.value, ALL):
        status = mirror.get(topics.WORKER, node, worker=worker)
        if status is not None:
            yield Item(
                name=DEFAULT_RESPONDER,
                cells=(
                    node,
                    DEFAULT_RESPONDER,
                    status.status,
                    "100",
                    "all",
                    at_work(mirror, node, DEFAULT_RESPONDER),
                ),
                wide=("20m", "20m", "yes"),
                document={"node": node, "name": DEFAULT_RESPONDER, "status": status.status},
            )
            return


def _registered(mirror: Mirror, found: Found[Registration], name: str) -> Item:
    message, node = found.message, found.place.node
    start, heartbeat = message.start_deadline_seconds, message.heartbeat_deadline_seconds
    return Item(
        name=name,
        cells=(
            node,
            name,
            message.status,
            NOTHING if message.priority is None else str(message.priority),
            _selected(message),
            at_work(mirror, node, name),
        ),
        wide=(
            "20m" if start is None else f"{start:g}s",
            "20m" if heartbeat is None else f"{heartbeat:g}s",
            "yes" if message.supports_dry_run else "no",
        ),
        document=document(found, name=name),
    )


def _selected(message: Registration) -> str:
    labels = message.selector.match_labels if message.selector is not None else {}
    places = [f"{namespace}/*" for namespace in message.namespaces]
    texts = [f"{label}={value}" for label, value in sorted(labels.items())]
    return ", ".join((*places, *texts)) or "all"


def _declared(mirror: Mirror) -> dict[tuple[str, str], list[Pod]]:
    found: dict[tuple[str, str], list[Pod]] = {}
    for observed in mirror.objects(topics.OBSERVATION):
        for pod in observed.message.pods or ():
            for responder in pod.eviction_responders:
                found.setdefault((observed.place.node, responder.name), []).append(pod)
    return found


def _only_declared(mirror: Mirror, node: str, name: str, pods: list[Pod]) -> Item:
    priorities = {
        str(item.priority) for pod in pods for item in pod.eviction_responders if item.name == name
    }
    names = [name_text(pod) for pod in pods]
    return Item(
        name=name,
        cells=(
            node,
            name,
            "not registered",
            listed(sorted(priorities)),
            listed(names),
            at_work(mirror, node, name),
        ),
        wide=(NOTHING, NOTHING, NOTHING),
        document={"node": node, "name": name, "declaredBy": names},
    )
