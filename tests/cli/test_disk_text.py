"""`rank` and `explain` of a file system that runs short: what the decision knows is told."""

from typing import Any

import msgspec
import pytest
from tests.core.decision.stage import Stage, amount, pod_of, rules_of, uid_of

from evictd.cli import explain, rank
from evictd.core.decision import Ordered
from evictd.core.decision.explanation import Explanation, Situation, explained
from evictd.core.rules import Mode
from evictd_schemas import (
    ContainerStatistics,
    FileSystemStatistics,
    OrderStatus,
    Pod,
    PodStatistics,
    StepOutcome,
)

OFFERED = (
    StepOutcome(step="images", listed_bytes=3 << 20, taken=("a:1", "b:\x1b[1m"), taken_total=25),
    StepOutcome(step="cache"),
    StepOutcome(step="logs", error="not supported by docker"),
)


def writer(name: str, layer: str, logs: str = "0", inodes: int = 0, **fields: Any) -> Pod:
    """A pod with so much in its writable layer and its logs."""
    entry = ContainerStatistics(
        name="c",
        rootfs=FileSystemStatistics(used_bytes=amount(layer), inodes_used=inodes),
        logs=FileSystemStatistics(used_bytes=amount(logs)),
    )
    return pod_of(name, stats=PodStatistics(containers=(entry,)), **fields)


def seen(stage: Stage, signal: str = "nodefs.available") -> tuple[Situation, Explanation]:
    """As `rank` reads it from the bus, ten seconds after the last decision."""
    decision = stage.plan.decision
    stage.restart()
    judged = stage.judge(signals={"nodefs.available": "1Gi"}, after=10)
    assert judged is not None
    found = Situation(
        rules=stage.rules, plan=stage.plan.as_told(decision), given=judged, now=stage.now
    )
    return found, explained(found, signal)


@pytest.fixture
def full() -> Stage:
    """A node that is only watched, whose `small` fills the disk."""
    steps = tuple(step.step for step in OFFERED)
    stage = Stage(rules_of("nodefs.available<2Gi", mode=Mode.OBSERVE, reclaim_steps=steps))
    stage.pods = [writer("big", "9Gi"), writer("small", "0")]
    stage.observe(signals={"nodefs.available": "9Gi", "nodefs.inodesFree": "9k"}, after=30)
    stage.pods = [writer("big", "9Gi"), writer("small", "6Gi", "1Gi", inodes=60)]
    turn = stage.observe(signals={"nodefs.available": "1Gi", "nodefs.inodesFree": "8k"}, after=30)
    (order,) = turn.orders
    status = OrderStatus(order_uid=order.uid, state="Refused", steps=OFFERED)
    stage.tell(Ordered(name="reclaim", status=status))
    return stage


HEAD = """\
edge: nodefs.available is 1Gi of 16Gi; DiskPressure
mode is observe; candidates: all
decided 10s ago: Evict: nodefs.available is 1Gi, below the hard threshold 2Gi: shop/small uses \
7Gi and asked for none; priority 0; wrote 7Gi in 30 s (238.9Mi/s), 1Gi of it to its logs; mode is \
observe
before anybody goes, a reclaim would take, as asked 10s ago:
  images  25 (3Mi): a:1, b:\\x1b[1m, 23 more
  cache   nothing
  logs    not supported by docker
8Gi were lost in 30 s, 1Gi of that in no known layer or log
a stop frees no space: only the one whose growth explains the loss is stopped

"""


def test_rank_tells_what_a_reclaim_would_take_what_was_lost_and_who_writes(full: Stage) -> None:
    assert (
        "\n".join(rank.table(*seen(full)))
        == HEAD
        + """\
    POD         VERDICT    PRIORITY  USES  ASKED FOR  WRITES
1.  shop/big    Candidate  0         9Gi   0 bytes    -
      shop/big holds 9Gi, shop/small 7Gi
2.  shop/small  Victim     0         7Gi   0 bytes    238.9Mi/s"""
    )


def test_explain_tells_what_it_wrote_and_what_that_means(full: Stage) -> None:
    found, explanation = seen(full)
    lines = "\n".join(explain.lines(found, explanation, explanation.place_of(uid_of("small"))))
    assert lines.startswith(
        HEAD
        + """\
shop/small is number 2 of 2 to go for nodefs.available: Victim
  uses 7Gi and asked for none; priority 0; wrote 7Gi in 30 s (238.9Mi/s), 1Gi of it to its logs
  that explains the 8Gi lost meanwhile
  nodefs.inodesFree: wrote 60 inodes in 30 s (2 inodes/s)
"""
    )
    rests = explain.lines(found, explanation, explanation.place_of(uid_of("big")))
    assert "  it is not seen to write there" in [*rests]


def test_growth_is_told_whatever_runs_short(full: Stage) -> None:
    found, explanation = seen(full, "memory.available")
    lines = [*explain.lines(found, explanation, explanation.place_of(uid_of("small")))]
    assert "  nodefs.available: wrote 7Gi in 30 s (238.9Mi/s), 1Gi of it to its logs" in lines
    assert not [line for line in lines if "reclaim" in line or "decided" in line]
    assert "WRITES" not in "\n".join(rank.table(found, explanation))


def test_programs_get_the_same(full: Stage) -> None:
    decision = full.plan.decision
    assert decision is not None
    document = rank.document(seen(full)[1])
    assert document["loss"] == msgspec.to_builtins(decision.losses[0])
    assert document["reclaim"] == msgspec.to_builtins(decision.reclaims[0])
    assert document["steps"] == ["images", "cache", "logs"]


def test_without_a_decision_it_is_told_what_is_not_known() -> None:
    stage = Stage(rules_of("nodefs.available<2Gi", reclaim_steps=("images", "cache")))
    stage.pods = [writer("web", "1Gi")]
    found, explanation = seen(stage)
    text = "\n".join(explain.lines(found, explanation, 0))
    assert "given back before anybody goes: images, cache\n" in text
    assert "who writes is not known: what workloads hold was not counted twice yet\n" in text
    assert "  whether it grows is not known: it was not counted twice yet\n" in text


def test_what_was_given_back_and_what_was_not_told_are_said_as_that() -> None:
    stage = Stage(rules_of("nodefs.available<2Gi", reclaim_steps=("images", "logs")))
    stage.pods = [writer("web", "1Gi")]
    (order,) = stage.observe(signals={"nodefs.available": "1Gi"}).orders
    steps = (
        StepOutcome(step="images", freed_bytes=5 << 20, taken=("a:1",), taken_total=1),
        StepOutcome(step="logs", taken=("_/web",), taken_total=1, error="read-only"),
    )
    status = OrderStatus(order_uid=order.uid, state="Finished", steps=steps)
    stage.tell(Ordered(name="reclaim", status=status))
    stage.observe(signals={"nodefs.available": "1Gi"}, after=1)
    lines = [*rank.table(*seen(stage))]
    assert "before anybody goes, a reclaim gave back 11s ago:" in lines
    assert "  images  5Mi: a:1" in lines
    assert "  logs    0 bytes: _/web; read-only" in lines
    assert "5Mi were lost in 1 s, 5Mi of that in no known layer or log" in lines


def test_a_rehearsal_that_nobody_answered_is_said_to_be_that() -> None:
    stage = Stage(rules_of("nodefs.available<2Gi", mode=Mode.OBSERVE, reclaim_steps=("images",)))
    stage.pods = [writer("web", "1Gi")]
    stage.observe(signals={"nodefs.available": "1Gi"})
    stage.tick(after=60)
    assert (
        "what can be given back is not known, asked 10s ago: no responder answered within 60 s"
        in [*rank.table(*seen(stage))]
    )


def test_no_setting_is_said_to_make_anybody_go_who_does_not_fill_the_disk() -> None:
    """A smaller priority lets nobody go: growth does."""
    stage = Stage(rules_of("nodefs.available<2Gi", mode=Mode.OBSERVE, reclaim_steps=()))
    stage.pods = [writer("big", "9Gi"), writer("small", "1Gi")]
    stage.observe(signals={"nodefs.available": "1Gi"})
    found, explanation = seen(stage)
    lines = [*explain.lines(found, explanation, explanation.place_of(uid_of("small")))]
    assert lines[-2:] == ["What would change it:", "  protect: true: it never goes"]
