"""Vectors of the protocol's admission (13 to 16) against `core.admission`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.conformance.protocol_objects import at, over_plain, pod_of, read

from evictd.core.admission import conditions, names, objects, statuses
from evictd.core.problems import Problem
from evictd.core.protocol.policy import UPSTREAM
from evictd_schemas import Eviction, EvictionRequest, EvictionStatus

Given = Mapping[str, Any]


def object_admission(given: Given) -> dict[str, Any]:
    """An object as it is created or updated, or the status of a request or an Eviction."""
    check = _CHECKS[given["object"], given["verb"] == "status"]
    return _errors(check(given["new"] or {}, given["old"]))


def status_admission(given: Given) -> dict[str, Any]:
    old, new = read(given["old"], EvictionStatus), read(given["new"], EvictionStatus)
    return _errors(statuses.status_problems(old, new, at(given["now"] or 0)))


def reserved_domain(given: Given) -> dict[str, Any]:
    if not names.reserved(given["value"] or ""):
        return {"reserved": False}
    return {"reserved": True, "kind": "Invalid"}


def same_errors(expected: Given, actual: Given) -> None:
    """Kind and field count, as a set; the name of the rule is the reader's own."""
    wanted = {(item["kind"], item["field"]) for item in expected["errors"]}
    found = {(item["kind"], item["field"]) for item in actual["errors"]}
    assert found == wanted


def _request(new: Any, old: Any) -> Iterable[Problem]:
    former = None if old is None else read(old, EvictionRequest)
    return objects.request_problems(UPSTREAM, read(new, EvictionRequest), former)


def _eviction(new: Any, old: Any) -> Iterable[Problem]:
    former = None if old is None else read(old, Eviction)
    return objects.eviction_problems(UPSTREAM, read(new, Eviction), former)


def _pod(new: Any, old: Any) -> Iterable[Problem]:
    pod = pod_of({"metadata": {"name": "p", "uid": "u"}, "spec": new})
    assert pod is not None
    former = None
    if old is not None:
        before = pod_of({"metadata": {"name": "p", "uid": "u"}, "spec": old})
        former = () if before is None else before.eviction_responders
    in_group = pod.scheduling_group is not None
    return objects.declared_problems(pod.eviction_responders, former, in_group=in_group)


def _request_status(new: Any, old: Any) -> Iterable[Problem]:
    """Conditions and generation alone; a request's conditions may go back."""
    before, after = read(old or {}, EvictionStatus), read(new, EvictionStatus)
    yield from conditions.condition_problems(after.conditions)
    yield from conditions.generation_problems(before.observed_generation, after.observed_generation)


def _eviction_status(new: Any, old: Any) -> Iterable[Problem]:
    before, after = read(old or {}, EvictionStatus), read(new, EvictionStatus)
    return statuses.status_problems(before, after, at(0))


_CHECKS: dict[tuple[str, bool], Callable[[Any, Any], Iterable[Problem]]] = {
    ("EvictionRequest", False): _request,
    ("Eviction", False): _eviction,
    ("Pod", False): _pod,
    ("EvictionRequest", True): _request_status,
    ("Eviction", True): _eviction_status,
}


def _errors(problems: Iterable[Problem]) -> dict[str, Any]:
    return {"errors": [{"kind": item.code, "field": item.field} for item in problems]}


_OPERATIONS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("13-object-admission", ""): object_admission,
    ("14-eviction-status", ""): status_admission,
    ("15-reserved-domains", ""): reserved_domain,
    ("16-first-status-write-hardening", ""): status_admission,
}
OPERATIONS = {name: over_plain(operation) for name, operation in _OPERATIONS.items()}
COMPARISONS = dict.fromkeys(
    ("13-object-admission", "14-eviction-status", "16-first-status-write-hardening"), same_errors
)
