"""Both figures of the same memory stand in every decision about it, and which of them counts."""

import pytest
from msgspec import structs
from tests.core.decision.stage import Stage, amount, rules_of

from evictd.core.rules import Mode
from evictd_schemas import SignalReading

LINE = "memory.available<1Gi"


def reason_of(
    *, kubelet: bool, working_set: str, mem_available: str | None, line: str = LINE
) -> str:
    """What is said about a machine whose memory is seen in two ways."""
    stage = Stage(rules_of(line, kubelet=kubelet, mode=Mode.OBSERVE))
    stage.pod("web", uses="512Mi")
    counting = working_set if kubelet or mem_available is None else mem_available
    judged = stage.judge(counting, signals={"nodefs.available": "10Gi"})
    assert judged is not None
    views = {"working_set": amount(working_set)}
    if mem_available is not None:
        views["mem_available"] = amount(mem_available)
    memory = SignalReading(available=amount(working_set), capacity=amount("16Gi"), views=views)
    signals = {**judged.observation.signals, "memory.available": memory}
    observation = structs.replace(judged.observation, signals=signals)
    decision = stage.tell(structs.replace(judged, observation=observation)).decision
    assert decision is not None
    return decision.reason


@pytest.mark.parametrize(
    ("kubelet", "counts", "other"),
    [
        (False, "6Gi (mem_available) counts", "512Mi (working_set) does not"),
        (True, "512Mi (working_set) counts", "6Gi (mem_available) does not"),
    ],
)
def test_the_reason_names_both_views(kubelet: bool, counts: str, other: str) -> None:
    reason = reason_of(kubelet=kubelet, working_set="512Mi", mem_available="6Gi")
    assert reason.endswith(f"; of memory.available {counts}, {other}: 5.5Gi are file cache")


def test_a_kernel_that_counts_less_is_not_said_to_cache() -> None:
    """It keeps some of what no working set holds."""
    reason = reason_of(kubelet=False, working_set="4Gi", mem_available="3Gi")
    assert reason == (
        "nothing is short; of memory.available 3Gi (mem_available) counts,"
        " 4Gi (working_set) does not"
    )


def test_one_view_needs_no_words() -> None:
    reason = reason_of(kubelet=False, working_set="4Gi", mem_available=None)
    assert reason == "nothing is short"


def test_views_that_agree_need_no_words() -> None:
    reason = reason_of(kubelet=False, working_set="4Gi", mem_available="4Gi")
    assert reason == "nothing is short"


def test_a_decision_about_a_disk_does_not_speak_of_memory() -> None:
    reason = reason_of(
        kubelet=False, working_set="512Mi", mem_available="6Gi", line="nodefs.available<12Gi"
    )
    assert "memory" not in reason
