"""What arrives for the controller: every broken rule is told at once, with kind and path."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from evictd.core.admission.messages import (
    registration_problems,
    report_problems,
    requested_problems,
)
from evictd.core.moments import Now
from evictd.core.problems import Problem
from evictd.core.protocol.inputs import ControllerRules
from evictd_schemas import EvictionRequest, Registration, Report

RULES = ControllerRules(node="edge", hard_requesters=("evictd.io/node-pressure",))
UID = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
LEVELS = ("acme.io/mover", "shop", "move")
UTC_NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOW = Now(boot_seconds=0.0, utc=UTC_NOW)
WISH: dict[str, Any] = {
    "target": {"pod": {"name": "web", "uid": UID}},
    "requester": "acme.io/mover",
    "intent": "Eviction",
}


def request(**document: Any) -> EvictionRequest:
    spec = {**WISH, **document.pop("spec", {})}
    return msgspec.convert({"spec": spec, **document}, EvictionRequest)


def found(problems: Iterable[Problem]) -> set[tuple[str, str]]:
    return {(item.code, item.field) for item in problems}


def test_the_smallest_request_of_the_contract_is_accepted() -> None:
    assert found(requested_problems(RULES, LEVELS, request(), None)) == set()


def test_names_of_containers_need_not_be_dns_names() -> None:
    spec = {"target": {"pod": {"name": "Shop_Web.1", "uid": UID}}}
    assert found(requested_problems(RULES, LEVELS, request(spec=spec), None)) == set()


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"apiVersion": "v1"}, ("Invalid", "apiVersion")),
        ({"kind": "Pod"}, ("Invalid", "kind")),
        ({"metadata": {"namespace": "bank"}}, ("Invalid", "metadata.namespace")),
        ({"metadata": {"name": "other"}}, ("Invalid", "metadata.name")),
        ({"spec": {"requester": "acme.io/else"}}, ("Invalid", "spec.requester")),
        ({"spec": {"requester": ""}}, ("Required", "spec.requester")),
        ({"spec": {"intent": ""}}, ("Required", "spec.intent")),
        ({"spec": {"intent": "Please"}}, ("NotSupported", "spec.intent")),
        ({"spec": {"type": "Harder"}}, ("NotSupported", "spec.type")),
        ({"spec": {"type": "Hard"}}, ("Forbidden", "spec.type")),
        ({"spec": {"type": "SoftWithDeadline"}}, ("Required", "spec.deadlineSeconds")),
        ({"spec": {"deadlineSeconds": -1}}, ("Invalid", "spec.deadlineSeconds")),
        ({"spec": {"gracePeriodSeconds": -1}}, ("Invalid", "spec.gracePeriodSeconds")),
        ({"spec": {"target": {}}}, ("Invalid", "spec.target")),
        (
            {"spec": {"target": {"pod": {"name": "w/b", "uid": UID}}}},
            ("Invalid", "spec.target.pod.name"),
        ),
    ],
)
def test_each_rule_of_a_request_names_its_field(
    document: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert found(requested_problems(RULES, LEVELS, request(**document), None)) == {problem}


def test_all_broken_rules_are_told_at_once() -> None:
    spec = {"intent": "", "type": "Hard", "target": {"pod": {"name": "", "uid": "no uid"}}}
    problems = requested_problems(RULES, LEVELS, request(spec=spec, kind="Pod"), None)
    assert found(problems) == {
        ("Invalid", "kind"),
        ("Required", "spec.intent"),
        ("Forbidden", "spec.type"),
        ("Required", "spec.target.pod.name"),
        ("Invalid", "spec.target.pod.uid"),
    }


@pytest.mark.parametrize("text", ["x" * 1000, "\x01" * 1000, "\N{SNOWMAN}" * 1000])
def test_a_reason_leaves_room_for_the_rest_of_its_eviction(text: str) -> None:
    """As it is written in a message, where some characters take six."""
    annotations = {f"acme.io/{number}": text for number in range(600)}
    small = request(spec={"reason": {"message": text, "annotations": {"acme.io/0": text}}})
    large = request(spec={"reason": {"message": text, "annotations": annotations}})
    assert found(requested_problems(RULES, LEVELS, small, None)) == set()
    assert found(requested_problems(RULES, LEVELS, large, None)) == {("TooLong", "spec.reason")}


def test_hard_is_for_the_pressure_requesters() -> None:
    levels = ("evictd.io/node-pressure", "shop", "move")
    hard = request(spec={"type": "Hard", "requester": "evictd.io/node-pressure"})
    assert found(requested_problems(RULES, levels, hard, None)) == set()


@pytest.mark.parametrize(
    ("held", "new", "allowed"),
    [
        ("Soft", "SoftWithDeadline", True),
        ("SoftWithDeadline", "Soft", False),
        ("Hard", "SoftWithDeadline", False),
        ("Soft", "Soft", True),
    ],
)
def test_a_type_is_only_tightened(held: str, new: str, *, allowed: bool) -> None:
    before = request(spec={"type": held, "deadlineSeconds": 60})
    after = request(spec={"type": new, "deadlineSeconds": 60})
    problems = found(requested_problems(RULES, LEVELS, after, before))
    assert problems == (set() if allowed else {("Forbidden", "spec.type")})


def test_the_target_of_a_request_stays() -> None:
    other = request(spec={"target": {"pod": {"name": "db", "uid": UID}}})
    problems = found(requested_problems(RULES, LEVELS, other, request()))
    assert problems == {("Invalid", "spec.target")}


@pytest.mark.parametrize("field", ["heartbeat_time", "completion_time"])
def test_a_report_may_be_thirty_seconds_ahead_and_not_more(field: str) -> None:
    name = {"heartbeat_time": "heartbeatTime", "completion_time": "completionTime"}[field]
    inside = Report(eviction_uid=UID, **{field: UTC_NOW + timedelta(seconds=30)})
    beyond = Report(eviction_uid=UID, **{field: UTC_NOW + timedelta(seconds=30.5)})
    past = Report(eviction_uid=UID, **{field: UTC_NOW - timedelta(days=400)})
    assert found(report_problems(inside, NOW)) == set()
    assert found(report_problems(past, NOW)) == set()
    assert found(report_problems(beyond, NOW)) == {("Invalid", name)}


def test_a_report_says_no_more_than_fits() -> None:
    report = Report(
        eviction_uid="x",
        message="y" * 4001,
        expected_completion_time=UTC_NOW + timedelta(days=4000),
    )
    assert found(report_problems(report, NOW)) == {
        ("Invalid", "evictionUid"),
        ("TooLong", "message"),
        ("Invalid", "expectedCompletionTime"),
    }


def test_a_registration_is_of_an_outsider_with_sane_figures() -> None:
    good = Registration(status="ready", priority=10000, heartbeat_seconds=180)
    assert found(registration_problems("acme.io/drain", good)) == set()
    bad = Registration(
        status="asleep", priority=100, namespaces=("n",) * 101, start_deadline_seconds=0
    )
    assert found(registration_problems("foo.k8s.io/drain", bad)) == {
        ("Invalid", "topic"),
        ("NotSupported", "status"),
        ("Invalid", "priority"),
        ("TooMany", "namespaces"),
        ("Invalid", "startDeadlineSeconds"),
    }
