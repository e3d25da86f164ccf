"""One sync of one request: checks, a new Eviction where one is needed, and its status.

[eviction-request-api 5.2] [contract 3, EvictionRequest and its status]
"""

from uuid import NAMESPACE_URL, uuid5

from msgspec import structs

from evictd.core.moments import Now
from evictd.core.protocol.acceptance import (
    Acceptance,
    Answer,
    acceptance,
    real_due,
    resting,
    settled,
    took_part,
)
from evictd.core.protocol.case import (
    Case,
    Held,
    dry,
    of_kind,
    running,
    stamp,
    taking_part,
    wanted_by,
    with_eviction,
    with_held,
)
from evictd.core.protocol.chain import past_return
from evictd.core.protocol.conditions import (
    PENDING,
    Conditions,
    Verdict,
    cause_of,
    conclude,
    copied,
    failure,
    holds,
    request_finished,
)
from evictd.core.protocol.inputs import ControllerRules
from evictd.core.protocol.labels import owner_reference
from evictd.core.protocol.naming import eviction_name, next_number
from evictd.core.protocol.relevance import relevant
from evictd.core.protocol.vocabulary import Cause, ConditionType, Role
from evictd_schemas import (
    Eviction,
    EvictionSpec,
    EvictionStatus,
    Metadata,
    ObjectReference,
    topics,
)

REAL_RUNS = "a real Eviction is running"


def sync_request(rules: ControllerRules, case: Case, held: Held, now: Now) -> Case:
    """The case after one sync of a request; a finished one waits for another spec."""
    if settled(held):
        return case
    if rules.policy.keeps_success and holds(held.status.conditions, ConditionType.TARGET_EVICTED):
        return _observed(case, held)
    is_dry = dry(rules, held.request)
    found = acceptance(rules, case, held)
    if found.answer is not Answer.ACCEPTED:
        return _answered(case, held, _verdict(found), None, now)
    real = running(of_kind(case, is_dry=False))
    if is_dry and real is not None:
        stays = wanted_by(taking_part(rules, case, is_dry=False)) or past_return(real.status)
        verdict = failure(Cause.DRY_RUN, REAL_RUNS) if stays else PENDING
        return _answered(case, held, verdict, None, now)
    last, may_create = relevant(of_kind(case, is_dry=is_dry))
    if may_create and _due(rules, case, held, last, now):
        case = with_eviction(case, _created(rules, case, held, last, now))
        last, _ = relevant(of_kind(case, is_dry=is_dry))
    return _shown(case, held, last, now)


def _verdict(found: Acceptance) -> Verdict:
    if found.answer is Answer.REFUSED:
        return failure(Cause.INVALID, found.text)
    return structs.replace(PENDING, failed_message=found.text, evicted_message=found.text)


def _due(rules: ControllerRules, case: Case, held: Held, last: Eviction | None, now: Now) -> bool:
    """Whether an Eviction is made now: somebody wants it, and no pause is in the way.

    A real one ends a running rehearsal by being due.
    """
    is_dry = dry(rules, held.request)
    rehearsed = last is not None and cause_of(last.status.conditions) == Cause.DRY_RUN
    wanting = [
        item
        for item in wanted_by(taking_part(rules, case, is_dry=is_dry))
        if not (is_dry and (settled(item) or (rehearsed and took_part(item, last))))
    ]
    if not wanting or (is_dry and real_due(rules, case, now)):
        return False
    return not resting(rules, case, wanting, last, now)


def _created(
    rules: ControllerRules, case: Case, held: Held, last: Eviction | None, now: Now
) -> Eviction:
    """A fresh Eviction with this request as its owner; its uid follows from topic and time."""
    request = held.request
    pod = request.spec.target.pod
    pod_name = pod.name if pod is not None else ""
    taken = next_number(pod_name, [item.metadata.name for item in case.evictions])
    name = eviction_name(pod_name, max(rules.next_number, taken))
    namespace = request.metadata.namespace
    topic = topics.EVICTION.at(rules.node, namespace=namespace, name=name)
    metadata = Metadata(
        name=name,
        namespace=namespace,
        uid=minted(topic, now),
        generation=1,
        creation_timestamp=stamp(now),
        labels={request.spec.requester: str(Role.REQUESTER)},
        owner_references=(owner_reference(request),),
    )
    status = EvictionStatus(node=rules.node, dry_run=dry(rules, request), round=_round(last))
    return Eviction(metadata=metadata, spec=EvictionSpec(target=request.spec.target), status=status)


def minted(topic: str, now: Now) -> str:
    """The uid of an object that was first seen on a topic at a moment."""
    return str(uuid5(NAMESPACE_URL, f"{topic}|{now.utc.isoformat()}"))


def _round(last: Eviction | None) -> int:
    if last is None:
        return 0
    used_up = cause_of(last.status.conditions) == Cause.NO_FURTHER_RESPONDER
    return last.status.round + (1 if used_up else 0)


def _shown(case: Case, held: Held, last: Eviction | None, now: Now) -> Case:
    """The status shows the relevant Eviction's two conditions."""
    source = () if last is None else last.status.conditions
    merged: Conditions = held.status.conditions
    for kind in ConditionType:
        merged, _ = copied(merged, source, kind, stamp(now))
    return _with_status(case, held, merged, last, now)


def _answered(case: Case, held: Held, verdict: Verdict, last: Eviction | None, now: Now) -> Case:
    merged, _ = conclude(held.status.conditions, verdict, stamp(now))
    return _with_status(case, held, merged, last, now)


def _observed(case: Case, held: Held) -> Case:
    """Its answer stands under the spec that it has now."""
    status = structs.replace(held.status, observed_generation=held.status.generation)
    return with_held(case, structs.replace(held, status=status))


def _with_status(
    case: Case, held: Held, merged: Conditions, last: Eviction | None, now: Now
) -> Case:
    reference = None
    if last is not None:
        metadata = last.metadata
        reference = ObjectReference(
            namespace=metadata.namespace, name=metadata.name, uid=metadata.uid
        )
    status = structs.replace(
        held.status,
        conditions=merged,
        observed_generation=held.status.generation,
        eviction=reference,
        final_time=stamp(now) if request_finished(merged) else None,
    )
    return with_held(case, structs.replace(held, status=status))
