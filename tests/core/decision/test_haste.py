"""A hard grace that ends sooner, because the machine may not last for it. [design, profile host]"""

import pytest
from tests.core.decision.stage import Stage, Turn, rules_of

from evictd.core.rules import Mode

LINE = "memory.available<1Gi"
PSI = "psi.memory.full.avg10"


def graces(turn: Turn) -> list[int | None]:
    return [request.spec.grace_period_seconds for request in turn.requests]


def asked(*lines: str, kubelet: bool = False) -> Stage:
    """A stage on which one pod has just been asked to go, with a grace of ten seconds."""
    stage = Stage(rules_of(*(lines or (LINE,)), kubelet=kubelet))
    stage.pod("web", uses="2Gi", termination_grace_period_seconds=30)
    assert graces(stage.observe("900Mi")) == [1 if kubelet else 10]
    return stage


def test_below_half_the_line_no_more_time_is_given() -> None:
    stage = asked()
    assert graces(stage.observe("600Mi", after=0.25)) == []
    assert graces(stage.observe("511Mi", after=0.25)) == [0]


def test_it_is_said_once() -> None:
    stage = asked()
    stage.observe("500Mi", after=0.25)
    assert graces(stage.observe("400Mi", after=0.25)) == []


def test_a_machine_that_only_stalls_gives_no_more_time_either() -> None:
    stage = asked()
    assert graces(stage.observe("900Mi", after=0.25, signals={PSI: "60"})) == []
    assert graces(stage.observe("900Mi", after=0.25, signals={PSI: "59"})) == [0]


def test_the_request_stays_the_same_object() -> None:
    """The same topic, type and reason; only the grace is smaller."""
    stage = asked()
    before = stage.standing[stage.topic_of("web")]
    (after,) = stage.observe("300Mi", after=0.25).requests
    assert after.spec.grace_period_seconds == 0
    assert (after.spec.type, after.spec.reason) == (before.spec.type, before.spec.reason)
    assert len(stage.standing) == 1


def test_the_kubelet_does_not_hurry() -> None:
    stage = asked(kubelet=True)
    assert graces(stage.observe("300Mi", after=0.25)) == []


def test_a_soft_eviction_keeps_its_grace_until_a_hard_line_is_crossed() -> None:
    stage = Stage(rules_of("memory.available<1Gi/5"))
    stage.pod("web", uses="2Gi", termination_grace_period_seconds=30)
    stage.observe("900Mi")
    assert graces(stage.observe("900Mi")) == [30]
    assert graces(stage.observe("100Mi", after=0.25)) == []


def test_another_signal_s_fall_does_not_count() -> None:
    """Process ids do not end a grace that was given for memory."""
    stage = asked(LINE, "pid.available<1000")
    turn = stage.observe("900Mi", after=0.25, signals={"pid.available": "100"})
    assert 0 not in graces(turn)


def test_after_a_restart_the_grace_still_ends() -> None:
    stage = asked()
    stage.restart()
    assert graces(stage.observe("400Mi", after=0.25)) == [0]


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.DRY_RUN])
def test_without_acting_nothing_is_hastened(mode: Mode) -> None:
    stage = Stage(rules_of(LINE, mode=mode))
    stage.pod("web", uses="2Gi", termination_grace_period_seconds=30)
    stage.observe("900Mi")
    assert graces(stage.observe("300Mi", after=0.25)) == []
