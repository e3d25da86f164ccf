"""The built-in responder's step, told as what it is given and what it asks for."""

from datetime import timedelta

import msgspec
import pytest
from msgspec import structs
from tests.core.duty.stage import (
    GONE,
    POD,
    REPORT_TOPIC,
    START,
    UID,
    Responder,
    eviction,
    only,
    report,
    stopping,
)

from evictd.core.duty import (
    Assigned,
    Duty,
    Listed,
    Look,
    StopEnded,
    StopOutcome,
    StopResult,
)
from evictd.core.effects import Publish, Retract, Stop, Tick, WakeAt
from evictd.core.rules import Mode, Rules
from evictd_schemas import (
    Pod,
    Stopped,
)


def test_an_active_entry_makes_it_look_for_the_pod_and_then_report_before_it_stops() -> None:
    """The point of no return is reported before the first signal."""
    responder = Responder()
    assert responder(Assigned(eviction=eviction())) == (Look(pod=responder.duty.target),)
    effects = responder(Listed(uid=UID, pod=POD))
    first, second, third = effects
    assert isinstance(first, Publish)
    assert first.topic == REPORT_TOPIC
    assert report(effects).point_of_no_return
    assert not report(effects).target_gone
    assert report(effects).message == "stopping shop/web with a grace of 30 s"
    assert second == Stop(pod=responder.duty.target, grace_seconds=30, signal="memory.available")
    assert isinstance(third, WakeAt)


def test_a_confirmed_end_is_reported_and_written_down() -> None:
    """Completion with targetGone, and what is down because of us with all that restoring needs."""
    responder = Responder()
    stopping(responder)
    effects = responder(StopEnded(uid=UID, outcome=GONE), after=3)
    assert report(effects).target_gone
    assert report(effects).completion_time == START + timedelta(seconds=1003)
    assert effects[-1] == Publish(
        topic="evictd/v1/edge-7/stopped/shop/web",
        message=Stopped(
            uid=UID,
            runtime_id="3fa9",
            time=START + timedelta(seconds=1003),
            signal="memory.available",
            eviction="web-0d9f6a52",
            restore="never",
            last_usage=512,
            last_processes=7,
            depends_on=("shop/db",),
            group="app",
        ),
    )
    assert responder(StopEnded(uid=UID, outcome=GONE)) == effects[:-1]


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.DRY_RUN])
def test_unless_the_node_acts_nothing_is_stopped_whoever_asked(mode: Mode) -> None:
    """The mode is enforced last, by the responder's own rules."""
    responder = Responder(Rules(node="edge-7", mode=mode))
    effects = stopping(responder)
    assert only(effects, Stop) == []
    assert report(effects).message == f"would have stopped shop/web; mode is {mode}"
    assert report(effects).completion_time is not None
    assert not report(effects).target_gone
    assert not report(effects).point_of_no_return


def test_a_dry_request_on_an_acting_node_stops_nothing() -> None:
    """Dry is dry although the node acts."""
    effects = stopping(Responder(), dry_run=True)
    assert only(effects, Stop) == []
    assert report(effects).message == "would have stopped shop/web; the request is a dry run"


@pytest.mark.parametrize("state", ["Inactive", "Canceled", "Interrupted", "Completed"])
def test_without_an_active_entry_it_does_not_begin(state: str) -> None:
    """Nothing is looked for, reported or stopped when it is not its turn."""
    responder = Responder()
    assert responder(Assigned(eviction=eviction(state=state))) == ()
    assert responder(Tick()) == ()


@pytest.mark.parametrize("state", ["Canceled", "Interrupted"])
def test_an_end_of_the_turn_while_it_looks_keeps_it_from_stopping(state: str) -> None:
    """A withdrawal between the look and its answer is in time."""
    responder = Responder()
    responder(Assigned(eviction=eviction()))
    responder(Assigned(eviction=eviction(state=state)))
    assert responder(Listed(uid=UID, pod=POD)) == ()


def test_a_foreign_node_is_none_of_its_business() -> None:
    """It works for its home node only."""
    responder = Responder(Rules(node="other", mode=Mode.ACT))
    assert responder(Assigned(eviction=eviction())) == ()
    assert responder.duty == Duty()


def test_of_a_uid_that_no_runtime_lists_nothing_is_said() -> None:
    """It looks again after 5, 10, 20 ... seconds and reports nothing."""
    responder = Responder()
    responder(Assigned(eviction=eviction()))
    assert responder(Listed(uid=UID, pod=None)) == (WakeAt(boot_seconds=1005.0),)
    assert only(responder(Tick(), after=5), Look)
    assert responder(Listed(uid=UID, pod=None)) == (WakeAt(boot_seconds=1015.0),)
    other = structs.replace(POD, uid="another")
    responder(Tick(), after=10)
    assert responder(Listed(uid=UID, pod=other)) == (WakeAt(boot_seconds=1035.0),)


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (structs.replace(POD, critical=True), "shop/web: it is critical"),
        (structs.replace(POD, protected=True), "shop/web: it is protected"),
        (
            structs.replace(POD, protected=True, managed_by="Swarm"),
            "shop/web: it is protected, managed by Swarm",
        ),
    ],
)
def test_what_must_never_be_stopped_is_refused_last(pod: Pod, why: str) -> None:
    """Even when everybody before has let it pass, and visibly."""
    responder = Responder()
    responder(Assigned(eviction=eviction()))
    effects = responder(Listed(uid=UID, pod=pod))
    assert only(effects, Stop) == []
    assert report(effects).message == f"stop failed (attempts=1): {why}"
    assert not report(effects).point_of_no_return
    assert report(effects).completion_time is None
    setback = report(effects).setback
    assert setback is not None
    assert (setback.cause, setback.attempts) == ("Refused", 1)


def test_a_failed_stop_is_tried_again_after_a_pause_that_doubles_to_ten_minutes() -> None:
    """5, 10, 20 ... 600 s; the count and the reason stay visible."""
    responder = Responder()
    stopping(responder)
    pauses = []
    for attempt in range(1, 10):
        failed = StopOutcome(result=StopResult.FAILED, why="engine does not answer")
        effects = responder(StopEnded(uid=UID, outcome=failed))
        assert report(effects).message == (
            f"stop failed (attempts={attempt}): shop/web: engine does not answer"
        )
        pauses.append(responder.duty.next_boot_seconds - responder.seconds)
        setback, reported_time = report(effects).setback, report(effects).heartbeat_time
        assert setback is not None
        assert setback.next_try_time is not None
        assert reported_time is not None
        assert (setback.cause, setback.attempts) == ("Failed", attempt)
        assert (setback.next_try_time - reported_time).total_seconds() == pauses[-1]
        responder(Tick(), after=pauses[-1])
        again = responder(Listed(uid=UID, pod=POD))
        assert only(again, Stop)
        assert report(again).setback is None
    assert pauses == [5, 10, 20, 40, 80, 160, 320, 600, 600]


def test_a_refusal_takes_the_point_of_no_return_back_and_a_failure_does_not() -> None:
    """Refused means that nothing has reached the workload; after a failure nobody knows."""
    responder = Responder()
    for result, reached in ((StopResult.REFUSED, False), (StopResult.FAILED, True)):
        stopping(responder)
        effects = responder(StopEnded(uid=UID, outcome=StopOutcome(result=result, why="no")))
        assert report(effects).point_of_no_return is reached
        responder(Tick(), after=600)


def test_an_end_counts_also_after_another_stop_has_failed() -> None:
    """The hard stop failed at once, the soft one that still ran succeeds."""
    responder = Responder()
    stopping(responder)
    responder(StopEnded(uid=UID, outcome=StopOutcome(result=StopResult.FAILED, why="no")))
    assert report(responder(StopEnded(uid=UID, outcome=GONE))).target_gone


def test_a_canceled_eviction_ends_the_attempts() -> None:
    """In the pause after a refusal the turn may be taken away."""
    responder = Responder()
    stopping(responder)
    responder(StopEnded(uid=UID, outcome=StopOutcome(result=StopResult.REFUSED, why="no")))
    assert responder(Assigned(eviction=eviction(state="Canceled"))) == ()
    assert responder(Tick(), after=600) == ()


def test_a_smaller_grace_that_arrives_shortens_the_running_stop() -> None:
    """Hard never waits for soft: a second Stop with the smaller grace."""
    responder = Responder()
    stopping(responder, grace=600)
    effects = responder(Assigned(eviction=eviction(grace=10, kind="Hard")), after=60)
    assert only(effects, Stop) == [
        Stop(pod=responder.duty.target, grace_seconds=10, signal="memory.available")
    ]
    assert report(effects).message == "stopping shop/web with a grace shortened to 10 s"


def test_a_larger_grace_never_lengthens_a_stop() -> None:
    """The stop that runs goes on with its own grace."""
    responder = Responder()
    stopping(responder, grace=10)
    (stop,) = only(responder(Assigned(eviction=eviction(grace=600))), Stop)
    assert isinstance(stop, Stop)
    assert stop.grace_seconds == 10


def test_a_smaller_grace_does_not_wait_for_the_pause_after_a_failure() -> None:
    """A tightened wish is tried at once."""
    responder = Responder()
    stopping(responder, grace=600)
    responder(StopEnded(uid=UID, outcome=StopOutcome(result=StopResult.FAILED, why="no")))
    assert only(responder(Assigned(eviction=eviction(grace=1))), Look)


def test_past_the_point_of_no_return_a_stop_goes_on_and_is_written_down() -> None:
    """Interrupted or collected in the middle: no report any more, but `stopped` is written."""
    responder = Responder()
    stopping(responder)
    assert only(responder(Assigned(eviction=eviction(state="Interrupted"))), Publish) == []
    assert only(responder(Assigned(eviction=None)), Stop)
    retract, stopped = responder(StopEnded(uid=UID, outcome=GONE))
    assert retract == Retract(topic=REPORT_TOPIC)
    assert isinstance(stopped, Publish)
    assert isinstance(stopped.message, Stopped)
    assert responder.duty == Duty()


def test_a_collected_eviction_is_forgotten_with_its_report() -> None:
    """State is kept only while there is something to do."""
    responder = Responder()
    stopping(responder)
    responder(StopEnded(uid=UID, outcome=GONE))
    assert responder(Assigned(eviction=None)) == (Retract(topic=REPORT_TOPIC),)
    assert responder.duty == Duty()


def test_a_target_that_has_already_gone_is_reported_as_gone() -> None:
    """After a crash in the middle of a stop nothing else may be left to see."""
    for result in (StopResult.NOT_FOUND, StopResult.OTHER_UID):
        responder = Responder()
        stopping(responder)
        effects = responder(StopEnded(uid=UID, outcome=StopOutcome(result=result)))
        assert report(effects).target_gone
        written = any(
            isinstance(effect, Publish) and isinstance(effect.message, Stopped)
            for effect in effects
        )
        assert written is (result is StopResult.NOT_FOUND)


def test_a_heartbeat_about_every_three_minutes_while_the_stop_takes_its_time() -> None:
    """And none once the stop is long overdue: without progress there is no sign of life."""
    responder = Responder()
    stopping(responder, grace=300)
    first = responder.duty.report
    (wake,) = only(responder(Tick(), after=60), WakeAt)
    assert responder.duty.report == first
    assert wake == WakeAt(boot_seconds=1180.0)
    beaten = report(responder(Tick(), after=120))
    assert beaten.heartbeat_time == START + timedelta(seconds=1180)
    assert report(responder(Tick(), after=300)) == beaten


def test_a_completed_and_recorded_entry_is_left_alone() -> None:
    """Once the controller has the completion, nothing is published again."""
    responder = Responder()
    stopping(responder)
    responder(StopEnded(uid=UID, outcome=GONE))
    assert responder(Assigned(eviction=eviction(state="Completed"))) == ()


def test_every_step_while_stopping_says_stop_so_that_any_last_step_resumes_after_a_crash() -> None:
    """The journal keeps the effects of the last step only."""
    responder = Responder()
    steps = [stopping(responder, grace=600)]
    steps.append(responder(Tick(), after=180))
    steps.append(responder(Assigned(eviction=eviction(grace=500))))
    steps.append(responder(Assigned(eviction=eviction(state="Canceled", grace=500))))
    steps.append(responder(Assigned(eviction=None)))
    steps.append(responder(Listed(uid=UID, pod=POD)))
    steps.append(responder(StopEnded(uid="another", outcome=GONE)))
    assert all(len(only(effects, Stop)) == 1 for effects in steps)


def test_the_duty_survives_the_journal() -> None:
    """The state decodes to what it was."""
    responder = Responder()
    stopping(responder)
    assert msgspec.json.decode(msgspec.json.encode(responder.duty), type=Duty) == responder.duty
