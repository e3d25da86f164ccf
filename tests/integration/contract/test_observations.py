"""Observations as people publish them, mistakes included. [contract 3, Observation]"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.integration.contract.conftest import Outsider, pod, uid
from tests.integration.processes import until

WEB = pod("web", uses_mib=512, request_mib=256)
DB = pod("db", uses_mib=128, request_mib=256)


def second(number: int) -> str:
    """A moment of the past, at a whole second."""
    return (datetime(2026, 11, 30, 8, tzinfo=UTC) + timedelta(seconds=number)).isoformat()


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"node": None}, "$"),
        ({"time": None}, "$"),
        ({"signals": None}, "$"),
        ({"node": "demo-of-another"}, "node"),
        ({"time": "2026-11-30T08:00:00"}, "$.time"),
        ({"time": "1969-12-31T23:59:59Z"}, "time"),
        ({"sequence": -1}, "sequence"),
        ({"sequence": 2**63}, "sequence"),
        (
            {"signals": {"memory.available": {"available": 10**400, "capacity": 1}}},
            "signals.memory.available.available",
        ),
        ({"bootId": ""}, "bootId"),
        ({"intervalSeconds": 0}, "intervalSeconds"),
        ({"pods": [WEB, WEB]}, "pods[1].name"),
        ({"pods": [WEB, {**DB, "uid": uid("web")}]}, "pods[1].uid"),
        ({"pods": [{**WEB, "uid": "WEB-1"}]}, "pods[0].uid"),
        ({"pods": [{**WEB, "priority": 2**31}]}, "pods[0].priority"),
        ({"pods": [{**WEB, "requests": {"memory": -1}}]}, "pods[0].requests[memory]"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value,
)
def test_what_breaks_a_rule_is_answered_and_decides_nothing(
    outsider: Outsider, content: dict[str, Any], field: str
) -> None:
    outsider.observe(**{"pods": [WEB], "available_mib": 400, **content})
    assert outsider.await_rejection() == [("evaluator", field)]
    assert outsider.site.ear.now(outsider.topic("pressure")) is None


def test_a_second_one_of_the_same_second_is_refused_with_what_to_do(outsider: Outsider) -> None:
    """Without `sequence` the time is the sequence; the very same message is only a duplicate."""
    outsider.observe(WEB, time=second(0))
    outsider.observe(WEB, time=second(0))
    outsider.observe(DB, time=second(0))
    assert outsider.await_rejection() == [("evaluator", "sequence")]
    (answer,) = outsider.site.ear.events(outsider.node, "MessageRejected")
    held = int(datetime.fromisoformat(second(0)).timestamp() * 1000)
    assert f"{held}, the one held" in answer["data"]["message"]
    assert "leave it out" in answer["data"]["message"]


def test_an_observation_with_only_signals_leaves_the_pods_standing(outsider: Outsider) -> None:
    outsider.observe(WEB, DB)
    outsider.observe(pods=None, available_mib=400)
    until("it decides", lambda: outsider.await_decision()["action"] == "Evict")
    names = {row["pod"]["name"] for row in outsider.await_decision()["ranking"]}
    assert names == {"web", "db"}


@pytest.mark.parametrize("content", [{"podsComplete": False}, {"pods": None}])
def test_only_a_complete_list_proves_that_somebody_is_gone(
    outsider: Outsider, content: dict[str, Any]
) -> None:
    """Neither an incomplete one nor one without pods does."""
    outsider.observe(WEB, DB)
    outsider.request("move-web")
    outsider.await_eviction()
    outsider.observe(**{"pods": [DB], **content})
    outsider.request("move-ghost", "ghost")
    until("the ghost is asked for", lambda: outsider.status("move-ghost"))
    assert outsider.status("move-ghost")["Failed"] == ("False", "AwaitingEviction")
    outsider.observe(DB)
    until("the ghost is refused", lambda: outsider.status("move-ghost")["Failed"][0] == "True")
    outsider.await_gone()
    assert outsider.status("move-web")["TargetEvicted"] == ("True", "PodDeleted")


def test_unknown_signals_and_fields_are_carried_and_never_acted_on(outsider: Outsider) -> None:
    memory = {"available": 2**31, "capacity": 2**32, "unheard": 1}
    strange = {"moon.available": {"available": 0, "capacity": 9}, "memory.available": memory}
    outsider.observe(WEB, signals=strange, unheard={"of": []})
    assert outsider.await_decision()["action"] == "None"
    assert outsider.rejections() == []


def test_a_layout_that_could_not_be_found_out_changes_nothing(outsider: Outsider) -> None:
    outsider.observe(WEB, time=second(0))
    until("it is judged", lambda: outsider.await_decision()["action"] == "None")
    outsider.observe(WEB, time=second(1), available_mib=400, layout={"error": "no such device"})
    outsider.observe(WEB, time=second(2))
    judged = int(datetime.fromisoformat(second(2)).timestamp() * 1000)
    until("it goes on", lambda: outsider.await_decision()["sequence"] == judged)
    assert outsider.site.ear.events(outsider.node, "NodeHasInsufficientMemory") == []
    assert outsider.rejections() == []


def test_less_than_nothing_is_said_as_such(outsider: Outsider) -> None:
    """A working set may be larger than the capacity."""
    outsider.observe(WEB, available_mib=-1)
    outsider.await_eviction()
    (met,) = outsider.site.ear.events(outsider.node, "EvictionThresholdMet")
    assert "memory.available is -1Mi" in met["data"]["message"]
