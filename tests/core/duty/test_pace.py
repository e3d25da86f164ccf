"""When a stop is tried again, gives signs of life, and when nothing is left to wake for."""

import pytest
from tests.core.duty.stage import POD, UID, Responder, eviction, only, report, stopping

from evictd.core.duty import Assigned, Listed, Look, Phase, StopEnded, StopOutcome, StopResult
from evictd.core.effects import Stop, Tick, WakeAt

FAILED = StopOutcome(result=StopResult.FAILED, why="no")


def test_a_stop_that_is_long_overdue_waits_for_nothing_but_its_end() -> None:
    """It gives no sign of life any more, so that there is no moment to wake for, least of all one
    that has been."""
    responder = Responder()
    assert only(stopping(responder, grace=30), WakeAt) == [WakeAt(boot_seconds=1180.0)]
    for after in (180, 1, 600):
        effects = responder(Tick(), after=after)
        assert only(effects, WakeAt) == []
        assert only(effects, Stop)
    effects = responder(StopEnded(uid=UID, outcome=FAILED))
    assert only(effects, WakeAt) == [WakeAt(boot_seconds=responder.seconds + 5)]


@pytest.mark.parametrize("booted_seconds", [3700.0, 50 * 86_400.0])
def test_a_pause_of_another_boot_is_over(booted_seconds: float) -> None:
    """The boot clock has begun anew, so that its end lies further ahead than any pause is long."""
    responder = Responder()
    responder.seconds = booted_seconds
    stopping(responder)
    responder(StopEnded(uid=UID, outcome=FAILED))
    responder.seconds = 60.0
    assert only(responder(Assigned(eviction=eviction())), Look)


@pytest.mark.parametrize("booted_seconds", [3700.0, 50 * 86_400.0])
def test_a_sign_of_life_of_another_boot_is_followed_by_the_next_at_once(
    booted_seconds: float,
) -> None:
    """Else the controller would hear nothing until the machine runs as long as it ran before."""
    responder = Responder()
    responder.seconds = booted_seconds
    stopping(responder, grace=86_400)
    responder.seconds = 60.0
    effects = responder(Assigned(eviction=eviction(grace=86_400)))
    assert responder.duty.heartbeat_boot_seconds == 60.0
    assert only(effects, WakeAt) == [WakeAt(boot_seconds=240.0)]
    assert report(effects).point_of_no_return


def test_the_pause_ends_at_its_end_whatever_comes_first() -> None:
    """The timer may be late."""
    responder = Responder()
    stopping(responder)
    responder(StopEnded(uid=UID, outcome=FAILED))
    assert only(responder(Listed(uid=UID, pod=POD), after=4), WakeAt)
    assert responder.duty.phase is Phase.PAUSING
    assert only(responder(Assigned(eviction=eviction()), after=1), Look)
