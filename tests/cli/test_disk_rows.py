"""What `get`, `describe` and `status` show of file systems, from the figures of the decision."""

from typing import Any

import pytest
from tests.cli.bus import MIB, NODE, NOW, WEB, Stage, ago, pod

from evictd.cli import describe
from evictd.cli.get import KINDS
from evictd.cli.naming import observed_pod
from evictd.cli.standing import following, ranking
from evictd.shell.configuration import load_text
from evictd_schemas import topics

DB = "5" + WEB[1:]
SIZES = {"containers": [{"rootfs": {"usedBytes": 900 * MIB}, "logs": {"usedBytes": 100 * MIB}}]}


def growth(per_second: float, uid: str = WEB) -> dict[str, Any]:
    """What web wrote within ten seconds."""
    figures = {"seconds": 10, "perSecond": per_second, "grown": round(per_second * 10)}
    return {"pod": pod("web", uid), "lost": 1, "left": 1, **figures}


def loss(signal: str, *growing: dict[str, Any]) -> dict[str, Any]:
    return {"signal": signal, "lost": 1, "seconds": 10, "unattributed": 0, "growing": growing}


@pytest.fixture
def stage() -> Stage:
    """A bus on which web writes bytes and a file now and then, and db nothing."""
    stage = Stage()
    stage.observe(pod("web", stats=SIZES), pod("db", DB))
    losses = [loss("nodefs.available", growth(38 * MIB)), loss("nodefs.inodesFree", growth(0.2))]
    stage.decide(losses=losses)
    return stage


def rows(stage: Stage) -> dict[str, dict[str, str]]:
    """Wide, by name."""
    kind = KINDS["workloads"]
    head = (*kind.head, *kind.wide_head)
    found = kind.items(stage.mirror, NOW)
    return {item.name: dict(zip(head, (*item.cells, *item.wide), strict=True)) for item in found}


def test_a_workload_is_shown_with_what_it_holds_and_how_fast_it_writes(stage: Stage) -> None:
    stopped = {"uid": WEB, "time": ago(120), "signal": "nodefs.available"}
    stage.say(topics.STOPPED, stopped, namespace="shop", name="batch")
    shown = rows(stage)
    assert [(row["DISK"], row["WRITES"]) for row in shown.values()] == [
        ("layer 900Mi, logs 100Mi", "38Mi/s, <1 inodes/s"),
        ("-", "-"),
        ("-", "-"),
    ]
    assert shown["shop/batch"]["WHY"] == "short of nodefs.available"


def test_a_workload_is_described_with_what_it_holds_and_how_fast_it_writes(stage: Stage) -> None:
    node, found = observed_pod(stage.mirror, "web")
    lines = [*describe.workload_lines(stage.mirror, node, found, NOW)]
    (told,) = (line for line in lines if line.startswith("Disk"))
    assert told.endswith("layer 900Mi, logs 100Mi; writes 38Mi/s, <1 inodes/s")


def test_a_figure_for_the_whole_pod_is_shown_as_that() -> None:
    stage = Stage()
    stage.observe(pod("web", stats={"ephemeral-storage": {"usedBytes": MIB}}))
    assert rows(stage)["shop/web"]["DISK"] == "all 1Mi"


@pytest.mark.parametrize(
    ("profile", "verdict", "following_name"),
    [("host", "Victim", "web"), ("host", "Leaving", None), ("kubelet", "Leaving", "db")],
)
def test_of_a_full_disk_only_who_fills_it_is_next(
    profile: str, verdict: str, following_name: str | None
) -> None:
    """On a plain host, where a stop frees nothing: not the first of those that may go."""
    stage = Stage()
    candidates = {"pod": pod("db", DB), "verdict": "Candidate", "why": "holds most"}
    writer = {"pod": pod("web"), "verdict": verdict, "why": "wrote most"}
    stage.decide(candidates, writer, signal="nodefs.available")
    configuration = load_text(f"profile: {profile}\n", "f").configuration
    found = following(ranking(stage.mirror, configuration, NODE, NOW), ())
    assert (found and found.name) == following_name
