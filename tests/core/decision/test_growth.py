"""Disk on a plain host: only who is seen to fill it is stopped, and only one for each crossing."""

from collections.abc import Iterator
from datetime import timedelta

from msgspec import structs
from tests.core.decision.stage import START, Stage, Turn, amount, pod_of, rules_of, uid_of

from evictd.core.decision import Fallen, Plan
from evictd.core.rules import Mode
from evictd_schemas import (
    ContainerStatistics,
    FileSystemStatistics,
    Layout,
    Pod,
    PodStatistics,
    Stopped,
)

DISK = "nodefs.available<2Gi"


def writer(name: str, wrote: str, logs: str = "0") -> Pod:
    """A pod with so much in its writable layer and its logs."""
    entry = ContainerStatistics(
        name="c",
        rootfs=FileSystemStatistics(used_bytes=amount(wrote)),
        logs=FileSystemStatistics(used_bytes=amount(logs)),
    )
    return pod_of(name, stats=PodStatistics(containers=(entry,)))


def host(mode: Mode = Mode.ACT) -> Stage:
    """A host without reclaim steps: `big` holds most and rests, `small` is the one to watch."""
    stage = Stage(rules_of(DISK, reclaim_steps=(), mode=mode))
    stage.pods = [writer("big", "9Gi"), writer("small", "1Mi")]
    return stage


def look(stage: Stage, nodefs: str, small: str, *, logs: str = "0", after: float = 30) -> Turn:
    """`small` has written so much by now."""
    stage.pods = [pod for pod in stage.pods if pod.name != "small"]
    stage.pods.append(writer("small", small, logs))
    return stage.observe(signals={"nodefs.available": nodefs}, after=after)


def test_the_one_that_fills_the_disk_goes_though_another_holds_more() -> None:
    stage = host()
    look(stage, "4Gi", "1Mi")
    turn = look(stage, "1Gi", "3Gi")
    assert turn.victims == ["small"]
    assert turn.verdicts() == {"big": "Candidate", "small": "Victim"}


def test_growth_of_logs_counts() -> None:
    stage = host()
    look(stage, "4Gi", "1Mi")
    assert look(stage, "1Gi", "1Mi", logs="3Gi").victims == ["small"]


def test_nobody_goes_for_what_nobody_wrote() -> None:
    """Bytes outside every layer and log are reported as not attributable."""
    stage = host()
    look(stage, "4Gi", "1Mi")
    turn = look(stage, "1Gi", "2Mi")
    assert turn.victims == []
    assert turn.events == ["EvictionThresholdMet", "NothingLeftToEvict"]
    assert turn.decision is not None
    assert turn.decision.reason == (
        "nodefs.available is 1Gi, below the hard threshold 2Gi, and nobody's growth explains the"
        " 3Gi lost in 30 s, of which 3Gi are in no known layer or log"
    )


def test_nobody_goes_before_growth_was_measured() -> None:
    turn = look(host(), "1Gi", "3Gi")
    assert turn.victims == []
    assert turn.decision is not None
    assert turn.decision.reason.endswith("nobody is seen to fill it; a stop frees no space")


def test_one_stop_for_each_crossing() -> None:
    stage = host()
    look(stage, "4Gi", "1Mi")
    look(stage, "1Gi", "3Gi")
    stage.gone("small")
    stage.answer("small")
    turn = Turn(())
    for size in ("3Gi", "4Gi", "5Gi"):
        stage.pods = [writer("big", "9Gi"), writer("other", size)]
        turn = stage.observe(signals={"nodefs.available": "512Mi"}, after=30)
        assert turn.victims == []
    assert turn.decision is not None
    assert turn.decision.reason.endswith(
        "shop/small was stopped for it already; a stop frees no space"
    )


def test_a_new_crossing_may_stop_one_again() -> None:
    stage = host()
    look(stage, "4Gi", "1Mi")
    look(stage, "1Gi", "3Gi")
    stage.gone("small")
    stage.answer("small")
    stage.pods = [writer("big", "9Gi"), writer("other", "1Mi")]
    for _ in range(3):
        stage.observe(signals={"nodefs.available": "6Gi"}, after=200)
    stage.pods = [writer("big", "9Gi"), writer("other", "5Gi")]
    turn = stage.observe(signals={"nodefs.available": "1Gi"}, after=30)
    assert turn.victims == ["other"]


def test_growth_is_measured_over_the_last_minutes_only() -> None:
    """What was written an hour ago does not explain what is lost now."""
    stage = host()
    look(stage, "9Gi", "1Mi")
    for _ in range(4):
        look(stage, "4Gi", "5Gi", after=100)
    assert look(stage, "1Gi", "5Gi", after=100).victims == []


def test_inodes_are_measured_as_inodes() -> None:
    stage = Stage(rules_of("nodefs.inodesFree<1k", reclaim_steps=()))

    def with_inodes(count: int) -> Pod:
        layer = FileSystemStatistics(used_bytes=1, inodes_used=count)
        entry = ContainerStatistics(name="c", rootfs=layer)
        return pod_of("tmp", stats=PodStatistics(containers=(entry,)))

    stage.pods = [with_inodes(10)]
    stage.observe(signals={"nodefs.inodesFree": "5k"})
    stage.pods = [with_inodes(4900)]
    assert stage.observe(signals={"nodefs.inodesFree": "100"}).victims == ["tmp"]


def test_memory_of_a_host_is_not_spared() -> None:
    stage = Stage(rules_of("memory.available<1Gi"))
    stage.pod("web", uses="2Gi")
    assert stage.observe("512Mi").victims == ["web"]


def counted(name: str, wrote: str, at_seconds: float) -> Pod:
    """A pod whose layer was counted at that second of the story."""
    time = START + timedelta(seconds=at_seconds)
    layer = FileSystemStatistics(used_bytes=amount(wrote), time=time)
    entry = ContainerStatistics(name="c", rootfs=layer)
    return pod_of(name, stats=PodStatistics(containers=(entry,)))


def counts(stage: Stage, nodefs: str, wrote: str, at_seconds: float, *, after: float = 10) -> Turn:
    """`small` as it was counted then, seen now."""
    stage.pods = [counted("small", wrote, at_seconds)]
    return stage.observe(signals={"nodefs.available": nodefs}, after=after)


def test_what_was_never_counted_before_has_not_grown() -> None:
    """The first count of a large database is no growth, though before it nothing was known."""
    stage = Stage(rules_of(DISK, reclaim_steps=()))
    stage.pods = [pod_of("db")]
    stage.observe(signals={"nodefs.available": "4Gi"})
    stage.pods = [writer("db", "9Gi")]
    assert stage.observe(signals={"nodefs.available": "1Gi"}).victims == []


def test_growth_and_loss_are_those_between_two_counts() -> None:
    """What was lost before the older or after the newer count is not held against anybody, and the
    same count seen again is no new one."""
    stage = Stage(rules_of(DISK, reclaim_steps=()))
    stage.observe(signals={"nodefs.available": "15Gi"})
    counts(stage, "5Gi", "1Gi", 20)
    counts(stage, "5Gi", "1Gi", 20, after=70)
    turn = counts(stage, "1Gi", "4Gi", 95)
    assert turn.victims == ["small"]
    assert turn.decision is not None
    assert turn.decision.ranking[0].why.endswith("wrote 3Gi in 80 s (38.4Mi/s)")


def test_who_fills_it_is_counted_before_nobody_is_said_to() -> None:
    stage = Stage(rules_of(DISK, reclaim_steps=()))
    counts(stage, "9Gi", "1Gi", 10)
    counts(stage, "8Gi", "1Gi", 15)
    turn = counts(stage, "1Gi", "1Gi", 15)
    assert (turn.action, turn.victims) == ("Wait", [])
    assert "NothingLeftToEvict" not in turn.events
    assert turn.decision is not None
    assert turn.decision.reason.endswith("below the hard threshold 2Gi: counting what fills it")
    assert counts(stage, "512Mi", "8Gi", 35).victims == ["small"]


def test_a_count_that_never_comes_is_not_waited_for() -> None:
    stage = Stage(rules_of(DISK, reclaim_steps=()))
    counts(stage, "9Gi", "1Gi", 10)
    counts(stage, "1Gi", "1Gi", 10)
    assert "NothingLeftToEvict" not in counts(stage, "1Gi", "1Gi", 10, after=29).events
    assert "NothingLeftToEvict" in counts(stage, "1Gi", "1Gi", 10, after=1).events


def test_nobody_is_stopped_for_a_few_lines_of_log_on_a_full_disk() -> None:
    """All that a quiet disk loses is somebody's, and would last for months."""
    stage = Stage(rules_of(DISK, reclaim_steps=()))
    stage.pods = [writer("web", "1Mi")]
    stage.observe(signals={"nodefs.available": "1Gi"})
    stage.pods = [writer("web", "1028Ki")]
    assert stage.observe(signals={"nodefs.available": "1048572Ki"}, after=60).victims == []


def test_what_a_reclaim_gave_back_hides_no_loss() -> None:
    """Outside of every container 3Gi are written, and a reclaim gives 2Gi of them back."""
    stage = Stage(rules_of(DISK, reclaim_steps=("danglingImages",)))
    look(stage, "4Gi", "1Mi")
    (order,) = look(stage, "1Gi", "600Mi").orders
    stage.finish(order, freed_bytes=amount("2Gi"))
    turn = look(stage, "1Gi", "600Mi", after=1)
    assert turn.victims == []
    (event,) = [item for item in turn.event_data if item["reason"] == "NothingLeftToEvict"]
    assert (event["lost"], event["growing"][0]["grown"]) == (amount("5Gi"), amount("599Mi"))


def test_people_are_told_who_grows_and_what_is_in_no_layer_or_log() -> None:
    stage = host()
    look(stage, "4Gi", "1Mi")
    turn = look(stage, "1Gi", "513Mi")
    (event,) = [item for item in turn.event_data if item["reason"] == "NothingLeftToEvict"]
    assert [row["pod"] for row in event["consumers"]] == ["shop/big", "shop/small"]
    assert event["lostUnattributed"] == amount("3Gi") - amount("512Mi")
    grown = {"grown": amount("512Mi"), "seconds": 30, "perSecond": round(amount("512Mi") / 30, 1)}
    assert event["growing"] == [{"pod": "shop/small", **grown}]
    assert event["used"] == amount("15Gi"), "of 16Gi"
    assert event["unattributed"] == amount("15Gi") - amount("9Gi") - amount("513Mi")


def test_signals_of_one_file_system_are_one_crossing() -> None:
    lines = (DISK, "imagefs.available<2Gi")
    stage = Stage(rules_of(*lines, reclaim_steps=()))

    def both(left: str, **sizes: str) -> Turn:
        stage.pods = [writer(name, size) for name, size in sizes.items()]
        signals = {"nodefs.available": left, "imagefs.available": left}
        return stage.observe(signals=signals, after=30)

    both("8Gi", one="1Mi", two="1Mi")
    assert both("1Gi", one="4Gi", two="3Gi").victims == ["one"]
    stage.gone("one")
    stage.answer("one")
    assert both("512Mi", two="4Gi").victims == []
    assert both("256Mi", two="5Gi").victims == []


def test_what_two_signals_say_of_one_disk_is_told_once() -> None:
    stage = Stage(rules_of(DISK, "imagefs.available<2Gi", reclaim_steps=("buildCache",)))
    stage.pods = [writer("web", "1Mi")]
    both = {"nodefs.available": "1Gi", "imagefs.available": "1Gi"}
    turn = stage.observe(signals=both)
    (order,) = turn.orders
    assert turn.events == ["EvictionThresholdMet"]
    stage.finish(order)
    assert stage.observe(signals=both).events == ["ReclaimFinished", "NothingLeftToEvict"]
    turn = stage.observe(signals=both)
    assert (turn.orders, turn.events) == ([], [])


def test_logs_lie_with_the_layers_where_images_have_a_disk_of_their_own() -> None:
    """And nothing that a workload writes, or an engine could give back, on the other one."""
    lines = (DISK, "imagefs.available<2Gi")
    stage = Stage(rules_of(*lines, reclaim_steps=("danglingImages",)))
    stage.layout = Layout(dedicated_image_fs=True)

    def left(nodefs: str, imagefs: str, logs: str) -> Turn:
        stage.pods = [writer("chatty", "1Mi", logs)]
        signals = {"nodefs.available": nodefs, "imagefs.available": imagefs}
        return stage.observe(signals=signals, after=30)

    left("8Gi", "8Gi", "1Mi")
    turn = left("1Gi", "8Gi", "4Gi")
    assert (turn.orders, turn.victims) == ([], [])
    (order,) = left("1Gi", "1Gi", "7Gi").orders
    assert order.signal == "imagefs.available"
    stage.finish(order)
    assert left("1Gi", "1Gi", "8Gi").victims == ["chatty"]


def crossed(mode: Mode = Mode.ACT) -> Stage:
    """`small` has gone for this crossing."""
    stage = host(mode)
    look(stage, "4Gi", "1Mi")
    assert look(stage, "1Gi", "3Gi").victims == ["small"]
    return stage


def growing_on(stage: Stage) -> Iterator[Turn]:
    """Another one fills it faster still."""
    for size, left in (("3000Mi", "900Mi"), ("3300Mi", "600Mi"), ("3600Mi", "300Mi")):
        stage.pods = [writer("big", "9Gi"), writer("other", size)]
        yield stage.observe(signals={"nodefs.available": left}, after=30)


def test_a_restart_of_an_evictor_that_lost_its_word_allows_no_second_stop() -> None:
    """What is down for this crossing is on the bus."""
    stage = crossed()
    stage.gone("small")
    stage.answer("small")
    stage.plan, stage.standing = Plan(), {}
    stopped = Stopped(uid=uid_of("small"), time=stage.now.utc, signal="nodefs.available")
    stage.tell(Fallen(namespace="shop", name="small", stopped=stopped))
    assert all(turn.victims == [] for turn in growing_on(stage))


def test_a_restart_allows_none_though_something_has_started_the_first_again() -> None:
    """A healer took its record off the bus: the evictor's own last word tells it. [law 5]"""
    stage = crossed()
    stage.gone("small")
    stage.answer("small")
    stage.restart()
    for turn in growing_on(stage):
        assert turn.victims == []
        assert turn.decision is not None
        assert turn.decision.relieved["nodefs.available"].name == "small"
    stage.restart()
    assert stage.plan.relieved["nodefs.available"].uid == uid_of("small")


def test_a_restart_amid_its_eviction_allows_none() -> None:
    """The request was made, and the crash came before the Decision that tells it."""
    stage = crossed()
    stage.plan = structs.replace(stage.plan, decision=None)
    stage.restart()
    stage.gone("small")
    stage.answer("small")
    assert all(turn.victims == [] for turn in growing_on(stage))


def test_after_a_restart_a_new_crossing_may_stop_one() -> None:
    """What is remembered ends with the condition."""
    stage = crossed()
    stage.gone("small")
    stage.answer("small")
    stage.restart()
    for size in ("1Gi", "1Gi", "1Gi"):
        stage.pods = [writer("big", "9Gi"), writer("other", size)]
        stage.observe(signals={"nodefs.available": "2500Mi"}, after=200)
    assert "other" in [name for turn in growing_on(stage) for name in turn.victims]


def test_a_writer_that_stayed_is_not_the_one_of_its_crossing_after_a_restart() -> None:
    stage = crossed()
    stage.answer("small", "Failed", "NoFurtherResponder")
    look(stage, "1Gi", "3Gi", after=1)
    stage.restart()
    assert stage.plan.relieved == {}


def test_who_went_in_a_rehearsal_only_keeps_nobody_once_it_is_in_earnest() -> None:
    """The mode is changed with a restart, amid a crossing."""
    stage = crossed(Mode.DRY_RUN)
    stage.rules = structs.replace(stage.rules, mode=Mode.ACT)
    stage.restart()
    assert "other" in [name for turn in growing_on(stage) for name in turn.victims]


def test_a_rehearsal_that_goes_on_names_one_for_each_crossing_too() -> None:
    stage = crossed(Mode.DRY_RUN)
    stage.restart()
    assert all(turn.victims == [] for turn in growing_on(stage))
