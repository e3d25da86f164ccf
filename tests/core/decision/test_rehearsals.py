"""What giving something back would take is told where nothing is given back, once a crossing."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.core.decision.stage import Stage, Turn, amount, pod_of, rules_of

from evictd.core.decision import Ordered
from evictd.core.rules import Candidates, Mode
from evictd_schemas import Order, OrderStatus, StepOutcome

STEPS = ("images", "logs")
DISK = "DiskPressure"
WATCHING = [Mode.OBSERVE, Mode.DRY_RUN]
OFFERED = (
    StepOutcome(step="images", listed_bytes=3 << 20, taken=("a:1", "b:1"), taken_total=2),
    StepOutcome(step="logs", error="not supported by docker"),
)


def stage_of(mode: Mode, **fields: Any) -> Stage:
    """A plain host whose one pod may go, and has written nothing."""
    stage = Stage(
        rules_of("nodefs.available<2Gi", **{"mode": mode, "reclaim_steps": STEPS, **fields})
    )
    stage.pod("web")
    return stage


def look(stage: Stage, left: str = "1Gi", after: float = 10) -> Turn:
    return stage.observe(signals={"nodefs.available": left}, after=after)


def answer(stage: Stage, order: Order, **fields: Any) -> Turn:
    status = OrderStatus(**{"order_uid": order.uid, "state": "Refused", "steps": OFFERED, **fields})
    return stage.tell(Ordered(name="reclaim", status=status))


@pytest.mark.parametrize("mode", WATCHING)
def test_a_node_that_does_not_act_asks_what_would_be_taken_and_tells_it(mode: Mode) -> None:
    """With names and sizes, in an event and in each Decision as long as the shortage lasts."""
    stage = stage_of(mode)
    turn = look(stage)
    (order,) = turn.orders
    assert (order.dry_run, order.steps) == (True, STEPS)
    assert turn.decision is not None
    assert turn.decision.reason == (
        "nodefs.available is 1Gi, below the hard threshold 2Gi: images and logs would be reclaimed"
        f" first; mode is {mode}"
    )
    turn = answer(stage, order)
    assert turn.event_messages[0] == (
        "nodefs.available: a reclaim would take images 2 (3Mi) (logs: not supported by docker);"
        f" nothing was taken, mode is {mode}"
    )
    for later in (turn, look(stage), look(stage, after=3600)):
        assert (later.orders, later.requests) == ([], []), "it is asked once a crossing"
        assert later.decision is not None
        (told,) = later.decision.reclaims
        assert (told.signal, told.dry_run, told.steps) == ("nodefs.available", True, OFFERED)


@pytest.mark.parametrize("kubelet", [True, False])
def test_who_would_go_after_that_is_told_too(kubelet: bool) -> None:
    """The decisions are the same in each mode: that nobody goes before what can be given back is
    not the last word."""
    stage = stage_of(Mode.OBSERVE, kubelet=kubelet)
    (order,) = look(stage).orders
    turn = answer(stage, order)
    assert turn.requests == []
    assert turn.events == ["ReclaimFinished"] + ([] if kubelet else ["NothingLeftToEvict"])
    assert turn.action == ("Evict" if kubelet else "Wait")
    assert look(stage).action == turn.action


def test_a_new_crossing_asks_again() -> None:
    stage = stage_of(Mode.OBSERVE, transition_seconds=60)
    (order,) = look(stage).orders
    answer(stage, order)
    for _ in range(3):
        turn = look(stage, "9Gi", after=50)
    assert turn.decision is not None
    assert turn.decision.reclaims == ()
    assert look(stage).orders[0].uid != order.uid


def test_where_nobody_answers_it_is_not_asked_again_and_that_is_told() -> None:
    """A node that is only watched may have no responder; its decisions wait no second time."""
    stage = stage_of(Mode.OBSERVE)
    look(stage)
    turn = stage.tick(after=60)
    assert turn.retracted == ["evictd/v1/edge/orders/reclaim"]
    assert turn.decision is not None
    (told,) = turn.decision.reclaims
    assert (told.steps, told.error) == ((), "no responder answered within 60 s")
    assert look(stage).orders == []


def test_a_refusal_without_steps_is_told_with_its_reason() -> None:
    stage = stage_of(Mode.OBSERVE)
    (order,) = look(stage).orders
    turn = answer(stage, order, steps=(), message="this node is not served")
    assert "ReclaimFinished" not in turn.events
    assert turn.decision is not None
    assert [told.error for told in turn.decision.reclaims] == ["this node is not served"]
    assert look(stage).orders == []


def test_a_restart_remembers_what_would_be_taken() -> None:
    stage = stage_of(Mode.OBSERVE)
    (order,) = look(stage).orders
    answer(stage, order)
    stage.restart()
    turn = look(stage)
    assert turn.orders == []
    assert turn.decision is not None
    assert turn.decision.reclaims[0].steps == OFFERED


@pytest.mark.parametrize("mode", WATCHING)
def test_who_switches_to_act_has_it_done(mode: Mode) -> None:
    stage = stage_of(mode)
    (order,) = look(stage).orders
    answer(stage, order)
    stage.rules = structs.replace(stage.rules, mode=Mode.ACT)
    stage.restart()
    (order,) = look(stage).orders
    assert not order.dry_run


@pytest.mark.parametrize("mode", WATCHING)
def test_who_acts_no_more_asks_what_would_be_taken(mode: Mode) -> None:
    """That something was given back in this crossing does not tell what still could be."""
    stage = stage_of(Mode.ACT)
    (order,) = look(stage).orders
    stage.finish(order, freed_bytes=amount("512Mi"))
    look(stage, after=1)
    stage.rules = structs.replace(stage.rules, mode=mode)
    stage.restart()
    (order,) = look(stage).orders
    assert order.dry_run


def test_what_was_given_back_is_told_in_act() -> None:
    stage = stage_of(Mode.ACT)
    (order,) = look(stage).orders
    stage.finish(order, freed_bytes=amount("512Mi"))
    turn = look(stage, after=1)
    assert turn.decision is not None
    (told,) = turn.decision.reclaims
    assert (told.dry_run, told.steps[0].freed_bytes) == (False, amount("512Mi"))


def test_told_to_act_but_with_nobody_who_may_go_it_is_a_rehearsal_too() -> None:
    """And nothing of it counts as having acted."""
    stage = stage_of(Mode.ACT, candidates=Candidates.LABELLED)
    (order,) = look(stage).orders
    assert order.dry_run
    turn = answer(stage, order)
    assert turn.event_messages[0].endswith("nothing was taken, mode is observe")
    assert turn.decision is not None
    assert turn.decision.mode == "observe"
    turn = look(stage)
    assert turn.decision is not None
    assert (turn.decision.mode, turn.orders) == ("observe", [])
    stage.pods.append(pod_of("batch", labelled=True))
    (order,) = look(stage).orders
    assert not order.dry_run


def test_memory_does_not_wait_for_a_rehearsal() -> None:
    stage = stage_of(Mode.OBSERVE)
    stage.rules = rules_of(
        *("nodefs.available<2Gi", "memory.available<1Gi"), mode=Mode.OBSERVE, reclaim_steps=STEPS
    )
    stage.observe("4Gi", signals={"nodefs.available": "1Gi"})
    turn = stage.observe("512Mi", signals={"nodefs.available": "1Gi"}, after=1)
    assert (turn.action, turn.verdicts()) == ("Evict", {"web": "Victim"})


def test_who_is_named_amid_a_rehearsal_is_not_asked_to_go_before_anything_is_given_back() -> None:
    """Acting begins then, and with a reclaim that is none to be played."""
    stage = stage_of(Mode.ACT, candidates=Candidates.LABELLED, kubelet=True)
    (rehearsal,) = look(stage).orders
    stage.pods.append(pod_of("batch", labelled=True))
    turn = look(stage)
    (order,) = turn.orders
    assert (rehearsal.dry_run, order.dry_run, turn.requests) == (True, False, [])
    assert answer(stage, rehearsal).effects == (), "it is no order of ours any more"


@pytest.mark.parametrize("mode", WATCHING)
def test_who_switches_to_act_amid_a_rehearsal_does_not_wait_for_it(mode: Mode) -> None:
    stage = stage_of(mode, kubelet=True)
    look(stage)
    stage.rules = structs.replace(stage.rules, mode=Mode.ACT)
    stage.restart()
    turn = look(stage)
    assert "evictd/v1/edge/orders/reclaim" in turn.retracted
    (order,) = turn.orders
    assert (order.dry_run, turn.requests) == (False, [])


def test_an_answer_to_a_rehearsal_lets_nobody_go_in_act() -> None:
    stage = stage_of(Mode.OBSERVE, kubelet=True)
    (rehearsal,) = look(stage).orders
    stage.rules = structs.replace(stage.rules, mode=Mode.ACT)
    stage.restart()
    assert answer(stage, rehearsal).requests == []
    assert [order.dry_run for order in look(stage).orders] == [False]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1Gi", "3Gi", "9Gi"]),
            st.sampled_from([1, 30, 400]),
            st.sampled_from(["", "answers", "restarts", "waits"]),
        ),
        max_size=15,
    ),
    st.sampled_from(WATCHING),
    st.booleans(),
)
def test_a_crossing_is_asked_about_once_whatever_happens(
    story: list[tuple[str, int, str]], mode: Mode, kubelet: bool
) -> None:
    """And never by an order that takes anything."""
    stage = stage_of(mode, kubelet=kubelet)
    asked: list[Order] = []
    for left, seconds, event in story:
        orders = look(stage, left, after=seconds).orders
        assert all(order.dry_run for order in orders)
        asked += orders
        assert len(asked) <= 1
        if event == "answers" and asked:
            answer(stage, asked[0])
        elif event == "restarts":
            stage.restart()
        elif event == "waits":
            stage.tick(after=61)
        assert stage.pressure is not None
        if all(item.status == "False" for item in stage.pressure.conditions if item.type == DISK):
            asked.clear()
