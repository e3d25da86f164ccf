"""Taking what is given into the case, before anything is decided. [contract 3]"""

from datetime import datetime
from typing import assert_never

from msgspec import structs

from evictd.core.effects import Tick
from evictd.core.moments import Now, after, later_in_boot
from evictd.core.protocol import facts, reports
from evictd.core.protocol.case import (
    Case,
    Held,
    Run,
    dry,
    of_kind,
    running,
    stamp,
    with_eviction,
    with_held,
)
from evictd.core.protocol.inputs import (
    ControllerRules,
    Forgotten,
    Given,
    Recalled,
    Registered,
    Reported,
    Requested,
    Sighted,
    Unconfirmed,
    Withdrawn,
)
from evictd.core.protocol.requesters import wants
from evictd.core.protocol.requests import minted
from evictd.core.protocol.vocabulary import PresenceStatus, RequestType
from evictd_schemas import (
    EvictionRequest,
    Metadata,
    Moment,
    RequestStatus,
    Target,
    topics,
)


def taken(rules: ControllerRules, case: Case, given: Given, now: Now) -> Case:
    """The case with what is given in its place."""
    match given:
        case Requested():
            return _sighted(rules, with_held(case, _held(rules, case, given, now)), given.sighted)
        case Withdrawn(requester=requester, namespace=namespace, name=name):
            return _without(case, (requester, namespace, name))
        case Unconfirmed(requester=requester, namespace=namespace, name=name):
            return _unconfirmed(case, (requester, namespace, name))
        case Sighted():
            return _sighted(rules, case, given)
        case Reported():
            return reports.take(rules.policy, case, given, now)
        case Registered():
            return _registered(case, given, now)
        case Recalled():
            return _recalled(rules, case, given, now)
        case Forgotten():
            return Case()
        case Tick():
            return case
        case _:
            assert_never(given)


def target_of(case: Case) -> Target:
    """What all requests and Evictions of the case are about."""
    for held in case.requests:
        return held.request.spec.target
    for eviction in case.evictions:
        return eviction.spec.target
    return Target()


def _recalled(rules: ControllerRules, case: Case, given: Recalled, now: Now) -> Case:
    known = {item.metadata.uid for item in case.evictions}
    for eviction in given.evictions:
        if eviction.metadata.uid not in known:
            case = with_eviction(case, eviction)
    for request in given.requests:
        case = taken(rules, case, request, now)
    return _sighted(rules, case, given.sighted)


def _held(rules: ControllerRules, case: Case, given: Requested, now: Now) -> Held:
    known = next(
        (
            held
            for held in case.requests
            if held.topic_levels == (given.requester, given.namespace, given.name)
        ),
        None,
    )
    if known is None:
        return _first_seen(rules, case, given, now)
    request = _ours(given, known.status)
    if request.spec == known.request.spec:
        return structs.replace(known, request=request, unconfirmed=False)
    status = structs.replace(known.status, generation=known.status.generation + 1)
    return Held(
        request=_ours(given, status),
        status=status,
        received_boot_seconds=now.boot_seconds,
        deadline_time=_deadline(request, known.deadline_time, stamp(now)),
    )


def _first_seen(rules: ControllerRules, case: Case, given: Requested, now: Now) -> Held:
    """Uid and time are minted at first sight, unless we remember having done so."""
    topic = topics.REQUEST.path.format(
        **topics.levels(given.requester), namespace=given.namespace, name=given.name
    )
    status = given.status or RequestStatus(
        uid=minted(f"{rules.node}/{topic}", now), generation=1, creation_timestamp=stamp(now)
    )
    request = _ours(given, status)
    deadline_time = _deadline(request, None, status.creation_timestamp)
    current = running(of_kind(case, is_dry=dry(rules, request)))
    told = None if current is None else current.status.deadline_time
    if deadline_time is not None and told is not None and given.status is not None:
        # The wish may have come later than its request did: what was told of it then counts.
        deadline_time = max(deadline_time, told)
    return Held(
        request=request,
        status=status,
        received_boot_seconds=now.boot_seconds,
        deadline_time=deadline_time,
    )


def _ours(given: Requested, status: RequestStatus) -> EvictionRequest:
    """The request with the metadata that its status tells; nobody else's counts."""
    metadata = Metadata(
        name=given.name,
        namespace=given.namespace,
        uid=status.uid,
        generation=status.generation,
        creation_timestamp=status.creation_timestamp,
        deletion_timestamp=given.request.metadata.deletion_timestamp,
    )
    spec = structs.replace(given.request.spec, requester=given.requester)
    return EvictionRequest(metadata=metadata, spec=spec)


def _deadline(request: EvictionRequest, known: datetime | None, since: datetime) -> datetime | None:
    """From the moment when the wish came; while it stands it is never moved back."""
    spec = request.spec
    if spec.type != RequestType.SOFT_WITH_DEADLINE or spec.deadline_seconds is None:
        return None
    if not wants(request):
        return None
    wanted = after(since, spec.deadline_seconds)
    return wanted if known is None else min(known, wanted)


def _without(case: Case, levels: tuple[str, str, str]) -> Case:
    rest = tuple(held for held in case.requests if held.topic_levels != levels)
    return structs.replace(case, requests=rest)


def _unconfirmed(case: Case, levels: tuple[str, str, str]) -> Case:
    for held in case.requests:
        if held.topic_levels == levels:
            return with_held(case, structs.replace(held, unconfirmed=True))
    return case


def _sighted(rules: ControllerRules, case: Case, given: Sighted | None) -> Case:
    """Presence is believed however it is told, absence only from a live and complete list."""
    if given is None:
        return case
    conclusive = given.live and given.complete
    if facts.gone(target_of(case), given.pod):
        if not conclusive:
            return case
        case = structs.replace(case, pod=given.pod, absent=True)
    else:
        case = structs.replace(case, pod=given.pod, absent=False)
    return _with_evidence(rules, case, given.moment) if conclusive else case


def _with_evidence(rules: ControllerRules, case: Case, taken_at: Moment) -> Case:
    requests = tuple(
        structs.replace(held, evidence=True)
        if _after(rules, taken_at, held.received_boot_seconds)
        else held
        for held in case.requests
    )
    run = case.run
    if run.finish is not None and _after(rules, taken_at, run.finish.boot_seconds):
        run = structs.replace(run, finish=structs.replace(run.finish, seen=True))
    return structs.replace(case, requests=requests, run=run)


def _after(rules: ControllerRules, taken_at: Moment, boot_seconds: float) -> bool:
    """Where the observation does not count our boot's time, its receipt does: it came later."""
    since = Moment(time=taken_at.time, boot_id=rules.boot_id, uptime_seconds=boot_seconds)
    return later_in_boot(since, taken_at) is not False


def _registered(case: Case, given: Registered, now: Now) -> Case:
    """A loss is remembered from the first time it is told, until the responder is ready again."""
    status = None if given.registration is None else given.registration.status
    times = dict(case.run.lost_times)
    if status == PresenceStatus.LOST:
        times.setdefault(given.responder, stamp(now))
    elif status == PresenceStatus.READY:
        times.pop(given.responder, None)
    run: Run = structs.replace(case.run, lost_times=times)
    return structs.replace(case, run=run)
