"""Evictions and requests as rows: what stands on the bus, in a few words each."""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from evictd.cli.eviction_texts import (
    deadline_of,
    document,
    request_state,
    state_text,
    status_of,
    target_of,
    type_text,
)
from evictd.cli.kinds import Kind
from evictd.cli.tables import NOTHING, Item, ago, due, listed
from evictd.client import Found, Mirror
from evictd.core.protocol.chain import active_entry
from evictd.core.protocol.vocabulary import Intent, RequestType
from evictd_schemas import Eviction, EvictionRequest, RequestStatus, topics


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
        name=found.place.namespaced_name,
        cells=(
            found.place.node,
            found.place.namespaced_name,
            target_of(found),
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


def requests(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """One row a request, with the controller's answer."""
    for found in mirror.objects(topics.REQUEST):
        yield request_item(found, status_of(mirror, found), now)


def request_item(
    found: Found[EvictionRequest], status: RequestStatus | None, now: datetime
) -> Item:
    """Its row."""
    spec = found.message.spec
    eviction = None if status is None else status.eviction
    more = {} if status is None else {"status": msgspec.to_builtins(status)}
    grace = spec.grace_period_seconds
    return Item(
        name=found.place.namespaced_name,
        cells=(
            found.place.node,
            found.place.namespaced_name,
            found.place.participant,
            target_of(found),
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


EVICTIONS = Kind(
    head=(
        "NODE",
        "EVICTION",
        "TARGET",
        "TYPE",
        "STATE",
        "RESPONDER",
        "HEARTBEAT",
        "DEADLINE",
        "AGE",
    ),
    wide_head=("REQUESTERS", "REASON", "REPORT", "UID"),
    items=evictions,
)
REQUESTS = Kind(
    head=("NODE", "REQUEST", "REQUESTER", "TARGET", "TYPE", "STATE", "EVICTION", "AGE"),
    wide_head=("DEADLINE", "GRACE", "REASON", "UID"),
    items=requests,
)
