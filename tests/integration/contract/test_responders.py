"""Who is in a chain of responders, and who can be none. [eviction-request-api 2.4, 3]"""

from __future__ import annotations

from typing import Any

import pytest
from tests.integration.contract.conftest import Outsider, pod

DEFAULT = "imperative-eviction.k8s.io/evictor"
DRAIN = {"name": "acme.io/drain", "priority": 10_000}


@pytest.mark.parametrize(
    ("declared", "field"),
    [
        ([{**DRAIN, "name": "drain"}], "[0].name"),
        ([{**DRAIN, "name": DEFAULT}], "[0].name"),
        ([{**DRAIN, "priority": 999}], "[0].priority"),
        ([{"name": "acme.io/drain"}], "[0].priority"),
        ([DRAIN, DRAIN], "[1]"),
        ([{**DRAIN, "startDeadlineSeconds": 0}], "[0].startDeadlineSeconds"),
        ([{**DRAIN, "name": f"acme.io/d{number}"} for number in range(11)], ""),
    ],
    ids=["no domain", "reserved", "low", "no priority", "twins", "no time", "eleven"],
)
def test_a_pod_cannot_declare_what_could_not_take_its_turn(
    outsider: Outsider, declared: list[dict[str, Any]], field: str
) -> None:
    """One that says so is answered, and nothing is decided about it."""
    web = pod("web", uses_mib=9, request_mib=1, evictionResponders=declared)
    outsider.observe(web, available_mib=400)
    assert outsider.await_rejection() == [("evaluator", f"pods[0].evictionResponders{field}")]
    assert outsider.evictions() == []


def test_the_highest_priority_has_the_first_turn_then_the_domain_from_its_end(
    outsider: Outsider,
) -> None:
    names = ["b.org/x", "a.com/z", "a.com/b", "c.io/late"]
    declared = [{**DRAIN, "name": name} for name in names] + [
        {"name": "z.io/first", "priority": 100_000}
    ]
    outsider.observe(pod("web", uses_mib=9, request_mib=1, evictionResponders=declared))
    outsider.request("move-web")
    outsider.await_eviction()
    assert outsider.chain() == [
        ("z.io/first", "Active"),
        ("a.com/b", "Inactive"),
        ("a.com/z", "Inactive"),
        ("c.io/late", "Inactive"),
        ("b.org/x", "Inactive"),
        (DEFAULT, "Inactive"),
    ]
