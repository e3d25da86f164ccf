"""Wishes of people, as they publish them. [contract 3, Wish]"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.integration.contract.conftest import Outsider, pod
from tests.integration.processes import until

WEB = pod("web", uses_mib=512, request_mib=256)
DB = pod("db", uses_mib=128, request_mib=256)
HOLD = {"verb": "Hold", "target": "shop/web"}
HELD = {**HOLD, "includeHard": True}


def wish(outsider: Outsider, content: dict[str, Any] | bytes, author: str = "acme.io/ann") -> None:
    """Say what somebody wishes, for as long as it stands there."""
    outsider.site.publish(outsider.topic("wishes", author, "mine"), content, retain=True)


def verdicts(outsider: Outsider) -> dict[str, str]:
    """Of each pod in the newest decision."""
    ranking = outsider.await_decision()["ranking"]
    return {row["pod"]["name"]: row["verdict"] for row in ranking}


@pytest.mark.parametrize(
    ("content", "web"),
    [(HOLD, "Victim"), (HELD, "Held"), ({**HELD, "until": "2026-01-01T00:00:00Z"}, "Victim")],
    ids=["soft lines", "hard lines too", "long ago"],
)
def test_a_hold_is_for_soft_lines_unless_it_includes_hard_ones(
    outsider: Outsider, content: dict[str, Any], web: str
) -> None:
    wish(outsider, content)
    outsider.observe(WEB, DB, available_mib=400)
    assert verdicts(outsider)["web"] == web


def test_a_hold_ends_with_its_time_or_with_its_topic(outsider: Outsider) -> None:
    end = datetime.now(UTC) + timedelta(seconds=2)
    wish(outsider, {**HELD, "until": end.isoformat()})
    outsider.observe(WEB, available_mib=400)
    assert verdicts(outsider) == {"web": "Held"}

    def over() -> bool:
        outsider.observe(WEB, available_mib=400)
        return verdicts(outsider) == {"web": "Victim"}

    until("it is over", over)
    assert datetime.now(UTC) >= end


def test_a_hold_of_nobody_by_name_holds_the_whole_node_until_it_is_cleared(
    outsider: Outsider,
) -> None:
    wish(outsider, {"verb": "Hold", "includeHard": True})
    outsider.observe(WEB, DB, available_mib=400)
    assert verdicts(outsider) == {"web": "Held", "db": "Held"}
    wish(outsider, b"")
    outsider.observe(WEB, DB, available_mib=400)
    until("it is cleared", lambda: verdicts(outsider)["web"] == "Victim")


@pytest.mark.parametrize(
    ("content", "author", "field"),
    [
        ({**HOLD, "verb": "hold"}, "acme.io/ann", "verb"),
        ({**HOLD, "target": "web"}, "acme.io/ann", "target"),
        ({**HOLD, "until": "tomorrow"}, "acme.io/ann", "$.until"),
        ({"verb": "Forget"}, "acme.io/ann", "target"),
        (HOLD, "Acme/ann", "topic"),
    ],
)
def test_a_wish_that_breaks_a_rule_is_answered(
    outsider: Outsider, content: dict[str, Any], author: str, field: str
) -> None:
    wish(outsider, content, author)
    assert outsider.await_rejection() == [("evictor", field)]
