"""`evictd request` and `withdraw`: which life is asked for, and what is taken back."""

import pytest
from tests.cli.bus import (
    EVICTED,
    NODE,
    WEB,
    Stage,
    condition,
    pod,
)

from evictd.cli import request, withdraw
from evictd.cli.situation import NotFoundError
from evictd.core.errors import InputError

OTHER = "5b0e3a56-9a51-4c7e-8f2b-0f3f6f7d2b10"
PENDING = (condition("Failed", "False"), condition("TargetEvicted", "False"))


@pytest.mark.parametrize(
    "name", ["move", "shop/move", "shop/web", "web", "evictd.io/cli/shop/move"]
)
def test_a_request_of_ours_is_withdrawn_by_its_name_or_by_its_target(name: str) -> None:
    stage = Stage()
    stage.request()
    assert withdraw.named(stage.mirror, name).place.names["name"] == "move"


def test_a_request_of_others_is_left_to_them() -> None:
    stage = Stage()
    stage.request(requester="acme.io/mover")
    with pytest.raises(InputError, match=r"request of acme.io/mover, which alone may withdraw"):
        withdraw.named(stage.mirror, "shop/move")
    with pytest.raises(NotFoundError):
        withdraw.named(stage.mirror, "nothing")


def test_requests_that_have_had_their_answer_are_known() -> None:
    stage = Stage()
    for name in ("one", "two", "three"):
        stage.request(name)
    stage.answer(*EVICTED, name="two")
    stage.answer(*PENDING, name="three")
    assert [found.place.names["name"] for found in withdraw.over(stage.mirror)] == ["two"]


def test_of_two_requests_for_one_workload_the_open_one_is_meant() -> None:
    """One that has had its answer stands until its requester clears it."""
    stage = Stage()
    for name in ("one", "two"):
        stage.request(name)
    stage.answer(*EVICTED, name="one")
    assert withdraw.named(stage.mirror, "shop/web").place.names["name"] == "two"
    stage.answer(*PENDING, name="one")
    with pytest.raises(NotFoundError, match="may be any of"):
        withdraw.named(stage.mirror, "shop/web")


def wanted(pod_name: str, uid: str | None = None) -> request.Wanted:
    return request.Wanted(
        pod=pod_name, uid=uid, kind="Soft", deadline=None, grace=None, reason=None, dry_run=False
    )


def test_the_life_that_is_observed_is_asked_for() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    node, found = request.meant(stage.mirror, wanted("shop/web"))
    assert (node, found.uid) == (NODE, WEB)


def test_of_a_node_that_is_played_by_hand_the_last_decision_tells_the_lives() -> None:
    stage = Stage()
    stage.decide({"pod": pod("web"), "verdict": "Candidate", "why": "uses most"})
    node, found = request.meant(stage.mirror, wanted("web"))
    assert (node, found.uid) == (NODE, WEB)


def test_a_life_that_is_not_observed_is_asked_for_by_its_uid() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    node, found = request.meant(stage.mirror, wanted("shop/web", OTHER))
    assert (node, found.uid) == (None, OTHER)
    with pytest.raises(NotFoundError):
        request.meant(stage.mirror, wanted("web", OTHER))
