"""Several things short at once: each has its turn, and none waits for another that is under way."""

from typing import Any

import pytest
from tests.core.decision.stage import Stage, rules_of

from evictd_schemas import PodStatistics, ProcessStatistics

SOFT_MEMORY = "memory.available<2Gi/10"
HARD_PIDS = "pid.available<1k"
HARD_DISK = "nodefs.available<1Gi"


def stage_of(*lines: str, **fields: Any) -> Stage:
    """A large pod that takes its time to stop, and one with many processes."""
    stage = Stage(rules_of(*lines, **fields))
    stage.pod("db", uses="3Gi", termination_grace_period_seconds=600)
    processes = ProcessStatistics(process_count=20_000)
    stage.pod("bomb", stats=PodStatistics(process_stats=processes))
    return stage


def calm(stage: Stage, **signals: str) -> dict[str, str]:
    """Room for everything, before anything happens."""
    named = {"pid.available": "9k", "nodefs.available": "9Gi", **signals}
    stage.observe("8Gi", signals=named)
    return named


@pytest.mark.parametrize("kubelet", [True, False])
def test_a_soft_eviction_for_memory_holds_back_no_hard_line_of_another_kind(kubelet: bool) -> None:
    """Hard never waits for soft, in both profiles."""
    stage = stage_of(SOFT_MEMORY, HARD_PIDS, kubelet=kubelet)
    signals = calm(stage)
    stage.observe("1Gi", signals=signals)
    assert stage.observe("1Gi", signals=signals).victims == ["db"]
    turn = stage.observe("1Gi", signals={**signals, "pid.available": "10"})
    assert turn.victims == ["bomb"]
    assert turn.decision is not None
    assert (turn.decision.signal, turn.decision.hard) == ("pid.available", True)


@pytest.mark.parametrize("kubelet", [True, False])
def test_a_disk_is_relieved_while_somebody_is_leaving_for_memory(kubelet: bool) -> None:
    stage = stage_of("memory.available<2Gi", HARD_DISK, kubelet=kubelet)
    signals = calm(stage)
    assert stage.observe("1Gi", signals=signals).victims == ["db"]
    turn = stage.observe("1Gi", after=1, signals={**signals, "nodefs.available": "10Mi"})
    assert (turn.action, [order.signal for order in turn.orders]) == (
        "Reclaim",
        ["nodefs.available"],
    )


def test_while_all_that_is_short_is_being_relieved_the_most_urgent_is_told() -> None:
    stage = stage_of("memory.available<2Gi", HARD_PIDS)
    signals = calm(stage)
    stage.observe("1Gi", signals=signals)
    signals["pid.available"] = "900"
    stage.observe("1Gi", after=1, signals=signals)
    turn = stage.observe("1Gi", after=1, signals=signals)
    assert (turn.action, turn.requests) == ("Wait", [])
    assert turn.decision is not None
    assert turn.decision.reason.startswith("shop/db is being evicted")


@pytest.mark.parametrize(("kubelet", "action"), [(True, "Wait"), (False, "Reclaim")])
def test_where_nobody_may_go_for_memory_a_plain_host_goes_on_to_the_disk(
    kubelet: bool, action: str
) -> None:
    """The kubelet looks at one shortage a pass. [kubelet-eviction 4: 15, 21]"""
    stage = Stage(rules_of("memory.available<2Gi", HARD_DISK, kubelet=kubelet))
    stage.pod("db", uses="3Gi", critical=True)
    signals = calm(stage)
    stage.observe("1Gi", signals=signals)
    turn = stage.observe("1Gi", signals={**signals, "nodefs.available": "10Mi"})
    assert turn.action == action


def test_where_nothing_can_be_relieved_the_most_urgent_is_told() -> None:
    stage = Stage(rules_of("memory.available<2Gi", HARD_PIDS))
    stage.pod("db", uses="3Gi", critical=True)
    signals = calm(stage)
    turn = stage.observe("1Gi", signals={**signals, "pid.available": "10"})
    assert (turn.action, turn.events) == (
        "Wait",
        ["EvictionThresholdMet", "NothingLeftToEvict"],
    )
    assert turn.decision is not None
    assert turn.decision.signal == "memory.available"
