"""A group comes back when there is room for all of it: a part of it is of no use."""

from typing import Any

import pytest
from tests.core.decision.household import Household, household, names, ordered
from tests.core.decision.stage import uid_of

from evictd.core.decision import Fallen


def blog(**fields: Any) -> Household:
    """Of three that went together `web` and `db` used 1 GiB each, `cache` 2 GiB."""
    stage = household()
    for name, used in (("web", "1Gi"), ("db", "1Gi"), ("cache", "2Gi")):
        stage.seconds += 10
        own = fields if name == "cache" else {}
        stage.fell(name, **{"used": used, "group": "blog", **own})
    return stage


def reasons(stage: Household) -> dict[str, str]:
    """What keeps each down."""
    assert stage.plan.decision is not None
    return {one.pod.name: one.why for one in stage.plan.decision.absent}


def test_nobody_of_a_group_comes_back_before_there_is_room_for_all() -> None:
    """4 GiB, and the line of 1 GiB with its tenth."""
    stage = blog()
    assert not stage.calm("5222Mi").orders
    told = "there is no room for the 4Gi that its group of 3 used last"
    assert reasons(stage) == dict.fromkeys(("web", "db", "cache"), told)
    assert names(stage.calm("5223Mi")) == ["cache"]


def test_the_rest_of_a_group_needs_room_for_the_rest() -> None:
    """Who is back is seen in the figures; the last one is alone."""
    stage = blog()
    back = []
    for memory in ("5223Mi", "3175Mi", "2151Mi"):
        turn = stage.calm(memory, after=60)
        back += names(turn)
        stage.status(ordered(turn), "Finished")
        stage.pod(back[-1], uid=uid_of(f"{back[-1]} 2"))
        assert not stage.calm(memory, after=1).orders
    assert back == ["cache", "db", "web"]


@pytest.mark.parametrize(
    "fields",
    [{"restore": "never"}, {"restore": "manual"}, {"signal": "nodefs.available"}],
    ids=str,
)
def test_who_does_not_come_back_by_itself_needs_no_room(fields: dict[str, Any]) -> None:
    """A person has said so of one, and the others are not to wait for it."""
    assert names(blog(**fields).calm("3180Mi")) == ["db"]


def test_neither_does_who_is_held_or_forgotten() -> None:
    for verb in ("Hold", "Forget"):
        stage = blog()
        stage.wish(verb, "shop/cache")
        assert names(stage.calm("3180Mi")) == ["db"]


def test_a_person_who_asks_for_one_of_a_group_gets_it_alone() -> None:
    stage = blog()
    stage.wish("Restore", "shop/db")
    assert names(stage.calm("2200Mi")) == ["db"]


def test_the_same_word_in_another_namespace_is_another_group() -> None:
    stage = household()
    stage.fell("web", group="blog")
    stopped = stage.plan.returns.absent["shop/web"].stopped
    stage.tell(Fallen(namespace="shed", name="web", stopped=stopped))
    assert names(stage.calm("2200Mi")) == ["web"]


def test_one_that_failed_to_start_does_not_keep_its_group_down() -> None:
    """Room is kept for it, and the others come back meanwhile."""
    stage = blog()
    stage.status(ordered(stage.calm()), "Failed")
    assert names(stage.calm(after=30)) == ["db"]
