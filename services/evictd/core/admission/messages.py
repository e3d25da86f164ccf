"""What arrives on the bus for the controller: requests, reports, registrations.

[contract 3, EvictionRequest, Report, Registration]
"""

from collections.abc import Iterator

from msgspec import structs

from evictd.core.admission import names
from evictd.core.admission.entries import EXPECTED_MAX, MESSAGE_LENGTH_MAX
from evictd.core.admission.kinds import forbidden, invalid, not_supported, too_long, too_many
from evictd.core.admission.objects import (
    PRIORITY_MIN,
    duration,
    priority,
    request_problems,
)
from evictd.core.moments import Now
from evictd.core.problems import Problem
from evictd.core.protocol.inputs import ControllerRules
from evictd.core.protocol.reports import AHEAD_SECONDS_MAX, ahead
from evictd.core.protocol.vocabulary import PresenceStatus, RequestType
from evictd_schemas import API_VERSION, EvictionRequest, Metadata, Registration, Report, Setback

NAMESPACES_MAX = 100
"""Namespaces and labels that one registration may name."""
CAUSE_LENGTH_MAX = 100
"""Characters of the word for why something is tried again."""


def requested_problems(
    rules: ControllerRules,
    levels: tuple[str, str, str],
    request: EvictionRequest,
    held: EvictionRequest | None,
) -> Iterator[Problem]:
    """A request on the topic of (requester, namespace, name); `held` is what stands there."""
    requester, namespace, name = levels
    if request.api_version != API_VERSION:
        yield invalid("apiVersion", f"it is {API_VERSION}")
    if request.kind != "EvictionRequest":
        yield invalid("kind", "it is EvictionRequest")
    yield from _same("metadata.namespace", request.metadata.namespace, namespace)
    yield from _same("metadata.name", request.metadata.name, name)
    yield from _same("spec.requester", request.spec.requester, requester)
    named = structs.replace(request, metadata=Metadata(namespace=namespace, name=name))
    yield from request_problems(rules.policy, named, held)
    if request.spec.type == RequestType.HARD and requester not in rules.hard_requesters:
        yield forbidden("spec.type", f"{requester} is none of the hardRequesters")


def report_problems(report: Report, now: Now) -> Iterator[Problem]:
    """The past is accepted; the future only as far as clocks differ."""
    yield from names.uid("evictionUid", report.eviction_uid)
    for field in ahead(report, now):
        yield invalid(field, f"it lies more than {AHEAD_SECONDS_MAX:g} s in the future")
    expected = report.expected_completion_time
    if expected is not None and expected - now.utc > EXPECTED_MAX:
        yield invalid("expectedCompletionTime", "it lies more than ten years ahead")
    if len(report.message) > MESSAGE_LENGTH_MAX:
        yield too_long("message", len(report.message), MESSAGE_LENGTH_MAX)
    if report.setback is not None:
        yield from _setback_problems(report.setback)


def registration_problems(responder: str, registration: Registration) -> Iterator[Problem]:
    """A responder that is there, under a name of its own domain."""
    yield from names.participant("topic", responder, outsider=True)
    if registration.status not in set(PresenceStatus):
        yield not_supported("status", registration.status, PresenceStatus)
    if registration.priority is not None:
        yield from priority("priority", registration.priority, PRIORITY_MIN)
    if len(registration.namespaces) > NAMESPACES_MAX:
        yield too_many("namespaces", len(registration.namespaces), NAMESPACES_MAX)
    labels = registration.selector.match_labels if registration.selector is not None else {}
    if len(labels) > NAMESPACES_MAX:
        yield too_many("selector.matchLabels", len(labels), NAMESPACES_MAX)
    yield from duration("startDeadlineSeconds", registration.start_deadline_seconds)
    yield from duration("heartbeatDeadlineSeconds", registration.heartbeat_deadline_seconds)
    yield from duration("heartbeatSeconds", registration.heartbeat_seconds)


def _setback_problems(setback: Setback) -> Iterator[Problem]:
    if len(setback.cause) > CAUSE_LENGTH_MAX:
        yield too_long("setback.cause", len(setback.cause), CAUSE_LENGTH_MAX)
    if setback.attempts < 0:
        yield invalid("setback.attempts", "it is less than 0")


def _same(field: str, written: str, topic: str) -> Iterator[Problem]:
    if written and written != topic:
        yield invalid(field, f"{written[:80]!r} contradicts {topic!r} of the topic")
