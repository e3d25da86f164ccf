"""Another Eviction under the name of one whose stop or start still runs."""

import pytest
from msgspec import structs
from tests.core.duty.stage import GONE, POD, UID, Responder, eviction, only, report, stopping

from evictd.core.duty import (
    Assigned,
    Effect,
    Listed,
    Look,
    Start,
    StartEnded,
    StartOutcome,
    StartResult,
    StopEnded,
    StopOutcome,
    StopResult,
)
from evictd.core.effects import Publish, Stop
from evictd_schemas import Eviction, PodTarget, Stopped, Target

FAILED = StopOutcome(result=StopResult.FAILED, why="no")


def another(state: str = "Active", grace: int | None = None, uid: str = UID) -> Eviction:
    """The next Eviction of shop/web, which has got the name of the former one."""
    made = eviction(state, grace)
    return structs.replace(
        made,
        metadata=structs.replace(made.metadata, uid="eviction-2"),
        spec=structs.replace(made.spec, target=Target(pod=PodTarget(name="web", uid=uid))),
    )


def written(effects: tuple[Effect, ...]) -> list[str]:
    """Of whom it is written down that they are down because of us."""
    messages = [effect.message for effect in effects if isinstance(effect, Publish)]
    return [message.uid for message in messages if isinstance(message, Stopped)]


@pytest.mark.parametrize("state", ["Active", "Inactive"])
@pytest.mark.parametrize("collected", [False, True])
def test_a_stop_that_runs_goes_on_and_its_end_is_written_down(
    state: str, *, collected: bool
) -> None:
    """Also where the new one does not ask for a stop yet."""
    responder = Responder()
    stopping(responder)
    responder(Assigned(eviction=eviction(state="Canceled")))
    if collected:
        responder(Assigned(eviction=None))
    assert only(responder(Assigned(eviction=another(state))), Stop)
    assert written(responder(StopEnded(uid=UID, outcome=GONE))) == [UID]


def test_what_runs_is_reported_in_the_new_name() -> None:
    responder = Responder()
    stopping(responder)
    begun = report(responder(Assigned(eviction=another()), after=200))
    assert begun.eviction_uid == "eviction-2"
    assert begun.heartbeat_time == responder.now.utc
    assert begun.point_of_no_return
    ended = report(responder(StopEnded(uid=UID, outcome=GONE)))
    assert (ended.eviction_uid, ended.target_gone) == ("eviction-2", True)


def test_a_smaller_grace_of_the_new_one_shortens_the_stop_that_runs() -> None:
    responder = Responder()
    stopping(responder, grace=600)
    (stop,) = only(responder(Assigned(eviction=another(grace=1))), Stop)
    assert isinstance(stop, Stop)
    assert stop.grace_seconds == 1


@pytest.mark.parametrize(("state", "dry_run"), [("Inactive", False), ("Active", True)])
def test_who_may_not_stop_it_does_not_shorten_the_stop_that_runs(
    state: str, *, dry_run: bool
) -> None:
    """It has not the turn, or is only a rehearsal."""
    responder = Responder()
    stopping(responder, grace=600)
    made = another(state, grace=1)
    made = structs.replace(made, status=structs.replace(made.status, dry_run=dry_run))
    (stop,) = only(responder(Assigned(eviction=made)), Stop)
    assert isinstance(stop, Stop)
    assert stop.grace_seconds == 600


def test_a_start_that_runs_goes_on_and_is_written_down_where_it_fails() -> None:
    """The new one hears at once that its target has gone."""
    responder = Responder()
    responder(Assigned(eviction=eviction()))
    responder(Listed(uid=UID, pod=structs.replace(POD, action="restart")))
    responder(StopEnded(uid=UID, outcome=GONE))
    effects = responder(Assigned(eviction=another()), after=9)
    assert only(effects, Start)
    assert (report(effects).eviction_uid, report(effects).target_gone) == ("eviction-2", True)
    assert report(effects).completion_time == responder.now.utc
    failed = StartOutcome(result=StartResult.FAILED, why="no")
    assert written(responder(StartEnded(uid=UID, outcome=failed))) == [UID]


def test_a_stop_that_failed_and_came_true_is_written_down() -> None:
    """When the new one looks, the life that may have been reached is no more."""
    responder = Responder()
    stopping(responder)
    responder(StopEnded(uid=UID, outcome=FAILED))
    responder(Assigned(eviction=another()))
    assert only(responder(Listed(uid=UID, pod=None)), Stop)
    gone = StopOutcome(result=StopResult.NOT_FOUND)
    assert written(responder(StopEnded(uid=UID, outcome=gone))) == [UID]


def test_of_two_stops_that_run_the_end_counts_also_when_the_turn_is_over() -> None:
    """The hard one failed, the turn was taken away, and the soft one succeeds."""
    responder = Responder()
    stopping(responder, grace=600)
    responder(Assigned(eviction=eviction(grace=1)))
    responder(Assigned(eviction=eviction(state="Interrupted", grace=1)))
    responder(StopEnded(uid=UID, outcome=FAILED))
    assert not responder.duty.active
    assert written(responder(StopEnded(uid=UID, outcome=GONE))) == [UID]


def test_another_life_begins_a_duty_of_its_own() -> None:
    """A stop of the former life is none of its business."""
    responder = Responder()
    stopping(responder)
    assert only(responder(Assigned(eviction=another(uid="life-2"))), Look)
    assert responder.duty.pod is None
    assert written(responder(StopEnded(uid=UID, outcome=GONE))) == []
