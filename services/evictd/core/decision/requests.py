"""The evictor's own EvictionRequests: what they say, and what became of them.

[contract 3, EvictionRequest] [eviction-request-api 2.1, 5.2]
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import structs

from evictd.core.decision.grace import pressure_grace_seconds
from evictd.core.decision.inputs import Retained
from evictd.core.decision.limits import Offence
from evictd.core.decision.plan import OwnRequest
from evictd.core.effects import Publish
from evictd.core.moments import Now
from evictd.core.pods import reference
from evictd.core.protocol.conditions import cause_of, holds
from evictd.core.protocol.vocabulary import (
    LOCAL_STORAGE,
    NODE_PRESSURE,
    Cause,
    ConditionType,
    Intent,
    RequestType,
)
from evictd.core.rules import Mode, Rules
from evictd_schemas import (
    EvictionRequest,
    EvictionRequestSpec,
    Metadata,
    Pod,
    PodReference,
    PodTarget,
    Reason,
    RequestStatus,
    Target,
    topics,
)

UID_CHARACTERS = 8
"""Of the uid, in the name of a request: enough to tell two lives of one pod."""
FOLLOWING = "following"
"""The annotation that tells who goes after the target: `namespace/name/uid`, by commas."""
FOLLOWING_MAX = 100
"""Companions of one victim; a group is larger by mistake only."""
NAME_BYTES_MAX = topics.SEGMENT_BYTES_MAX - UID_CHARACTERS - 1


class Fate(StrEnum):
    """How a request ended."""

    EVICTED = "evicted"
    REFUSED = "refused"
    FAILED = "failed"
    REHEARSED = "rehearsed"
    CANCELED = "canceled"


_FATES: Mapping[str, Fate] = {
    Cause.INVALID: Fate.REFUSED,
    Cause.DRY_RUN: Fate.REHEARSED,
    Cause.CANCELED: Fate.CANCELED,
}


def pressure_request(
    rules: Rules,
    pod: Pod,
    reason: Reason,
    *,
    hard: bool,
    now: Now,
    following: tuple[PodReference, ...] = (),
) -> OwnRequest:
    """The request that this pod goes because of node pressure.

    The same pod has the same topic, so that asking again tightens. [design, law 7] `following`: who
    goes after it; told in an annotation, which is where a restart finds it.
    """
    following = following[:FOLLOWING_MAX]
    if following:
        annotations = {**reason.annotations, FOLLOWING: _following_text(following)}
        reason = structs.replace(reason, annotations=annotations)
    grace_seconds = pressure_grace_seconds(rules, pod, hard=hard)
    kind = RequestType.HARD if hard else RequestType.SOFT
    spec = _spec(rules, NODE_PRESSURE, pod, kind=kind, grace_seconds=grace_seconds, reason=reason)
    return structs.replace(_request(rules, pod, spec, now), following=following)


def limit_request(rules: Rules, offence: Offence, now: Now) -> OwnRequest:
    """The request that this pod goes because of a limit of its own. [kubelet-eviction 10]"""
    pod = offence.pod
    grace_seconds = pressure_grace_seconds(rules, pod, hard=True)
    reason = Reason(signal=offence.signal, message=offence.message)
    kind = RequestType.HARD
    spec = _spec(rules, LOCAL_STORAGE, pod, kind=kind, grace_seconds=grace_seconds, reason=reason)
    return _request(rules, pod, spec, now)


def withdrawn(own: OwnRequest) -> OwnRequest:
    """The same request, no longer wanted."""
    spec = structs.replace(own.request.spec, intent=Intent.WITHDRAWN)
    return structs.replace(own, request=structs.replace(own.request, spec=spec))


def publication(own: OwnRequest) -> Publish:
    """The request as it stands."""
    return Publish(topic=own.topic, message=own.request)


def fate(status: RequestStatus) -> Fate | None:
    """What became of a request; None while it is open. [contract 3, EvictionRequest]"""
    if holds(status.conditions, ConditionType.TARGET_EVICTED):
        return Fate.EVICTED
    cause = cause_of(status.conditions)
    return None if cause is None else _FATES.get(cause, Fate.FAILED)


def recovered(retained: Retained, now: Now) -> OwnRequest | None:
    """A request of ours as found on the bus after a restart; None when it names no pod of ours."""
    place, spec = topics.place(retained.topic), retained.request.spec
    if place is None or place.kind is not topics.REQUEST or spec.target.pod is None:
        return None
    namespace, name = place.names["namespace"], place.names["name"]
    target = spec.target.pod
    return OwnRequest(
        topic=retained.topic,
        request=structs.replace(
            retained.request, metadata=Metadata(namespace=namespace, name=name), epoch=0, rev=0
        ),
        pod=PodReference(namespace=namespace, name=target.name, uid=target.uid),
        asked_boot_seconds=now.boot_seconds,
        following=_following(spec.reason),
    )


def request_topic(node: str, requester: str, pod: Pod) -> str:
    """Where the request of one requester for one life of a pod stands."""
    return topics.REQUEST.at(
        node, **topics.levels(requester), namespace=pod.namespace, name=request_name(pod)
    )


def request_name(pod: Pod | PodReference) -> str:
    """One for each life, so that asking again tightens what was asked before."""
    return f"{topics.cut(pod.name, NAME_BYTES_MAX)}-{pod.uid[:UID_CHARACTERS]}"


def _following_text(following: Iterable[PodReference]) -> str:
    return ",".join(f"{pod.namespace}/{pod.name}/{pod.uid}" for pod in following)


def _following(reason: Reason | None) -> tuple[PodReference, ...]:
    text = "" if reason is None else reason.annotations.get(FOLLOWING, "")
    parts = (entry.split("/") for entry in text.split(","))
    return tuple(
        PodReference(namespace=part[0], name=part[1], uid=part[2])
        for part in parts
        if len(part) == len(("namespace", "name", "uid"))
    )


def _spec(
    rules: Rules,
    requester: str,
    pod: Pod,
    *,
    kind: str,
    grace_seconds: int | None,
    reason: Reason,
) -> EvictionRequestSpec:
    return EvictionRequestSpec(
        target=Target(pod=PodTarget(name=pod.name, uid=pod.uid)),
        requester=requester,
        intent=Intent.EVICTION,
        type=kind,
        grace_period_seconds=grace_seconds,
        dry_run=rules.mode is Mode.DRY_RUN,
        reason=reason,
    )


def _request(rules: Rules, pod: Pod, spec: EvictionRequestSpec, now: Now) -> OwnRequest:
    metadata = Metadata(namespace=pod.namespace, name=request_name(pod))
    return OwnRequest(
        topic=request_topic(rules.node, spec.requester, pod),
        request=EvictionRequest(metadata=metadata, spec=spec),
        pod=reference(pod),
        asked_boot_seconds=now.boot_seconds,
    )
