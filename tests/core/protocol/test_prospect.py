"""The chain in prospect is the one that the controller makes; its worst case is the sum of
patiences."""

from datetime import UTC, datetime

from evictd.core.moments import Now
from evictd.core.protocol.advance import advance
from evictd.core.protocol.case import Case
from evictd.core.protocol.inputs import ControllerRules, Requested, Sighted
from evictd.core.protocol.policy import EVICTD
from evictd.core.protocol.prospect import prospect_of
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd.core.rules import Mode
from evictd_schemas import (
    DeclaredResponder,
    EvictionRequest,
    EvictionRequestSpec,
    LabelSelector,
    Moment,
    Pod,
    PodTarget,
    Registration,
    Target,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
UID = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
POD = Pod(
    namespace="shop",
    name="web",
    uid=UID,
    labels={"app": "web"},
    termination_grace_period_seconds=30,
    eviction_responders=(
        DeclaredResponder(name="acme.io/drain", priority=10000, start_deadline_seconds=60),
    ),
)
REGISTRATIONS = {
    "acme.io/copy": Registration(
        status="ready",
        priority=20000,
        selector=LabelSelector(match_labels={"app": "web"}),
        heartbeat_deadline_seconds=30,
    ),
    "acme.io/other": Registration(status="ready", namespaces=("bank",)),
    "acme.io/drain": Registration(status="lost", start_deadline_seconds=5),
}


def test_the_chain_is_the_one_that_the_controller_makes() -> None:
    request = EvictionRequest(
        spec=EvictionRequestSpec(
            target=Target(pod=PodTarget(name="web", uid=UID)),
            requester="acme.io/mover",
            intent="Eviction",
        )
    )
    sighted = Sighted(pod=POD, moment=Moment(time=NOW), live=True, complete=True)
    given = Requested(
        requester="acme.io/mover", namespace="shop", name="m", request=request, sighted=sighted
    )
    rules = ControllerRules(node="edge", mode=Mode.ACT, registrations=REGISTRATIONS)
    case, _ = advance(rules, Case(), given, Now(boot_seconds=0, utc=NOW))
    (eviction,) = case.evictions
    made = [(item.name, item.priority) for item in eviction.status.target_responders]
    found = prospect_of(EVICTD, POD, REGISTRATIONS)
    assert [(turn.name, turn.priority) for turn in found.turns] == made
    assert {turn.name: turn.terms for turn in found.turns} == case.run.terms


def test_the_worst_case_is_the_patience_with_everybody_before_the_stop() -> None:
    found = prospect_of(EVICTD, POD, REGISTRATIONS)
    assert [turn.seconds_max for turn in found.turns] == [1200 + 30, 60 + 1200, 2400]
    assert found.unanswered_seconds == 1200 + 60
    assert found.handover_seconds_max == 1230 + 1260
    assert found.grace_seconds == 30


def test_it_tells_who_is_there() -> None:
    found = prospect_of(EVICTD, POD, REGISTRATIONS)
    assert [(turn.status, turn.declared, turn.builtin) for turn in found.turns] == [
        ("ready", False, False),
        ("lost", True, False),
        (None, False, True),
    ]
    assert found.turns[-1].name == DEFAULT_RESPONDER


def test_without_responders_the_stop_begins_at_once() -> None:
    found = prospect_of(EVICTD, Pod(namespace="shop", name="web", uid=UID), {})
    assert [turn.name for turn in found.turns] == [DEFAULT_RESPONDER]
    assert (found.handover_seconds_max, found.grace_seconds) == (0, None)
