"""A stop that failed and whose turn is over: what comes true is written down, nothing else."""

import pytest
from msgspec import structs
from tests.core.duty.stage import POD, UID, Responder, eviction, only, stopping

from evictd.core.duty import (
    Assigned,
    Duty,
    Effect,
    Listed,
    Look,
    Neighbours,
    StopEnded,
    StopOutcome,
    StopResult,
)
from evictd.core.effects import Publish, Retract, Stop, Tick, WakeAt
from evictd_schemas import Pod, Stopped

FAILED = StopOutcome(result=StopResult.FAILED, why="no answer")
OTHER = Pod(namespace="shop", name="other", uid="other")
ANEW = structs.replace(POD, uid="life-2")


def doubted(state: str | None) -> Responder:
    """A stop with a grace of 30 s has failed, and then the turn is over; None: it is collected."""
    responder = Responder()
    stopping(responder)
    responder(StopEnded(uid=UID, outcome=FAILED))
    looks(responder(Assigned(eviction=None if state is None else eviction(state))))
    return responder


def looks(effects: tuple[Effect, ...]) -> None:
    """At everyone, and nothing is stopped."""
    (look,) = only(effects, Look)
    assert isinstance(look, Look)
    assert look.everyone
    assert only(effects, Stop) == []


def listed(*pods: Pod, problem: str | None = None) -> Listed:
    mine = next((pod for pod in pods if pod.uid == UID), None)
    return Listed(uid=UID, pod=mine, neighbours=Neighbours(pods=pods, problem=problem))


def written(effects: tuple[Effect, ...]) -> list[str]:
    """Of whom it is written down that they are down because of us."""
    messages = [effect.message for effect in effects if isinstance(effect, Publish)]
    return [message.uid for message in messages if isinstance(message, Stopped)]


@pytest.mark.parametrize("state", [None, "Interrupted", "Canceled", "Inactive"])
def test_what_comes_true_is_written_down(state: str | None) -> None:
    """A look later, once."""
    responder = doubted(state)
    assert only(responder(listed(POD, OTHER)), WakeAt)
    looks(responder(Tick(), after=5))
    assert written(responder(listed(OTHER))) == [UID]
    assert (responder.duty == Duty()) is (state is None)
    assert responder(Tick(), after=600) == ()


def test_a_rehearsal_of_the_same_ends_no_doubt() -> None:
    """It has got the name of the former Eviction, and is over before the stop comes true."""
    responder = doubted("Interrupted")
    rehearsal = eviction(dry_run=True)
    metadata = structs.replace(rehearsal.metadata, uid="eviction-2")
    assert only(responder(Assigned(eviction=structs.replace(rehearsal, metadata=metadata))), Look)
    assert only(responder(listed(POD)), Stop) == []
    looks(responder(Assigned(eviction=None)))
    assert written(responder(listed(OTHER))) == [UID]


def test_the_report_goes_with_the_eviction_and_only_then() -> None:
    responder = Responder()
    stopping(responder)
    responder(StopEnded(uid=UID, outcome=FAILED))
    assert only(responder(Assigned(eviction=None)), Retract)
    assert only(responder(Assigned(eviction=None)), Retract) == []


def test_a_stop_that_fails_after_the_eviction_was_collected_is_doubted_too() -> None:
    responder = Responder()
    stopping(responder)
    responder(Assigned(eviction=None))
    looks(responder(StopEnded(uid=UID, outcome=FAILED)))
    assert written(responder(listed(OTHER))) == [UID]


def test_what_still_lives_long_after_the_grace_is_left_alone() -> None:
    """Grace and two minutes; what its owner ends later is not down because of us."""
    responder = doubted(None)
    for _ in range(29):
        assert only(responder(listed(POD)), WakeAt)
        looks(responder(Tick(), after=5))
    assert responder(listed(POD), after=5) == ()
    assert responder.duty == Duty()


def test_what_lives_anew_is_not_down() -> None:
    responder = doubted(None)
    assert responder(listed(ANEW)) == ()
    assert responder.duty == Duty()


def test_a_runtime_that_does_not_answer_is_waited_for_and_given_up_after_an_hour() -> None:
    """It may have it still."""
    responder = doubted(None)
    assert only(responder(listed(problem="no answer")), WakeAt)
    looks(responder(Tick(), after=1800))
    assert only(responder(listed(problem="no answer")), WakeAt)
    looks(responder(Tick(), after=2000))
    assert responder(listed(problem="no answer")) == ()
    assert responder.duty == Duty()


def test_after_a_boot_the_runtimes_are_waited_for_as_long() -> None:
    """Its time begins anew, and an engine comes up later than we do."""
    responder = doubted(None)
    responder.seconds = 1.0
    looks(responder(Assigned(eviction=None)))
    assert only(responder(listed(problem="no answer")), WakeAt)
    looks(responder(Tick(), after=5))
    assert written(responder(listed(OTHER))) == [UID]


def test_who_gets_the_turn_again_is_not_kept_waiting() -> None:
    """It is looked at and stopped at once."""
    responder = doubted("Interrupted")
    responder(listed(POD))
    assert only(responder(Assigned(eviction=eviction())), Look)
    assert only(responder(listed(POD)), Stop)
