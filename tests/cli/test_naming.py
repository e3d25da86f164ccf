"""Whom a person means by a name."""

import pytest
from tests.cli.bus import (
    NODE,
    WEB,
    Stage,
    pod,
)

from evictd.cli import describe, naming
from evictd.cli.naming import the_one
from evictd.cli.situation import NotFoundError
from evictd_schemas import topics

OTHER = "5b0e3a56-9a51-4c7e-8f2b-0f3f6f7d2b10"


def test_who_is_meant_may_be_told_by_any_of_its_names() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    for name in ("web", "shop/web", WEB, f"{NODE} shop/web"):
        assert describe.observed_pod(stage.mirror, name)[0] == NODE


def test_an_eviction_is_found_by_its_workload_too() -> None:
    stage = Stage()
    stage.evict()
    for name in ("shop/pod-1-web", "shop/web", "web", f"{NODE} shop/pod-1-web"):
        (found,) = stage.mirror.objects(topics.EVICTION)
        assert name in tuple(naming.eviction_names(found))


def test_a_name_that_nobody_has_is_answered_with_those_that_are() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    with pytest.raises(NotFoundError, match=f"there is no workload 'wbe'; there are {NODE} shop/w"):
        describe.observed_pod(stage.mirror, "wbe")


def test_a_name_of_two_is_not_guessed() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    stage.observe(pod("web", uid=OTHER), node="other")
    with pytest.raises(NotFoundError, match=f"{NODE} shop/web, other shop/web; --node or"):
        describe.observed_pod(stage.mirror, "web")
    with pytest.raises(NotFoundError, match=r"there is no thing 'x'$"):
        the_one("thing", "x", [], str)
