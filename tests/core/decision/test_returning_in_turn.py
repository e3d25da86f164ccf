"""Whoever comes back is well before the next one is started."""

from tests.core.decision.household import Household, household, names, ordered
from tests.core.decision.stage import uid_of

from evictd.core.decision.restore import READY_SECONDS


def started(*, ready: bool) -> Household:
    """Of two that do not need each other one has been started."""
    stage = household()
    for name in ("batch", "web"):
        stage.seconds += 10
        stage.fell(name)
    turn = stage.calm()
    assert names(turn) == ["web"]
    stage.status(ordered(turn), "Finished")
    stage.pod("web", uid=uid_of("web 2"), ready=ready)
    return stage


def why(stage: Household) -> str:
    """What keeps the other one down."""
    assert stage.plan.decision is not None
    (absent,) = stage.plan.decision.absent
    return absent.why


def test_the_next_waits_until_the_last_is_ready() -> None:
    stage = started(ready=False)
    assert not any(stage.calm(after=30).orders for _ in range(5))
    assert why(stage) == "shop/web, started last, is not ready yet"
    stage.gone("web")
    stage.pod("web", uid=uid_of("web 2"))
    assert names(stage.calm()) == ["batch"]


def test_one_that_stays_ill_keeps_nobody_down_for_ever() -> None:
    stage = started(ready=False)
    assert not stage.calm(after=READY_SECONDS - 1).orders
    assert names(stage.calm(after=1)) == ["batch"]


def test_one_that_has_ended_again_is_not_waited_for() -> None:
    stage = started(ready=False)
    stage.gone("web")
    assert names(stage.calm(after=30)) == ["batch"]


def test_what_a_person_started_is_not_waited_for() -> None:
    """It was not our turn."""
    stage = household()
    for name in ("batch", "web"):
        stage.fell(name)
    stage.pod("web", uid=uid_of("web 2"), ready=False)
    assert names(stage.calm()) == ["batch"]
