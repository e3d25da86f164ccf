"""What holds of the evaluation whatever is observed."""

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.core.evaluation.node import MEMORY, START, Node, line, statuses

from evictd.core.evaluation import Recalled, Watch
from evictd.core.signals.thresholds import Threshold
from evictd_schemas import Pressure

LOOKS = st.lists(
    st.tuples(st.sampled_from([0.5, 1, 1.5, 2, 2.5, 5]), st.sampled_from([0.25, 10, 30, 61, 400])),
    min_size=1,
    max_size=12,
)
LINES: Sequence[Threshold] = (line(MEMORY, 1, reclaim_gi=0.7), line(MEMORY, 2, grace_seconds=60))


def _shown(pressure: Pressure | None) -> Any:
    assert pressure is not None
    return msgspec.structs.replace(pressure, time=START)


@given(LOOKS, st.data())
def test_a_restart_between_any_two_passes_changes_nothing(
    looks: list[tuple[float, float]], data: st.DataObject
) -> None:
    """The Pressure carries all that is needed to go on, gaps and minimum reclaim included."""
    interval = data.draw(st.sampled_from([None, 10.0]))
    at = data.draw(st.integers(0, len(looks) - 1))
    steady, restarted = Node(*LINES), Node(*LINES)
    for index, (gi, after) in enumerate(looks):
        one = steady.observe(after, memory=gi, interval=interval)
        other = restarted.observe(after, memory=gi, interval=interval)
        assert _shown(one) == _shown(other)
        assert steady.events == restarted.events
        if index == at and other is not None:
            travelled = msgspec.json.decode(msgspec.json.encode(other), type=Pressure)
            restarted.watch = Watch()
            restarted.feed(Recalled(pressure=travelled))


@given(LOOKS)
def test_due_is_met_and_fresh_is_due(looks: list[tuple[float, float]]) -> None:
    node = Node(*LINES)
    for gi, after in looks:
        pressure = node.observe(after, memory=gi)
        assert pressure is not None
        for status in pressure.thresholds:
            assert status.met or not status.due
            assert status.due or not status.fresh
            assert (status.first_observed is not None) is status.met
        raised = any(status.met for status in pressure.thresholds)
        assert not raised or statuses(pressure)[0] == "True"


@given(LOOKS)
def test_events_alternate(looks: list[tuple[float, float]]) -> None:
    """Insufficient, sufficient, insufficient, and never the same twice."""
    node = Node(*LINES)
    told: list[str] = []
    for gi, after in looks:
        node.observe(after, memory=gi)
        told += node.events
    names = ["NodeHasInsufficientMemory", "NodeHasSufficientMemory"]
    assert told == [names[index % 2] for index in range(len(told))]
