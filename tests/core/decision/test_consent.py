"""Told to act, but nobody may go: acting begins with the first workload that its owner named.

[design, two profiles: candidates]
"""

from typing import Any

import pytest
from msgspec import structs
from tests.core.decision.stage import Stage, pod_of, rules_of

from evictd.core.decision import Fallen
from evictd.core.rules import HOST, Candidates, Mode
from evictd_schemas import Pod, Stopped

LINE = "memory.available<1Gi"
DISK = "nodefs.available<2Gi"


def stage_of(*pods: Pod, lines: tuple[str, ...] = (LINE,), **fields: Any) -> Stage:
    """A node whose owner said `act`, with candidates that have to be named."""
    stage = Stage(rules_of(*lines, **{"candidates": Candidates.LABELLED, **fields}))
    stage.pods = list(pods)
    return stage


def named(name: str, **fields: Any) -> Pod:
    return pod_of(name, labelled=True, **fields)


@pytest.mark.parametrize("pods", [(), (pod_of("web"),), (named("web", protected=True),)])
def test_act_with_nobody_who_may_go_stays_in_observe_and_tells_the_way_out(
    pods: tuple[Pod, ...],
) -> None:
    stage = stage_of(*pods)
    for available in ("8Gi", "500Mi"):
        turn = stage.observe(available)
        assert turn.requests == []
        assert turn.decision is not None
        assert turn.decision.mode == "observe"
        assert "told to act, but nobody may go" in turn.decision.reason
        assert "evictd rank -o config" in turn.decision.reason


def test_nothing_is_given_back_either_while_nobody_may_go() -> None:
    stage = stage_of(pod_of("web"), lines=(DISK,), reclaim_steps=("images",))
    turn = stage.observe(signals={"nodefs.available": "1Gi"})
    assert [order.dry_run for order in turn.orders] == [True]
    assert turn.decision is not None
    assert turn.decision.mode == "observe"


def test_acting_begins_with_the_first_who_may_go() -> None:
    stage = stage_of(pod_of("web"))
    stage.observe("8Gi")
    stage.pods.append(named("batch"))
    turn = stage.observe("500Mi")
    assert turn.victims == ["batch"]
    assert turn.decision is not None
    assert turn.decision.mode == "act"
    assert "told to act" not in turn.decision.reason


def test_who_is_named_late_is_no_second_start_that_has_to_be_warned_of() -> None:
    stage = stage_of(pod_of("web"), profile=structs.replace(HOST, warns_before_first_act=True))
    stage.observe("8Gi")
    stage.pods.append(named("batch"))
    assert stage.observe("500Mi").victims == ["batch"]


def test_acting_goes_on_although_the_last_one_who_might_go_is_gone() -> None:
    stage = stage_of(pod_of("web"), named("batch"))
    assert stage.observe("500Mi").victims == ["batch"]
    stage.gone("batch")
    turn = stage.observe("500Mi")
    assert turn.decision is not None
    assert turn.decision.mode == "act"
    stage.restart()
    turn = stage.observe("500Mi")
    assert turn.decision is not None
    assert turn.decision.mode == "act"


def test_who_was_stopped_by_us_comes_back_although_nobody_else_may_go() -> None:
    stage = stage_of(pod_of("web"))
    stage.tell(
        Fallen(
            namespace="shop",
            name="batch",
            stopped=Stopped(uid=named("batch").uid, time=stage.now.utc),
        )
    )
    turn = stage.observe("8Gi")
    assert turn.decision is not None
    assert turn.decision.mode == "act"


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.DRY_RUN])
def test_who_was_not_told_to_act_is_not_told_that_nobody_may_go(mode: Mode) -> None:
    decision = stage_of(pod_of("web"), mode=mode).observe("8Gi").decision
    assert decision is not None
    assert decision.mode == mode
    assert "told to act" not in decision.reason


def test_where_all_are_candidates_acting_begins_at_once() -> None:
    stage = stage_of(pod_of("web", protected=True), candidates=Candidates.ALL)
    decision = stage.observe("8Gi").decision
    assert decision is not None
    assert decision.mode == "act"
