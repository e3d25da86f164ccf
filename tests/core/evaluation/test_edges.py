"""Where one more or one less decides: when to look again, and what a restart takes up."""

from typing import Any

import pytest
from tests.core.evaluation.node import MEMORY, NODEFS, Node, line, only, statuses

from evictd.core.effects import Emit, WakeAt
from evictd.core.evaluation import Recalled, Watch, evaluate
from evictd.core.observations import SILENT_SECONDS
from evictd_schemas import SignalReading


def next_look(node: Node, memory: float, after: float = 10) -> float | None:
    pressure = node.observe(after, memory=memory, interval=10)
    assert pressure is not None
    return pressure.next_observation_seconds


@pytest.mark.parametrize(("memory", "near"), [(1.05, True), (1.2, False)])
def test_near_the_line_one_looks_every_second(memory: float, *, near: bool) -> None:
    look = next_look(Node(line(MEMORY, 1)), memory)
    assert (look is not None and look < 10) is near


def test_while_a_grace_runs_one_looks_when_it_ends() -> None:
    node = Node(line(MEMORY, 1, grace_seconds=8))
    assert next_look(node, 0.9) == 8
    assert next_look(node, 0.9, after=3) == 5


def test_a_fall_is_measured_from_the_last_look_at_the_same_signal() -> None:
    node = Node(line(MEMORY, 1), line(NODEFS, 1))
    node.observe(10, nodefs=7, interval=10)
    first = node.observe(10, memory=7, nodefs=7, interval=10)
    assert first is not None
    assert first.next_observation_seconds == 10


def test_after_a_restart_a_condition_that_was_unknown_lasts_while_its_observation_is_recent() -> (
    None
):
    node = Node(line(MEMORY, 1))
    node.observe(memory=0.5)
    before = node.observe(100, memory=4)
    assert before is not None
    assert statuses(before)[0] == "True"
    node.watch = Watch()
    node.feed(Recalled(pressure=before))
    after = node.observe(10, memory=4)
    assert statuses(after)[0] == "True"


def test_after_a_restart_a_threshold_goes_on_from_when_it_was_first_met() -> None:
    node = Node(line(MEMORY, 1, grace_seconds=60))
    before = node.observe(memory=0.5)
    assert before is not None
    node.watch = Watch()
    node.feed(Recalled(pressure=before))
    assert only(node.observe(61, memory=0.5)).due


def test_a_watch_that_judges_already_takes_nothing_from_an_older_word() -> None:
    node = Node(line(MEMORY, 1))
    older = node.observe(memory=0.5)
    node.observe(400, memory=4)
    assert older is not None
    node.feed(Recalled(pressure=older))
    assert statuses(node.observe(10, memory=4))[0] == "False"


def test_without_any_observation_after_a_restart_silence_is_noticed() -> None:
    node = Node(line(MEMORY, 1))
    before = node.observe(memory=0.5)
    assert before is not None
    _, asked = evaluate(node.rules, Watch(), Recalled(pressure=before), node.now)
    wakes = [effect.boot_seconds for effect in asked if isinstance(effect, WakeAt)]
    assert wakes == [node.seconds + SILENT_SECONDS]


def test_a_signal_at_nothing_at_all_is_met_and_shown_as_nothing() -> None:
    node = Node(line(MEMORY, 1))
    reading = SignalReading(available=0, capacity=8 * 2**30)
    pressure = node.observe(readings={MEMORY: reading})
    assert pressure is not None
    assert only(pressure).available == 0
    assert "0" in pressure.conditions[0].message


def event_data(node: Node, reason: str) -> dict[str, Any]:
    (found,) = (
        effect.event.data
        for effect in node.asked
        if isinstance(effect, Emit) and effect.event.data["reason"] == reason
    )
    return found


def test_an_event_of_a_condition_lists_its_own_thresholds_and_waits_for_no_other_condition() -> (
    None
):
    """Memory is not observed at all; the disk gets short and is told with its line alone."""
    node = Node(line(MEMORY, 1), line(NODEFS, 2))
    node.observe(nodefs=1)
    data = event_data(node, "NodeHasDiskPressure")
    assert [item["signal"] for item in data["thresholds"]] == [NODEFS]
    assert data["thresholds"][0]["met"] is True
