"""Workloads that are restarted, or left to a webhook, instead of being stopped."""

import pytest
from msgspec import structs
from tests.core.duty.stage import GONE, POD, START, UID, Responder, eviction, only, report

from evictd.core.duty import (
    Assigned,
    Listed,
    Look,
    Phase,
    Start,
    StartEnded,
    StartOutcome,
    StartResult,
    StopEnded,
    StopOutcome,
    StopResult,
)
from evictd.core.duty.ways import LEFT_LOOK_SECONDS, LEFT_SECONDS
from evictd.core.effects import Publish, Stop, Tick
from evictd.core.rules import Mode, Rules
from evictd_schemas import Eviction, Forced, Pod, Reason, Stopped

RESTARTED = structs.replace(POD, action="restart", restore="auto")
LEFT = structs.replace(POD, action="webhook")
STARTED = StartEnded(uid=UID, outcome=StartOutcome(result=StartResult.STARTED))
DEAD = StartOutcome(result=StartResult.FAILED, why="it ended at once: exit code 1")
NOT_STARTED = StartEnded(uid=UID, outcome=DEAD)


def records(effects: tuple[object, ...]) -> list[Stopped]:
    """What is written down as down because of us."""
    return [
        item.message
        for item in effects
        if isinstance(item, Publish) and isinstance(item.message, Stopped)
    ]


def restarting(given: Eviction | None = None) -> Responder:
    """Its life has ended and it is started again."""
    responder = Responder()
    responder(Assigned(eviction=given or eviction()))
    responder(Listed(uid=UID, pod=RESTARTED))
    responder(StopEnded(uid=UID, outcome=GONE), after=3)
    return responder


def test_a_restart_ends_the_life_and_starts_another_at_once() -> None:
    """The target counts as gone, and nothing is down because of us."""
    responder = Responder()
    responder(Assigned(eviction=eviction()))
    assert len(only(responder(Listed(uid=UID, pod=RESTARTED)), Stop)) == 1
    assert responder.duty.grace_seconds == 30
    effects = responder(StopEnded(uid=UID, outcome=GONE), after=3)
    assert report(effects).target_gone
    assert report(effects).completion_time is not None
    assert report(effects).message == (
        "shop/web was stopped: exit code 143; it is started again at once"
    )
    assert only(effects, Start) == [Start(pod=responder.duty.target, runtime_id="3fa9")]
    assert responder.duty.phase is Phase.STARTING
    assert responder.duty.going
    assert records(effects) == []
    assert records(responder(STARTED)) == []
    assert responder.duty.phase is Phase.DONE


def test_what_does_not_come_up_again_is_down_because_of_us_like_any_other() -> None:
    responder = restarting()
    (record,) = records(responder(NOT_STARTED))
    assert (record.uid, record.restore, record.attempts) == (UID, "auto", 1)
    assert responder.duty.phase is Phase.DONE


@pytest.mark.parametrize("given", [Tick(), Assigned(eviction=eviction("Completed"))])
def test_each_step_says_the_start_again(given: Tick | Assigned) -> None:
    """After a crash the last effects are carried out once more. [design, law 5]"""
    responder = restarting()
    assert len(only(responder(given), Start)) == 1


@pytest.mark.parametrize("outcome", [STARTED, NOT_STARTED])
def test_a_start_is_waited_for_although_the_eviction_was_collected(outcome: StartEnded) -> None:
    """What does not come up is written down all the same."""
    responder = restarting()
    assert len(only(responder(Assigned(eviction=None)), Start)) == 1
    effects = responder(outcome)
    assert len(records(effects)) == (0 if outcome.outcome.runs else 1)
    assert responder.duty.phase is Phase.IDLE


def test_the_end_of_a_second_stop_changes_nothing_while_it_is_started() -> None:
    """Of two stops one may have found nothing any more."""
    responder = restarting()
    other = StopOutcome(result=StopResult.NOT_FOUND)
    assert records(responder(StopEnded(uid=UID, outcome=other))) == []
    assert responder.duty.phase is Phase.STARTING


@pytest.mark.parametrize(
    "reason",
    [
        None,
        Reason(signal="nodefs.available"),
        Reason(signal="memory.available", annotations={"action": "stop"}),
    ],
)
def test_where_a_restart_gives_nothing_back_it_is_a_stop(reason: Reason | None) -> None:
    """On the wish of others, for disk, and when it has not helped lately."""
    given = eviction()
    given = structs.replace(given, status=structs.replace(given.status, reason=reason))
    responder = Responder()
    responder(Assigned(eviction=given))
    responder(Listed(uid=UID, pod=RESTARTED))
    effects = responder(StopEnded(uid=UID, outcome=GONE))
    assert len(records(effects)) == 1
    assert only(effects, Start) == []


def test_nothing_is_started_where_the_mode_has_changed_meanwhile() -> None:
    """It is written down, so that somebody may start it. [design, law 8]"""
    responder = Responder()
    responder(Assigned(eviction=eviction()))
    responder(Listed(uid=UID, pod=RESTARTED))
    responder.rules = Rules(node="edge-7", mode=Mode.OBSERVE)
    effects = responder(StopEnded(uid=UID, outcome=GONE))
    assert only(effects, Start) == []
    assert len(records(effects)) == 1


def left(seconds: float = 1000.0) -> Responder:
    """A webhook has had its turn, and it is ours."""
    responder = Responder()
    responder.seconds = seconds
    responder(Assigned(eviction=eviction()))
    effects = responder(Listed(uid=UID, pod=LEFT))
    assert only(effects, Stop) == []
    assert report(effects).message == (
        "shop/web is left to its webhook; only a hard eviction stops it"
    )
    assert not report(effects).point_of_no_return
    return responder


def test_what_is_left_to_a_webhook_is_waited_for_and_then_given_up() -> None:
    """So that the next one has its turn."""
    responder = left()
    for _ in range(int(LEFT_SECONDS / LEFT_LOOK_SECONDS)):
        assert responder.duty.phase is Phase.PAUSING
        assert len(only(responder(Tick(), after=LEFT_LOOK_SECONDS), Look)) == 1
        effects = responder(Listed(uid=UID, pod=LEFT))
        assert only(effects, Stop) == []
    assert responder.duty.phase is Phase.DONE
    assert report(effects).completion_time is not None
    assert not report(effects).target_gone
    assert records(effects) == []


@pytest.mark.parametrize("seconds", [2.02, 26.87, 46.62])
def test_it_is_waited_for_whatever_the_clock_shows(seconds: float) -> None:
    """Half a minute more, and then less what it was, may be more than half a minute."""
    assert seconds + LEFT_SECONDS - seconds > LEFT_SECONDS
    assert left(seconds).duty.phase is Phase.PAUSING


def test_a_hard_eviction_stops_what_is_left_to_a_webhook() -> None:
    """At once, from the pause as from the beginning."""
    responder = left()
    assert len(only(responder(Assigned(eviction=eviction(kind="Hard", grace=10))), Look)) == 1
    assert len(only(responder(Listed(uid=UID, pod=LEFT)), Stop)) == 1
    assert responder.duty.grace_seconds == 10
    other = Responder()
    other(Assigned(eviction=eviction(kind="Hard")))
    assert len(only(other(Listed(uid=UID, pod=LEFT)), Stop)) == 1


def test_what_was_forced_once_and_is_soft_again_is_left_to_its_webhook() -> None:
    """Whoever forced it has taken the wish back; only others' soft one is left."""
    forced = eviction()
    status = structs.replace(forced.status, forced=Forced(by="evictd.io/node-pressure", time=START))
    responder = Responder()
    responder(Assigned(eviction=structs.replace(forced, status=status)))
    assert only(responder(Listed(uid=UID, pod=LEFT)), Stop) == []


@pytest.mark.parametrize(
    ("pod", "would"),
    [
        (RESTARTED, "would have restarted shop/web; mode is observe"),
        (LEFT, "would have left shop/web to its webhook; mode is observe"),
    ],
)
def test_a_rehearsal_tells_what_would_have_been_done(pod: Pod, would: str) -> None:
    responder = Responder(Rules(node="edge-7", mode=Mode.OBSERVE))
    responder(Assigned(eviction=eviction()))
    assert report(responder(Listed(uid=UID, pod=pod))).message == would
