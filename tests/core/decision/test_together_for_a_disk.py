"""Who fills a disk goes with those that go only with it, and with nobody else."""

import pytest
from msgspec import structs
from tests.core.decision.stage import Stage, Turn, rules_of, uid_of
from tests.core.decision.test_growth import DISK, growing_on, writer

from evictd.core.decision import Fallen
from evictd_schemas import Stopped


def project(**fields: object) -> Stage:
    """`db` fills the disk, `web` needs it, `big` holds most and rests."""
    stage = Stage(rules_of(DISK, reclaim_steps=()))
    stage.pods = [
        writer("big", "9Gi"),
        structs.replace(writer("web", "1Mi"), depends_on=("shop/db",), **fields),
        writer("db", "1Mi"),
    ]
    stage.observe(signals={"nodefs.available": "4Gi"}, after=30)
    return stage


def filled(stage: Stage, wrote: str, left: str) -> Turn:
    """`db`, where it is still there, has written so much."""
    if any(pod.name == "db" for pod in stage.pods):
        stage.gone("db")
        stage.pods.append(writer("db", wrote))
    return stage.observe(signals={"nodefs.available": left}, after=30)


def ended(stage: Stage, name: str) -> None:
    """It is gone, answered and written down."""
    stage.gone(name)
    stage.answer(name, uid="one")
    down = Stopped(uid=uid_of(name), time=stage.now.utc, signal="nodefs.available")
    stage.tell(Fallen(namespace="shop", name=name, stopped=down))


def test_what_needs_the_one_that_fills_the_disk_goes_before_it() -> None:
    stage = project()
    turn = filled(stage, "3Gi", "1Gi")
    assert turn.victims == ["web"]
    ended(stage, "web")
    assert filled(stage, "3Gi", "1Gi").victims == ["db"]
    ended(stage, "db")
    assert all(turn.victims == [] for turn in growing_on(stage))


def test_a_restart_in_between_loses_nobody_and_allows_nobody_else() -> None:
    """The request of the first one tells who comes after it, and its record for what it went."""
    stage = project()
    filled(stage, "3Gi", "1Gi")
    stage.restart()
    ended(stage, "web")
    down = stage.plan.returns.absent["shop/web"].stopped
    stage.restart()
    stage.tell(Fallen(namespace="shop", name="web", stopped=down))
    stage.answer("web", uid="one")
    assert filled(stage, "3Gi", "1Gi").victims == ["db"]
    stage.gone("db")
    stage.answer("db")
    assert all(turn.victims == [] for turn in growing_on(stage))


@pytest.mark.parametrize("restarts", [False, True])
def test_who_went_for_a_crossing_is_told_by_the_decision_whatever_becomes_of_the_rest(
    *, restarts: bool
) -> None:
    """One was stopped: that the next of its group stays, and a healer takes the record of the first
    away, allows nobody else."""
    stage = project()
    filled(stage, "3Gi", "1Gi")
    stage.gone("web")
    stage.answer("web", uid="one")
    assert filled(stage, "3Gi", "1Gi").victims == ["db"]
    if restarts:
        stage.restart()
    stage.answer("db", "Failed", "NoFurtherResponder")
    assert all(turn.victims == [] for turn in growing_on(stage))


def test_who_is_needed_by_a_protected_one_is_left_to_fill_the_disk() -> None:
    stage = project(protected=True)
    turn = filled(stage, "3Gi", "1Gi")
    assert turn.victims == []
    assert turn.verdicts() == {"big": "Candidate", "web": "Protected", "db": "Protected"}
    assert "NothingLeftToEvict" in turn.events
