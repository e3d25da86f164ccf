"""What is told of how a workload goes, and with whom."""

import pytest
from tests.cli.bus import NOW, Stage, pod

from evictd.cli import describe, plan


def facts(stage: Stage) -> dict[str, str]:
    """The labelled lines of the workload."""
    node, found = describe.observed_pod(stage.mirror, "web")
    lines = describe.workload_lines(stage.mirror, node, found, NOW)
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {label: value.strip() for label, value in pairs}


def test_a_workload_is_described_with_how_and_with_whom_it_goes() -> None:
    stage = Stage()
    wanted = {"action": "restart", "group": "front", "dependsOn": ["shop/db", "shop/cache"]}
    stage.observe(pod("web", managedBy="systemd unit web.service", **wanted))
    told = facts(stage)
    assert told["Kept"] == "no, stopped through systemd unit web.service"
    assert (told["Action"], told["Group"]) == ("restart", "front")
    assert told["Depends on"] == "shop/db, shop/cache"


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("stop", "its own time."),
        ("restart", "For want of memory or process ids it is started again at once."),
        ("webhook", "It is left to its webhooks: only a hard eviction stops it."),
    ],
)
def test_the_plan_says_what_is_done_instead_of_a_stop(action: str, told: str) -> None:
    stage = Stage()
    stage.observe(pod("web", action=action))
    assert [*plan.lines(plan.plan_of(stage.mirror, "web", ()))][-1].endswith(told)
