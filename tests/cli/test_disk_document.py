"""docs/disk.md tells what is told: its example and each of its sentences are what comes out."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.core.decision.stage import Stage, amount, pod_of, rules_of

from evictd.cli import rank
from evictd.core.decision import Ordered
from evictd.core.decision.explanation import Situation, explained
from evictd.core.rules import Candidates, Mode
from evictd_schemas import (
    ContainerStatistics,
    FileSystemStatistics,
    Loss,
    OrderStatus,
    Pod,
    PodStatistics,
    ReclaimOutcome,
    StepOutcome,
)

TEXT = (Path(__file__).parents[2] / "docs/disk.md").read_text()
WHY = TEXT[TEXT.index("## Why nobody is stopped") :]
SENTENCES = re.findall(r"^\| `([^`]+)` \|", WHY, re.MULTILINE)
OFFERED = (
    StepOutcome(
        step="danglingImages",
        listed_bytes=800 << 20,
        taken=("sha256:5e1bb5a4e2a9", "sha256:9c0f7d3b1e55"),
        taken_total=2,
    ),
    StepOutcome(step="buildCache"),
)
STEPS = tuple(step.step for step in OFFERED)


def writer(name: str, layer: str, logs: str = "0", **fields: Any) -> Pod:
    """A pod with so much in its writable layer and its logs."""
    entry = ContainerStatistics(
        name="c",
        rootfs=FileSystemStatistics(used_bytes=amount(layer)),
        logs=FileSystemStatistics(used_bytes=amount(logs)),
    )
    return pod_of(name, stats=PodStatistics(containers=(entry,)), **fields)


def reason(stage: Stage, left: str, *pods: Pod) -> str:
    """Of the decision about that look."""
    stage.pods = list(pods)
    decision = stage.observe(signals={"nodefs.available": left}, after=30).decision
    assert decision is not None
    return decision.reason


def test_the_example_is_what_rank_prints() -> None:
    stage = Stage(rules_of("nodefs.available<2Gi", mode=Mode.OBSERVE, reclaim_steps=STEPS))
    reason(stage, "9Gi", writer("db", "9Gi"), writer("web", "0"))
    reason(stage, "1Gi", writer("db", "9Gi"), writer("web", "6Gi", "1Gi"))
    under_way = stage.plan.reclaiming
    assert under_way is not None
    status = OrderStatus(order_uid=under_way.order_uid, state="Refused", steps=OFFERED)
    decision = stage.tell(Ordered(name="reclaim", status=status)).decision
    stage.restart()
    judged = stage.judge(signals={"nodefs.available": "1Gi"}, after=10)
    assert judged is not None
    plan = stage.plan.as_told(decision)
    found = Situation(rules=stage.rules, plan=plan, given=judged, now=stage.now)
    shown = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)[0]
    assert "\n".join(rank.table(found, explained(found))) + "\n" == shown


def host(**fields: Any) -> Stage:
    """A plain host that acts, with nothing to give back."""
    return Stage(rules_of("nodefs.available<2Gi", reclaim_steps=(), **fields))


def grown(before: tuple[str, Pod], after: tuple[str, Pod]) -> str:
    """Two looks, what was left and the writer of each, beside one that rests."""
    stage = host()
    for left, pod in (before, after):
        told = reason(stage, left, pod, writer("db", "9Gi"))
    return told


def unseen() -> str:
    return reason(host(), "1Gi", writer("web", "0"))


def outside() -> str:
    return grown(("4Gi", writer("web", "0")), ("1Gi", writer("web", "1Gi")))


def protected() -> str:
    first, second = (writer("web", size, protected=True) for size in ("0", "3Gi"))
    return grown(("4Gi", first), ("1Gi", second))


def slow() -> str:
    return grown(("1024024Ki", writer("web", "0")), ("1000Mi", writer("web", "24Ki")))


def ended() -> str:
    stage = host()
    reason(stage, "4Gi", writer("web", "0"), writer("db", "9Gi"))
    stage.pods = [writer("web", "3Gi"), writer("db", "9Gi")]
    stage.observe(signals={"nodefs.available": "3Gi"}, after=30)
    return reason(stage, "1Gi", writer("db", "9Gi"))


def stopped_already() -> str:
    stage = host()
    reason(stage, "4Gi", writer("web", "0"))
    reason(stage, "1Gi", writer("web", "3Gi"))
    stage.gone("web")
    stage.answer("web")
    return reason(stage, "1Gi", writer("db", "9Gi"))


def no_candidate() -> str:
    return reason(host(candidates=Candidates.LABELLED), "1Gi", writer("web", "0"))


STORIES = (unseen, outside, protected, ended, slow, stopped_already, no_candidate)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_each_reason_why_nobody_is_stopped_is_one_that_is_told(sentence: str) -> None:
    assert any(f", and {sentence}" in story() for story in STORIES)


def test_no_reason_is_left_out() -> None:
    assert len(SENTENCES) == len(STORIES)


def test_the_fields_of_the_decision_are_those_that_the_document_names() -> None:
    for name in (*Loss.__struct_encode_fields__, *ReclaimOutcome.__struct_encode_fields__):
        assert name in {"signal", "time"} or f"`{name}`" in TEXT, name
