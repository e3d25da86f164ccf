"""Where one more or one less decides: times of reports, owners, graces that are asked for."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from evictd.core.effects import Emit
from evictd.core.moments import Now
from evictd.core.protocol.announcement import announced
from evictd.core.protocol.case import Case, Held, Run
from evictd.core.protocol.facts import TerminalTimes
from evictd.core.protocol.inputs import ControllerRules, Reported
from evictd.core.protocol.labels import owner_reference, owners
from evictd.core.protocol.policy import EVICTD
from evictd.core.protocol.reports import (
    AHEAD_SECONDS_MAX,
    LATE_SECONDS,
    Standing,
    ahead,
    standing,
    take,
)
from evictd.core.protocol.validation import refusal
from evictd_schemas import (
    Condition,
    Eviction,
    EvictionRequest,
    EvictionRequestSpec,
    EvictionStatus,
    Metadata,
    Pod,
    PodTarget,
    Reason,
    Report,
    RequestStatus,
    ResponderStatus,
    Target,
    TargetResponder,
)

UTC_NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW = Now(boot_seconds=1000.0, utc=UTC_NOW)
MOVER, OTHER = "acme.io/mover", "acme.io/other"


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def request(name: str) -> EvictionRequest:
    return EvictionRequest(
        metadata=Metadata(namespace="shop", name=name, uid=f"uid-{name}"),
        spec=EvictionRequestSpec(requester="acme.io/x", intent="Eviction"),
    )


def eviction(*conditions: Condition, active: str = OTHER) -> Eviction:
    """Two responders, of which `mover` had its turn first."""
    return Eviction(
        metadata=Metadata(namespace="shop", name="web", uid="life"),
        status=EvictionStatus(
            conditions=conditions,
            target_responders=(
                TargetResponder(
                    name=MOVER,
                    priority=10,
                    state="Active" if active == MOVER else "Interrupted",
                ),
                TargetResponder(
                    name=OTHER, priority=5, state="Active" if active == OTHER else "Inactive"
                ),
            ),
            responders=(
                ResponderStatus(name=MOVER, start_time=UTC_NOW - seconds(500)),
                ResponderStatus(name=OTHER),
            ),
        ),
    )


def reported(report: Report | None = None, *, listed: bool = False, by: str = MOVER) -> Reported:
    return Reported(
        namespace="shop",
        name="web",
        responder=by,
        report=report or Report(eviction_uid="life"),
        listed=listed,
    )


def test_a_report_may_be_ahead_of_our_clock_by_a_bounded_time() -> None:
    latest = UTC_NOW + seconds(AHEAD_SECONDS_MAX)
    assert ahead(Report(eviction_uid="life", heartbeat_time=latest), NOW) == ()
    too_far = Report(
        eviction_uid="life",
        heartbeat_time=latest + seconds(1),
        completion_time=latest + seconds(1),
    )
    assert ahead(too_far, NOW) == ("heartbeatTime", "completionTime")


@pytest.mark.parametrize(
    ("report", "start"),
    [
        (Report(eviction_uid="life", heartbeat_time=UTC_NOW + seconds(1e6)), True),
        (Report(eviction_uid="life"), False),
    ],
    ids=["ahead", "not begun"],
)
def test_a_report_that_is_ahead_or_of_one_that_has_not_begun_changes_nothing(
    report: Report, *, start: bool
) -> None:
    by = MOVER if start else OTHER
    case = Case(evictions=(eviction(active=by),), run=Run(eviction_uid="life"))
    assert take(EVICTD, case, reported(report, by=by), NOW) is case


def test_a_report_of_whose_turn_it_is_is_taken() -> None:
    case = Case(evictions=(eviction(active=MOVER),), run=Run(eviction_uid="life"))
    after = take(EVICTD, case, reported(), NOW)
    assert MOVER in after.run.reports


def left(ago: float, *, life: str = "life") -> Run:
    return Run(eviction_uid=life, left_times={MOVER: UTC_NOW - seconds(ago)})


STANDINGS: dict[str, tuple[Case, Standing]] = {
    "just left": (Case(evictions=(eviction(),), run=left(LATE_SECONDS)), Standing.IGNORED),
    "left long ago": (
        Case(evictions=(eviction(),), run=left(LATE_SECONDS + 1)),
        Standing.REJECTED,
    ),
    "left in another life": (
        Case(evictions=(eviction(),), run=left(1, life="other")),
        Standing.REJECTED,
    ),
    "never left": (Case(evictions=(eviction(),), run=Run(eviction_uid="life")), Standing.REJECTED),
}


@pytest.mark.parametrize("name", STANDINGS)
def test_a_late_report_is_ignored_and_one_out_of_turn_is_rejected(name: str) -> None:
    case, expected = STANDINGS[name]
    assert standing(case, reported(), NOW) is expected


@pytest.mark.parametrize(
    ("ago", "expected"), [(LATE_SECONDS, Standing.IGNORED), (LATE_SECONDS + 1, Standing.REJECTED)]
)
def test_after_the_end_of_an_eviction_reports_are_late_for_a_while(
    ago: float, expected: Standing
) -> None:
    ended = Condition(
        type="Failed",
        status="True",
        reason="NoFurtherResponder",
        last_transition_time=UTC_NOW - seconds(ago),
    )
    case = Case(evictions=(eviction(ended),))
    assert standing(case, reported(), NOW) is expected
    assert standing(case, reported(by=OTHER), NOW) in (Standing.TAKEN, Standing.REJECTED)


def test_the_time_of_one_holder_is_forgotten_alone() -> None:
    times = TerminalTimes().put("a", UTC_NOW).put("b", UTC_NOW)
    assert times.clear("a").moments == {"b": UTC_NOW}
    assert times.clear("c") == times


def test_owners_that_are_gone_go_as_long_as_another_is_left() -> None:
    one, two = request("one"), request("two")
    held = (owner_reference(one), owner_reference(two))
    assert owners(held, (two,), keep=False) == (owner_reference(two),)
    assert owners(held, (two,), keep=True) == held
    assert owners(held, (), keep=False) == held


@pytest.mark.parametrize(
    ("asked", "refused"), [(29, True), (30, False), (31, False), (None, False)]
)
def test_a_grace_may_be_as_long_as_the_workloads_own_and_not_shorter(
    asked: int | None, *, refused: bool
) -> None:
    pod = Pod(namespace="shop", name="web", uid="u", termination_grace_period_seconds=30)
    spec = EvictionRequestSpec(requester="acme.io/x", grace_period_seconds=asked)
    found = refusal(EVICTD, pod, spec, ("acme.io/hard",))
    assert (found is not None) is refused


@pytest.mark.parametrize(
    ("target", "subject"),
    [(Target(pod=PodTarget(name="web", uid="u")), "shop/web"), (Target(), "shop/")],
)
def test_a_wish_is_told_with_the_name_of_its_target(target: Target, subject: str) -> None:
    asked = structs.replace(
        request("one"),
        spec=EvictionRequestSpec(requester="acme.io/x", intent="Eviction", target=target),
    )
    held = Held(
        request=asked,
        status=RequestStatus(uid="uid-one", generation=1, creation_timestamp=UTC_NOW),
        received_boot_seconds=1.0,
    )
    rules = ControllerRules(node="edge")
    effects = announced(rules, Case(), Case(requests=(held,)), NOW)
    events = [effect.event for effect in effects if isinstance(effect, Emit)]
    assert [event.data["reason"] for event in events] == ["EvictionRequested"]
    assert events[0].data["message"] == f"acme.io/x wants {subject} to leave"


@pytest.mark.parametrize(
    ("said", "told"), [("moving house. ", ": moving house."), ("x" * 5000, ": " + "x" * 1000)]
)
def test_a_wish_is_told_with_the_words_of_who_asks(said: str, told: str) -> None:
    asked = request("one")
    spec = structs.replace(asked.spec, reason=Reason(message=said))
    held = Held(
        request=structs.replace(asked, spec=spec),
        status=RequestStatus(uid="uid-one", generation=1, creation_timestamp=UTC_NOW),
        received_boot_seconds=1.0,
    )
    effects = announced(ControllerRules(node="edge"), Case(), Case(requests=(held,)), NOW)
    (event,) = (effect.event for effect in effects if isinstance(effect, Emit))
    assert event.data["message"].endswith(f" to leave{told}")
