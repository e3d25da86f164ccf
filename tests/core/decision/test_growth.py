"""Disk on a plain host: only who is seen to fill it is stopped, and only one for each crossing."""

from tests.core.decision.stage import Stage, Turn, amount, pod_of, rules_of

from evictd_schemas import ContainerStatistics, FileSystemStatistics, Pod, PodStatistics

DISK = "nodefs.available<2Gi"


def writer(name: str, wrote: str, logs: str = "0") -> Pod:
    """A pod with so much in its writable layer and its logs."""
    entry = ContainerStatistics(
        name="c",
        rootfs=FileSystemStatistics(used_bytes=amount(wrote)),
        logs=FileSystemStatistics(used_bytes=amount(logs)),
    )
    return pod_of(name, stats=PodStatistics(containers=(entry,)))


def host() -> Stage:
    """A host without reclaim steps: `big` holds most and rests, `small` is the one to watch."""
    stage = Stage(rules_of(DISK, reclaim_steps=()))
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
