"""Who wants the target to leave: many requests, one list. [eviction-request-api 5.5]"""

from collections.abc import Sequence
from datetime import datetime

from evictd.core.protocol.conditions import NEVER
from evictd.core.protocol.vocabulary import PRESSURE_REQUESTERS, Intent
from evictd_schemas import EvictionRequest, EvictionRequestSpec, RequesterStatus

REQUESTERS_MAX = 100
"""Names kept in an Eviction's status; withdrawn ones are dropped first."""

Order = tuple[bool, bool, bool, datetime, str, str]


def wants(request: EvictionRequest) -> bool:
    """A live request with intent Eviction; one that is being deleted counts as withdrawn."""
    deleting = request.metadata.deletion_timestamp is not None
    return not deleting and request.spec.intent == Intent.EVICTION


def presses(request: EvictionRequest) -> bool:
    """Whether a machine that runs short wants it, and cannot wait for others."""
    return request.spec.requester in PRESSURE_REQUESTERS


def order(request: EvictionRequest) -> Order:
    """Sort key, best first. Without a creation time it is known only from an earlier status."""
    created = request.metadata.creation_timestamp
    deleting = request.metadata.deletion_timestamp is not None
    live = created is not None and not deleting
    return (
        created is None,
        deleting,
        live and request.spec.intent != Intent.EVICTION,
        NEVER if created is None else created,
        request.spec.requester,
        request.metadata.name,
    )


def merge(
    known: Sequence[RequesterStatus],
    requests: Sequence[EvictionRequest],
    limit: int = REQUESTERS_MAX,
) -> tuple[tuple[RequesterStatus, ...], bool]:
    """The new list, best first, and whether a name is new or its intent differs.

    A requester with two requests wants the Eviction if one of them does. Names count against the
    limit, not requests. Where they are too many, a machine that runs short keeps its place: it
    alone ignores budgets.
    """
    former = {item.name: item.intent for item in known}
    historical = [
        EvictionRequest(spec=EvictionRequestSpec(requester=name, intent=intent))
        for name, intent in former.items()
    ]
    intents: dict[str, str] = {}
    for request in _within(sorted((*requests, *historical), key=order), limit):
        if len(intents) == limit:
            break
        exists = request.metadata.creation_timestamp is not None
        live = exists and request.metadata.deletion_timestamp is None
        intent = request.spec.intent if live else Intent.WITHDRAWN
        intents.setdefault(request.spec.requester, str(intent))
    merged = tuple(RequesterStatus(name=name, intent=intent) for name, intent in intents.items())
    changed = any(former.get(name) != intent for name, intent in intents.items())
    return merged, changed


def _within(ordered: Sequence[EvictionRequest], limit: int) -> Sequence[EvictionRequest]:
    """The same order, with node pressure first where not all names have room."""
    if len({request.spec.requester for request in ordered}) <= limit:
        return ordered
    return sorted(ordered, key=lambda request: not presses(request))
