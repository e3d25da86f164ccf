"""Who comes back after a shortage, when, and in which order."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs
from tests.core.decision.household import HARD, SOFT, Household, household, names, ordered
from tests.core.decision.stage import START, rules_of, uid_of

from evictd.core.decision import Gone, Seen
from evictd.core.decision import restore as rule
from evictd.core.rules import Mode
from evictd_schemas import Eviction, EvictionSpec, Metadata, Order, PodTarget, Target


def test_what_was_stopped_comes_back_when_the_condition_is_over() -> None:
    """Not while the line is met, not within the transition period, then at the next look."""
    stage = household()
    stage.observe("512Mi")
    stage.fell("web")
    short_until = stage.seconds
    turn = stage.observe("8Gi")
    while not names(turn):
        assert stage.seconds < 400
        turn = stage.observe("8Gi")
    assert stage.seconds - short_until == 300
    order = ordered(turn)
    assert order.target is not None
    assert (order.kind, order.target.namespace, order.target.uid) == (
        "Restore",
        "shop",
        uid_of("web 1"),
    )
    assert order.deadline_seconds == rule.RESTORE_SECONDS


def test_its_return_is_told_once_and_the_order_taken_back() -> None:
    stage = household()
    stage.fell("web")
    order = ordered(stage.calm())
    assert stage.status(order, "Running").effects == ()
    end = stage.status(order, "Finished")
    assert end.events == ["Restored"]
    assert end.retracted == ["evictd/v1/edge/orders/restore"]
    stage.lifted("web")
    stage.pod("web", uid=uid_of("web 2"))
    later = [stage.observe("7Gi") for _ in range(20)]
    assert [turn.events for turn in later] == [[]] * 20
    assert not any(turn.orders for turn in later)


def test_whoever_is_started_by_somebody_else_is_told_too() -> None:
    """Whether the record is taken back before or after it is observed."""
    stage = household()
    for name in ("web", "api"):
        stage.fell(name, restore="never")
    stage.pod("web", uid=uid_of("web 2"))
    assert stage.calm().events == ["Restored"]
    stage.lifted("web")
    stage.lifted("api")
    stage.pod("api", uid=uid_of("api 2"))
    assert stage.calm().events == ["Restored"]
    assert stage.calm(looks=9).events == []


def test_a_record_that_is_taken_back_without_a_return_is_forgotten() -> None:
    """It was removed: nothing to start, and that is told once."""
    stage = household()
    stage.fell("web")
    stage.lifted("web")
    assert stage.calm().event_messages == ["shop/web will not be started again: it was removed"]
    turns = [stage.calm() for _ in range(10)]
    assert not any(turn.orders or turn.events for turn in turns)


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.DRY_RUN])
def test_only_a_node_that_acts_brings_back(mode: Mode) -> None:
    stage = household(mode=mode)
    stage.fell("web")
    assert not any(stage.calm().orders for _ in range(50))


@pytest.mark.parametrize(
    "fields",
    [
        {"restore": "never"},
        {"restore": "manual"},
        {"signal": "nodefs.available"},
        {"signal": "nodefs.inodesFree"},
        {"signal": "emptydirfs.limit"},
        {"signal": None},
        {"signal": "pid.available"},
    ],
)
def test_what_went_for_disk_or_on_a_wish_waits_for_a_person(fields: dict[str, Any]) -> None:
    """As does one whose signal is not observed: Unknown is not over."""
    stage = household()
    stage.fell("web", **fields)
    assert not any(stage.calm().orders for _ in range(50))


def test_process_ids_come_back_as_memory_does() -> None:
    stage = household("pid.available<1000")
    stage.fell("web", signal="pid.available", used=None)
    assert not stage.observe(signals={"pid.available": "1050"}).orders
    assert names(stage.observe(signals={"pid.available": "1101"})) == ["web"]


def test_there_must_be_room_for_the_processes_that_it_had() -> None:
    """Whatever it went for, above the line and its tenth."""
    stage = household(HARD, "pid.available<1000")
    stage.fell("web", used="1Gi", last_processes=500)
    assert not stage.observe("8Gi", signals={"pid.available": "1600"}).orders
    (absent,) = stage.plan.decision.absent if stage.plan.decision else ()
    assert absent.why == "there is no room for the 500 processes that it used last"
    assert names(stage.observe("8Gi", signals={"pid.available": "1601"})) == ["web"]


def test_there_must_be_room_for_what_it_used_above_each_line_and_a_tenth() -> None:
    """1 GiB used, lines at 1 and 2 GiB: more than 3.2 GiB; without a reading there is no room."""
    stage = household(HARD, SOFT)
    stage.fell("web", used="1Gi")
    assert not stage.calm("3276Mi").orders
    assert not stage.observe(None, signals={"pid.available": "9000"}).orders
    assert names(stage.calm("3278Mi")) == ["web"]


def test_a_line_of_which_the_machine_tells_nothing_is_no_hindrance_unless_it_is_memory() -> None:
    stage = household(HARD, "pid.available<1000", "allocatableMemory.available<1Gi")
    stage.fell("web")
    assert names(stage.calm()) == ["web"]


def test_as_long_as_nobody_knows_who_runs_nobody_is_started() -> None:
    stage = Household(rules_of(HARD))
    stage.fell("web")
    assert not stage.observe("8Gi", pods=None).orders
    assert names(stage.calm()) == ["web"]


def test_one_comes_back_at_a_time_and_the_last_that_went_is_the_first() -> None:
    """The least important went first. Between two there is a pause to see what the first takes."""
    stage = household()
    for name in ("batch", "web"):
        stage.seconds += 10
        stage.fell(name)
    first = stage.calm()
    assert names(first) == ["web"]
    assert not any(stage.calm().orders for _ in range(3))
    stage.status(ordered(first), "Finished")
    stage.pod("web", uid=uid_of("web 2"))
    assert not stage.calm(after=29).orders
    assert names(stage.calm(after=1)) == ["batch"]


def test_one_that_does_not_fit_does_not_hold_up_one_that_does() -> None:
    stage = household()
    stage.fell("small", used="1Gi")
    stage.seconds += 10
    stage.fell("large", used="9Gi")
    assert names(stage.calm("8Gi")) == ["small"]


def test_what_it_depends_on_comes_first_and_must_be_ready() -> None:
    stage = household()
    stage.fell("db")
    stage.seconds += 10
    stage.fell("web", depends_on=("shop/db", "shop/never-heard-of"))
    first = stage.calm()
    assert names(first) == ["db"]
    stage.status(ordered(first), "Finished")
    stage.pod("db", uid=uid_of("db 2"), ready=False)
    assert not stage.calm(after=60).orders
    stage.gone("db")
    stage.pod("db", uid=uid_of("db 2"))
    assert names(stage.calm()) == ["web"]


def test_a_ring_of_dependencies_is_no_knot() -> None:
    """Somebody has to be first."""
    stage = household()
    for name, needed in (("one", "two"), ("two", "three"), ("three", "one"), ("self", "self")):
        stage.seconds += 1
        stage.fell(name, depends_on=(f"shop/{needed}",))
    back = []
    for _ in range(4):
        turn = stage.calm(after=60)
        back += names(turn)
        stage.status(ordered(turn), "Finished")
    assert sorted(back) == ["one", "self", "three", "two"]


def test_an_order_is_taken_back_when_a_line_is_met_meanwhile() -> None:
    """Whoever has not begun yet stays down; an answer that comes all the same changes nothing."""
    stage = household()
    stage.fell("web")
    order = ordered(stage.calm())
    turn = stage.observe("512Mi")
    assert "evictd/v1/edge/orders/restore" in turn.retracted
    assert not turn.orders
    assert stage.status(order, "Failed").events == []


def test_a_start_without_an_answer_is_given_up_and_tried_again_later() -> None:
    """The deadline and a little more; then the back-off."""
    stage = household()
    stage.fell("web")
    first = ordered(stage.calm())
    assert not stage.calm(after=69).retracted
    assert stage.calm(after=1).retracted == ["evictd/v1/edge/orders/restore"]
    assert not stage.calm(after=59).orders
    again = ordered(stage.calm(after=1))
    assert again.uid != first.uid


def test_the_back_off_doubles_with_each_failure_up_to_an_hour() -> None:
    stage = household()
    stage.fell("web")
    stage.status(ordered(stage.calm()), "Failed")
    for pause in (60, 120, 240, 480, 960, 1920, 3600, 3600):
        assert not stage.calm(after=pause - 1).orders
        stage.status(ordered(stage.calm(after=1)), "Failed")


def test_failures_that_are_written_down_count_after_a_restart_of_ours() -> None:
    stage = household()
    stage.fell("web", attempts=2)
    assert not stage.calm(after=119).orders
    assert names(stage.calm(after=1)) == ["web"]


def test_the_back_off_doubles_when_it_is_evicted_again_and_the_third_time_is_a_loop() -> None:
    """By name, since each life has another uid; long afterwards it begins anew."""
    stage = household()
    assert stage.fell("web").events == []
    stage.status(ordered(stage.calm(after=0.1)), "Finished")
    for life, pause in ((2, 60), (3, 120), (4, 240)):
        stage.pod("web", uid=uid_of(f"web {life}"))
        stage.calm(after=100)
        told = stage.fell("web", life=life).events
        assert told == (["EvictionLoop"] if life >= 3 else [])
        assert not stage.calm(after=pause - 1).orders
        stage.status(ordered(stage.calm(after=1)), "Finished")
    stage.pod("web", uid=uid_of("web 5"))
    stage.calm(after=rule.FORGIVEN_SECONDS + 1)
    assert stage.fell("web", life=5).events == []
    assert names(stage.calm(after=1)) == ["web"]


def test_a_return_that_was_observed_before_it_was_answered_is_told_once() -> None:
    stage = household()
    stage.fell("web")
    order = ordered(stage.calm())
    stage.pod("web", uid=uid_of("web 2"))
    assert stage.calm().events == ["Restored"]
    assert stage.status(order, "Finished").events == []


@pytest.mark.parametrize("signal", ["memory.available", None])
def test_what_others_start_again_is_a_loop_too_where_it_falls_for_a_shortage(
    signal: str | None,
) -> None:
    """Somebody who asks for its end, and starts it, knows. A pod that is over is no return."""
    stage = household()
    for life in range(1, 5):
        told = stage.fell("web", life=life, restore="never", signal=signal).events
        assert told == (["EvictionLoop"] if life >= 3 and signal else [])
        stage.pod("web", uid=uid_of(f"over {life}"), phase="Failed")
        assert stage.calm(after=1).events == []
        stage.gone("web")
        stage.pod("web", uid=uid_of(f"web {life + 1}"))
        assert stage.calm(after=1).events == ["Restored"]


@pytest.mark.parametrize("contradiction", ["met", "True"])
def test_neither_a_line_that_is_met_nor_a_condition_that_holds_is_calm(contradiction: str) -> None:
    """Whatever an evaluator makes of the other."""
    stage = household()
    stage.fell("web", signal="pid.available")
    judged = stage.judge("8Gi", signals={"pid.available": "9000"})
    assert judged is not None
    pressure = judged.pressure
    if contradiction == "met":
        lines = tuple(structs.replace(line, met=True) for line in pressure.thresholds)
        pressure = structs.replace(pressure, thresholds=lines)
    else:
        memory, *others = pressure.conditions
        conditions = (structs.replace(memory, status="True"), *others)
        pressure = structs.replace(pressure, conditions=conditions)
    assert not names(stage.tell(structs.replace(judged, pressure=pressure)))
    assert names(stage.observe("8Gi", signals={"pid.available": "9000"})) == ["web"]


def test_while_something_is_given_back_nobody_comes_back() -> None:
    """A start would take of what is being relieved."""
    stage = household(HARD, "nodefs.available<1Gi", reclaim_steps=("danglingImages",))
    disk = {"nodefs.available": "512Mi"}
    stage.fell("web")
    (order,) = stage.observe("8Gi", signals=disk).orders
    assert order.kind == "Reclaim"
    assert not any(stage.observe("8Gi", signals=disk, after=1).orders for _ in range(5))


def test_whose_eviction_still_runs_is_not_started() -> None:
    stage = household()
    stage.fell("web")
    eviction = Eviction(
        metadata=Metadata(namespace="shop", name="web-1", uid=uid_of("eviction")),
        spec=EvictionSpec(target=Target(pod=PodTarget(name="web", uid=uid_of("web 1")))),
    )
    stage.tell(Seen(namespace="shop", name="web-1", eviction=eviction))
    assert not stage.calm().orders
    stage.tell(Seen(namespace="shop", name="web-1", eviction=None))
    assert names(stage.calm()) == ["web"]


def test_while_somebody_has_to_go_nobody_comes_back() -> None:
    """A request that stands, although its line is not met any more."""
    stage = household(HARD)
    stage.pod("hog", uses="8Gi")
    stage.observe("512Mi")
    stage.fell("web")
    assert not any(stage.calm(after=50).orders for _ in range(5))
    stage.answer("hog")
    stage.gone("hog")
    assert names(stage.calm(after=50)) == ["web"]


def test_a_look_between_the_record_and_the_answer_does_not_hide_the_return() -> None:
    """The record is taken back first; the observation that comes next may be older than the
    start."""
    stage = household()
    stage.fell("web")
    order = ordered(stage.calm())
    stage.lifted("web")
    assert stage.calm(after=1).events == []
    assert stage.status(order, "Finished").events == ["Restored"]


def test_a_record_that_is_said_again_is_no_further_fall() -> None:
    """A responder that restarts may repeat its last words."""
    stage = household()
    stage.fell("web")
    for _ in range(4):
        stage.status(ordered(stage.calm(after=0.1)), "Finished")
        stage.lifted("web")
        stage.calm(after=40)
        assert stage.fell("web").events == []


def test_what_still_runs_or_is_on_its_way_is_not_started() -> None:
    """The record may be read before the observation that lacks the pod."""
    stage = household()
    stage.fell("web")
    stage.pod("web", uid=uid_of("web 1"))
    assert not stage.calm().orders
    stage.gone("web")
    assert names(stage.calm()) == ["web"]


def test_an_answer_to_an_order_of_an_earlier_life_takes_that_order_back() -> None:
    """And one to an order that was replaced does not touch the new one."""
    stage = household()
    old = Order(uid="old", kind="Restore")
    assert stage.status(old, "Finished").retracted == ["evictd/v1/edge/orders/restore"]
    stage.fell("web")
    new = ordered(stage.calm())
    assert stage.status(old, "Finished").effects == ()
    assert stage.status(new, "Finished").events == ["Restored"]


def test_a_node_that_is_forgotten_leaves_no_order() -> None:
    stage = household()
    stage.fell("web")
    stage.calm()
    assert "evictd/v1/edge/orders/restore" in stage.tell(Gone()).retracted


def test_the_time_of_the_record_says_who_went_last() -> None:
    """Not the order in which records arrive after a restart."""
    stage = household()
    stage.fell("late", time=START + timedelta(seconds=100))
    stage.fell("early", time=START)
    assert names(stage.calm()) == ["late"]
