"""What a Decision tells of growth: who writes how much is there to be read, also when nothing is
short, and it is what decided."""

from datetime import timedelta
from typing import Any

import pytest
from tests.core.decision.stage import START, Stage, Turn, amount, pod_of, rules_of

from evictd.core.decision.explanation import Situation, explained
from evictd.core.decision.filling import judged_text
from evictd.core.decision.growth import explains
from evictd.core.decision.growth import writer as writer_of
from evictd.core.pods import reference
from evictd.core.rules import Mode
from evictd_schemas import (
    ContainerStatistics,
    FileSystemStatistics,
    Growth,
    Loss,
    Pod,
    PodStatistics,
)

LINES = ("nodefs.available<2Gi", "nodefs.inodesFree<1k")


def writer(name: str, layer: str, logs: str = "0", inodes: int = 0, **fields: Any) -> Pod:
    """A pod with so much in its writable layer and its logs."""
    entry = ContainerStatistics(
        name="c",
        rootfs=FileSystemStatistics(used_bytes=amount(layer), inodes_used=inodes),
        logs=FileSystemStatistics(used_bytes=amount(logs), inodes_used=1),
    )
    return pod_of(name, stats=PodStatistics(containers=(entry,)), **fields)


def counted(name: str, layer: str, at_seconds: float) -> Pod:
    """A pod whose layer was counted at that second of the story."""
    time = START + timedelta(seconds=at_seconds)
    figures = FileSystemStatistics(used_bytes=amount(layer), time=time)
    entry = ContainerStatistics(name="c", rootfs=figures)
    return pod_of(name, stats=PodStatistics(containers=(entry,)))


def growth_of(name: str, grown: int, *, left: int = 100, lost: int = 10) -> Growth:
    """Within a minute."""
    pod = reference(pod_of(name))
    per_second = grown / 60
    return Growth(pod=pod, grown=grown, seconds=60, per_second=per_second, lost=lost, left=left)


def test_who_wrote_half_of_the_loss_explains_it() -> None:
    growing = (growth_of("a", 5), growth_of("b", 4))
    loss = Loss(signal="nodefs.available", lost=10, seconds=60, unattributed=1, growing=growing)
    a, b = (growth.pod.uid for growth in growing)
    assert writer_of(loss, (b, a)) == a
    assert writer_of(loss, (b,)) is None


@pytest.mark.parametrize(
    ("growth", "sentence"),
    [
        (growth_of("a", 5), "that explains the 10 bytes lost meanwhile"),
        (growth_of("a", 4), "that is less than half of the 10 bytes lost meanwhile"),
        (growth_of("a", 9, lost=-3), "nothing was lost meanwhile"),
        (growth_of("a", 10, left=14401),
         "that explains the 10 bytes lost meanwhile, but the 14.1Ki left last for over a day"),
    ],
)  # fmt: skip
def test_what_growth_means_is_told_by_the_rule_that_decides(growth: Growth, sentence: str) -> None:
    assert judged_text("nodefs.available", growth) == sentence
    assert explains(growth) is (sentence == "that explains the 10 bytes lost meanwhile")


def look(stage: Stage, left: str, *pods: Pod, inodes: str = "9k", after: float = 30) -> Turn:
    """One observation, in which `nodefs` and `imagefs` are one file system."""
    stage.pods = list(pods)
    signals = dict.fromkeys(("nodefs.available", "imagefs.available"), left)
    return stage.observe(signals={**signals, "nodefs.inodesFree": inodes}, after=after)


def losses(turn: Turn) -> dict[str, Loss]:
    assert turn.decision is not None
    return {loss.signal: loss for loss in turn.decision.losses}


def test_growth_is_told_while_nothing_is_short() -> None:
    """Bytes and inodes of each file system once, layer and logs told apart, the fastest first."""
    stage = Stage(rules_of(*LINES))
    assert (
        losses(look(stage, "9Gi", writer("a", "1Gi"), writer("b", "0"), writer("c", "1Gi"))) == {}
    )
    turn = look(
        stage,
        "8Gi",
        writer("a", "1124Mi"),
        writer("b", "200Mi", "400Mi", inodes=60),
        writer("c", "1Gi"),
    )
    assert turn.action == "None"
    found = losses(turn)
    assert list(found) == ["nodefs.available", "nodefs.inodesFree"]
    of_bytes = found["nodefs.available"]
    assert (of_bytes.lost, of_bytes.seconds) == (amount("1Gi"), 30)
    assert of_bytes.unattributed == amount("1Gi") - amount("700Mi")
    assert [(one.pod.name, one.grown, one.logs) for one in of_bytes.growing] == [
        ("b", amount("600Mi"), amount("400Mi")),
        ("a", amount("100Mi"), 0),
    ]
    assert of_bytes.growing[0].per_second == amount("20Mi")
    (by_files,) = found["nodefs.inodesFree"].growing
    assert (by_files.pod.name, by_files.grown, by_files.per_second) == ("b", 60, 2)


def test_what_a_young_writer_wrote_before_its_first_count_is_not_told_to_be_nobodys() -> None:
    """The loss is told over the time for which the writer is known."""
    stage = Stage(rules_of(*LINES))
    look(stage, "9Gi", writer("old", "1Gi"))
    look(stage, "8Gi", writer("old", "1Gi"), writer("young", "1Gi"))
    turn = look(stage, "7Gi", writer("old", "1Gi"), writer("young", "2Gi"))
    of_bytes = losses(turn)["nodefs.available"]
    assert (of_bytes.lost, of_bytes.seconds) == (amount("1Gi"), 30)
    assert of_bytes.unattributed == 0


def test_the_same_count_seen_again_is_told_again() -> None:
    """Counting is done seldom; what was found stands until the next count."""
    stage = Stage(rules_of(*LINES))
    look(stage, "9Gi", counted("a", "0", 0))
    first = losses(look(stage, "8Gi", counted("a", "1Gi", 50)))
    assert first["nodefs.available"].growing != ()
    assert losses(look(stage, "5Gi", counted("a", "1Gi", 50))) == first


def test_a_kubelet_measures_no_growth() -> None:
    stage = Stage(rules_of(*LINES, kubelet=True))
    look(stage, "9Gi", writer("a", "0"))
    assert losses(look(stage, "8Gi", writer("a", "1Gi"))) == {}


def test_an_evictor_that_restarts_holds_no_old_growth_against_anybody() -> None:
    """What was written before may be long over; it is counted anew."""
    stage = Stage(rules_of(*LINES, reclaim_steps=()))
    look(stage, "9Gi", writer("a", "0"))
    assert losses(look(stage, "8Gi", writer("a", "1Gi"))) != {}
    stage.restart()
    turn = look(stage, "1Gi", writer("a", "8Gi"))
    assert (turn.victims, losses(turn)) == ([], {})


def test_what_was_held_before_a_reboot_is_compared_with_nothing() -> None:
    """What was written while the machine was off and came up is no rate."""
    stage = Stage(rules_of(*LINES, reclaim_steps=()))
    look(stage, "9Gi", writer("a", "0"))
    stage.pods = [writer("a", "8Gi")]
    signals = {"nodefs.available": "1Gi", "nodefs.inodesFree": "9k"}
    turn = stage.observe(signals=signals, boot_id="two", uptime_seconds=20.0, after=30)
    assert (turn.victims, losses(turn)) == ([], {})


def test_at_most_a_hundred_writers_are_told() -> None:
    stage = Stage(rules_of(*LINES))
    names = [f"w{number}" for number in range(120)]
    look(stage, "9Gi", *(writer(name, "0") for name in names))
    turn = look(
        stage, "8Gi", *(writer(name, f"{number + 1}Mi") for number, name in enumerate(names))
    )
    told = losses(turn)["nodefs.available"]
    assert len(told.growing) == 100
    assert told.growing[0].pod.name == "w119"
    assert told.unattributed == 0


def test_who_reads_the_decision_ranks_as_it_did() -> None:
    """Without a count of his own: the order, its victim and each reason are those of the bus."""
    stage = Stage(rules_of(*LINES, reclaim_steps=(), mode=Mode.OBSERVE))
    look(stage, "9Gi", writer("big", "9Gi"), writer("small", "0"))
    turn = look(stage, "1Gi", writer("big", "9Gi"), writer("small", "6Gi", "1Gi"))
    assert turn.verdicts() == {"big": "Candidate", "small": "Victim"}
    decision = turn.decision
    assert decision is not None
    stage.restart()
    judged = stage.judge(signals={"nodefs.available": "1Gi"}, after=0)
    assert judged is not None
    situation = Situation(
        rules=stage.rules, plan=stage.plan.as_told(decision), given=judged, now=stage.now
    )
    explanation = explained(situation, "imagefs.available")
    assert explanation.ranking == decision.ranking
    assert explanation.ranking[1].why.endswith(
        "wrote 7Gi in 30 s (238.9Mi/s), 1Gi of it to its logs"
    )
    assert explanation.loss == decision.losses[0]


def test_without_a_decision_nobody_is_said_to_grow() -> None:
    stage = Stage(rules_of(*LINES))
    judged = stage.judge(signals={"nodefs.available": "1Gi"})
    assert judged is not None
    situation = Situation(rules=stage.rules, plan=stage.plan, given=judged, now=stage.now)
    assert explained(situation, "nodefs.available").loss is None


def test_files_are_told_as_inodes() -> None:
    stage = Stage(rules_of(*LINES, reclaim_steps=()))
    look(stage, "9Gi", writer("a", "0"), inodes="9k")
    turn = look(stage, "9Gi", writer("a", "0", inodes=8400), inodes="600")
    assert turn.victims == ["a"]
    assert turn.decision is not None
    assert turn.decision.ranking[0].why.endswith("wrote 8,400 inodes in 30 s (280 inodes/s)")


def test_the_request_says_what_was_written() -> None:
    """It stands in the Eviction, its events and the history after that."""
    stage = Stage(rules_of(*LINES, reclaim_steps=()))
    look(stage, "9Gi", writer("a", "0"))
    (request,) = look(stage, "1Gi", writer("a", "0", "8Gi")).requests
    assert request.spec.reason is not None
    assert request.spec.reason.message == (
        "The node was low on resource: ephemeral-storage. Threshold quantity: 2Gi, available: 1Gi."
        " Pod a wrote 8Gi in 30 s (273.1Mi/s), all of it to its logs;"
        " that explains the 8Gi lost meanwhile. "
    )


@pytest.mark.parametrize(
    ("left", "size", "protected", "why"),
    [
        ("1Gi", "8Gi", True,
         "shop/a wrote 8Gi in 30 s (273.1Mi/s) and so fills it, but is not stopped (Protected)"),
        ("1000Mi", "24Ki", False,
         "shop/a wrote 24Ki in 30 s (819.2 bytes/s): the 1000Mi left last for over a day"),
    ],
)  # fmt: skip
def test_who_fills_it_is_named_although_nobody_is_stopped(
    left: str, size: str, protected: bool, why: str
) -> None:
    stage = Stage(rules_of(*LINES, reclaim_steps=()))
    before = "9Gi" if protected else "1024024Ki"
    look(stage, before, writer("a", "0", protected=protected), writer("b", "0"))
    turn = look(stage, left, writer("a", size, protected=protected), writer("b", "0"))
    assert turn.victims == []
    assert turn.decision is not None
    assert turn.decision.reason.endswith(f", and {why}")


def test_what_one_wrote_that_has_ended_is_its_own_still() -> None:
    """Its disk was full, or it was a job: nobody else wrote that, and nobody is stopped for it."""
    stage = Stage(rules_of(*LINES, reclaim_steps=()))
    look(stage, "9Gi", writer("job", "0"), writer("web", "0"))
    look(stage, "4Gi", writer("job", "5Gi"), writer("web", "0"))
    turn = look(stage, "1Gi", writer("web", "0"), after=10)
    loss = losses(turn)["nodefs.available"]
    assert [growth.pod.name for growth in loss.growing] == ["job"]
    assert (loss.lost, loss.unattributed) == (amount("8Gi"), amount("3Gi"))
    assert turn.victims == []
    assert turn.decision is not None
    assert turn.decision.reason.endswith(
        ", and shop/job wrote 5Gi in 30 s (170.7Mi/s) and so filled it, but runs no more"
    )


def test_who_ended_longer_ago_is_forgotten() -> None:
    stage = Stage(rules_of(*LINES, reclaim_steps=()))
    look(stage, "9Gi", writer("job", "0"), writer("web", "0"))
    look(stage, "4Gi", writer("job", "5Gi"), writer("web", "0"))
    assert losses(look(stage, "4Gi", writer("web", "0"), after=119))["nodefs.available"].growing
    assert not losses(look(stage, "4Gi", writer("web", "0"), after=1))["nodefs.available"].growing


def test_where_the_only_one_has_ended_it_is_told_by_what_it_wrote() -> None:
    stage = Stage(rules_of(*LINES, reclaim_steps=()))
    look(stage, "9Gi", writer("job", "0"))
    look(stage, "4Gi", writer("job", "5Gi"))
    turn = look(stage, "1Gi", after=10)
    assert turn.decision is not None
    assert turn.decision.reason.endswith(", and there is no pod to evict")
    assert losses(turn)["nodefs.available"].growing[0].pod.name == "job"
