"""A figure that is less than exact says so wherever somebody is judged by it."""

import pytest
from tests.core.decision.stage import Stage, rules_of

from evictd_schemas import MemoryStatistics, PodStatistics, ProcessStatistics

MIB = 1 << 20


def why(signal: str, **marks: bool) -> str:
    """What a pass says of a pod whose memory was told with these marks."""
    stage = Stage(rules_of(f"{signal}<1Gi"))
    memory = MemoryStatistics(working_set_bytes=512 * MIB, **marks)
    stage.pod("web", stats=PodStatistics(memory=memory))
    decision = stage.observe(signals={signal: "512Mi"}).decision
    assert decision is not None
    return decision.ranking[0].why


@pytest.mark.parametrize(
    ("marks", "doubt"),
    [
        ({"includes_cache": True}, "; file cache is included in that"),
        ({"estimated": True}, "; that is a sum over its processes"),
        ({}, ""),
    ],
)
def test_the_decision_says_what_is_doubtful_about_a_figure_of_memory(
    marks: dict[str, bool], doubt: str
) -> None:
    """Podman's statistics do not tell file pages apart; without accounting processes are summed."""
    expected = f"uses 512Mi and asked for none{doubt}; priority 0"
    assert why("memory.available", **marks) == expected


def test_statistics_without_a_word_on_memory_are_none_on_a_host() -> None:
    """A kernel that keeps no account of memory still counts processes; absent is not zero."""
    stage = Stage(rules_of("memory.available<1Gi"))
    stage.pod("web", stats=PodStatistics(process_stats=ProcessStatistics(process_count=7)))
    stage.pod("small", uses="1Mi")
    decision = stage.observe("512Mi").decision
    assert decision is not None
    small, web = decision.ranking
    assert (small.pod.name, web.pod.name) == ("small", "web")
    assert web.why.startswith("has no statistics, which goes last")


def test_where_memory_is_not_what_is_short_nothing_is_said_of_it() -> None:
    assert "cache" not in why("nodefs.available", includes_cache=True)
