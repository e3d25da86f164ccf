"""Vectors of the EvictionRequest protocol against `core.protocol` and `core.admission`."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from tests.conformance.protocol_objects import (
    ORIGIN,
    at,
    condition_document,
    over_plain,
    pod_of,
    read,
    seconds_of,
)
from tests.conformance.protocol_scenarios import same_story, scenario

from evictd.core.protocol import (
    chain,
    conditions,
    facts,
    labels,
    naming,
    progression,
    relevance,
    requesters,
    validation,
)
from evictd.core.protocol.policy import UPSTREAM
from evictd.core.protocol.vocabulary import ConditionType
from evictd_schemas import (
    Condition,
    Eviction,
    EvictionRequest,
    RequesterStatus,
    ResponderStatus,
    Target,
    TargetResponder,
)

Given = Mapping[str, Any]


def identify(given: Given) -> dict[str, Any]:
    """All identity facts of a target at once."""
    target, pod = read(given["target"], Target), pod_of(given["pod"])
    named = target.pod
    return {
        "type": "unknown" if named is None else "pod",
        "name": "" if named is None else named.name,
        "uid": "" if named is None else named.uid,
        "foundByName": pod is not None,
        "metaUid": None if pod is None else pod.uid,
        "gone": facts.gone(target, pod),
    }


def in_scheduling_group(given: Given) -> dict[str, Any]:
    target = read(given["target"], Target)
    return {"value": facts.in_scheduling_group(UPSTREAM, target, pod_of(given["pod"]))}


def is_terminal(given: Given) -> dict[str, Any]:
    return {"value": facts.terminal(pod_of(given["pod"]))}


def terminal_time(given: Given) -> dict[str, Any]:
    return {"value": seconds_of(facts.terminal_time(pod_of(given["pod"])))}


def finish_time(given: Given) -> dict[str, Any]:
    pod = pod_of(given["pod"])
    return {"value": None if pod is None else seconds_of(facts.finish_time(pod))}


def responders(given: Given) -> dict[str, Any]:
    found = facts.responders(
        UPSTREAM,
        read(given["target"], Target),
        pod_of(given["pod"]),
        include_default=bool(given["includeDefault"]),
    )
    value = [{"name": item.name, "priority": item.priority} for item in found]
    return {"value": value or None}


def as_reference(given: Given) -> dict[str, Any]:
    eviction = read({"spec": {"target": given["target"]}}, Eviction)
    return {"value": msgspec.to_builtins(eviction.spec.target)}


def terminal_times(given: Given) -> dict[str, Any]:
    """The cache of terminal times, operation by operation."""
    times, reads = facts.TerminalTimes(), []
    for operation in given["ops"] or ():
        if "put" in operation:
            times = times.put(operation["put"], at(operation["at"]))
        elif "clear" in operation:
            times = times.clear(operation["clear"])
        else:
            reads.append(seconds_of(times.get(operation["get"])))
    return {"reads": reads}


def eviction_name(given: Given) -> dict[str, Any]:
    pod = read(given["target"], Target).pod
    pod_name = "" if pod is None else pod.name
    existing = [read(item, Eviction).metadata.name for item in given["evictions"] or ()]
    number = naming.next_number(pod_name, existing)
    return {"name": naming.eviction_name(pod_name, number)}


def relevant(given: Given) -> dict[str, Any]:
    """The answer does not depend on the order in which the Evictions are given."""
    evictions = [read(item, Eviction) for item in given["evictions"] or ()]
    found, may_create = relevance.relevant(evictions)
    assert (found, may_create) == relevance.relevant(evictions[::-1])
    return {"relevant": None if found is None else found.metadata.name, "mayCreate": may_create}


def copy_condition(given: Given) -> dict[str, Any]:
    kind = ConditionType(given["type"])
    held = _conditions(given["requestConditions"])
    merged, changed = conditions.copied(
        held, _conditions(given["evictionConditions"]), kind, ORIGIN
    )
    found = conditions.find(merged, kind)
    assert found is not None
    return {"condition": condition_document(found), "changed": changed}


def compare_transition(given: Given) -> dict[str, Any]:
    one, other = _conditions(given["a"]), _conditions(given["b"])
    return {"sign": conditions.compare_transition(given["type"], one, other)}


def any_intent(given: Given) -> dict[str, Any]:
    return {"value": any(requesters.wants(request) for request in _requests(given))}


def owner_reference(given: Given) -> dict[str, Any]:
    reference = labels.owner_reference(read(given["request"], EvictionRequest))
    return {"value": msgspec.to_builtins(reference)}


def compute_labels(given: Given) -> dict[str, Any]:
    target, pod = read(given["target"], Target), pod_of(given["pod"])
    taking_part = None
    if not facts.gone(target, pod):
        taking_part = [item.name for item in facts.responders(UPSTREAM, target, pod)]
    return {"labels": labels.compute(given["labels"] or {}, taking_part, _requests(given))}


def needs_update(given: Given) -> dict[str, Any]:
    return {"value": labels.needs_update(given["old"] or {}, given["new"] or {})}


def early_validation(given: Given) -> dict[str, Any]:
    target, pod = read(given["target"], Target), pod_of(given["pod"])
    if given["kind"] == "EvictionRequest":
        text = validation.invalid_request(
            UPSTREAM, target, pod, has_evictions=bool(given["targetHasEvictions"])
        )
    else:
        duplicate = bool(given["isDuplicate"])
        text = validation.invalid_eviction(UPSTREAM, target, pod, duplicate=duplicate)
    if text is None:
        return {"conditions": None, "changed": False}
    return _concluded(given, conditions.failure(conditions.Cause.INVALID, text))


def eviction_conditions(given: Given) -> dict[str, Any]:
    verdict = conditions.verdict_of(
        gone=bool(given["gone"]),
        terminal=bool(given["terminal"]),
        canceled=bool(given["canceled"]),
        done=bool(given["progressionDone"]),
        waiting=bool(given["waitingForResponder"]),
    )
    return _concluded(given, verdict)


def aggregate(given: Given) -> dict[str, Any]:
    known = [read(item, RequesterStatus) for item in given["statusRequesters"] or ()]
    limit = requesters.REQUESTERS_MAX if given["limit"] is None else given["limit"]
    merged, changed = requesters.merge(known, _requests(given), limit)
    return {"requesters": msgspec.to_builtins(merged), "changed": changed}


def sort_requests(given: Given) -> dict[str, Any]:
    return {
        "order": [item.metadata.name for item in sorted(_requests(given), key=requesters.order)]
    }


def init_chain(given: Given) -> dict[str, Any]:
    found, made = chain.initial(
        UPSTREAM,
        _chain(given["statusTargetResponders"]),
        read(given["target"], Target),
        pod_of(given["pod"]),
    )
    return {"targetResponders": msgspec.to_builtins(found) or None, "initialized": made}


def sort_chain(given: Given) -> dict[str, Any]:
    return {"order": [item.name for item in chain.ordered(_chain(given["targetResponders"]))]}


def progress(given: Given) -> dict[str, Any]:
    pod = pod_of(given["pod"])
    step = progression.progress(
        _chain(given["targetResponders"]),
        [read(item, ResponderStatus) for item in given["responders"] or ()],
        _target_fact(given),
        ORIGIN,
        basis=None if pod is None else pod.deletion_time,
    )
    return {
        "targetResponders": msgspec.to_builtins(step.chain),
        "progressionDone": step.done,
        "resyncAfter": seconds_of(step.look_time),
    }


def deferral(given: Given) -> dict[str, Any]:
    entry, pod = given["activeResponder"], pod_of(given["pod"])
    if given["basis"] == "deletionTimestamp":
        basis = None if pod is None else pod.deletion_time
    else:
        basis = facts.terminal_time(pod)
    end = progression.deferral_end(None if entry is None else read(entry, ResponderStatus), basis)
    rest = seconds_of(end)
    return {"deferFor": rest if rest is not None and rest > 0 else None}


def _target_fact(given: Given) -> progression.Target:
    if given["gone"] or given["terminal"]:
        return progression.Target.ENDED
    return progression.Target.UNWANTED if given["canceled"] else progression.Target.WANTED


def _conditions(given: list[Any] | None) -> tuple[Condition, ...]:
    return tuple(read(item, Condition) for item in given or ())


def _requests(given: Given) -> list[EvictionRequest]:
    return [read(item, EvictionRequest) for item in given["requests"] or ()]


def _chain(given: list[Any] | None) -> tuple[TargetResponder, ...]:
    return tuple(read(item, TargetResponder) for item in given or ())


def _concluded(given: Given, verdict: conditions.Verdict) -> dict[str, Any]:
    merged, changed = conditions.conclude(_conditions(given["conditions"]), verdict, ORIGIN)
    own = [conditions.find(merged, kind) for kind in ConditionType]
    return {
        "conditions": [condition_document(item) for item in own if item is not None],
        "changed": changed,
    }


def _finished(
    predicate: Callable[[tuple[Condition, ...]], bool],
) -> Callable[[Given], dict[str, Any]]:
    return lambda given: {"value": predicate(_conditions(given["conditions"]))}


_OPERATIONS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("01-target-info", "identify"): identify,
    ("01-target-info", "hasSchedulingGroup"): in_scheduling_group,
    ("01-target-info", "isTerminal"): is_terminal,
    ("01-target-info", "terminalTime"): terminal_time,
    ("01-target-info", "finishTime"): finish_time,
    ("01-target-info", "responders"): responders,
    ("01-target-info", "asReference"): as_reference,
    ("02-terminal-time-cache", ""): terminal_times,
    ("03-eviction-naming", ""): eviction_name,
    ("04-relevant-eviction", ""): relevant,
    ("05-conditions-and-predicates", "copyCondition"): copy_condition,
    ("05-conditions-and-predicates", "compareTransition"): compare_transition,
    ("05-conditions-and-predicates", "requestFinished"): _finished(conditions.request_finished),
    ("05-conditions-and-predicates", "evictionFinished"): _finished(conditions.eviction_finished),
    ("05-conditions-and-predicates", "anyIntent"): any_intent,
    ("05-conditions-and-predicates", "ownerReference"): owner_reference,
    ("06-labels", "compute"): compute_labels,
    ("06-labels", "needsUpdate"): needs_update,
    ("07-early-validation", ""): early_validation,
    ("08-eviction-conditions", ""): eviction_conditions,
    ("09-requesters", "aggregate"): aggregate,
    ("09-requesters", "sort"): sort_requests,
    ("10-target-responders", "init"): init_chain,
    ("10-target-responders", "sort"): sort_chain,
    ("11-responder-progression", ""): progress,
    ("12-completion-deferral", ""): deferral,
    ("19-scenarios", ""): scenario,
}
OPERATIONS = {name: over_plain(operation) for name, operation in _OPERATIONS.items()}
COMPARISONS = {"19-scenarios": same_story}
