"""What a Pressure says in words, and of what its events tell. [contract 3, Pressure, Event]"""

from datetime import timedelta

import pytest
from tests.core.evaluation.node import GI, MEMORY, NODEFS, START, Node, line, only, statuses

from evictd.core.effects import Emit, Publish, Tick, WakeAt
from evictd.core.evaluation import Watch
from evictd.core.rules import HOST
from evictd.core.signals.thresholds import Amount, Threshold
from evictd_schemas import Pressure, SignalReading


def message(pressure: Pressure | None, index: int = 0) -> str:
    assert pressure is not None
    return pressure.conditions[index].message


@pytest.mark.parametrize(("grace", "kind"), [(0, "hard"), (1, "soft")])
@pytest.mark.parametrize("gi", [1, 1.5])
def test_a_line_held_by_its_minimum_reclaim_says_that_it_is_not_yet_beyond(
    grace: float, kind: str, gi: float
) -> None:
    """Equal to the line is beyond the line already. [kubelet-eviction 5]"""
    node = Node(line(MEMORY, 1, grace, reclaim_gi=1))
    node.observe(memory=0.5)
    node.observe(memory=0.5)
    assert message(node.observe(memory=gi)) == (
        f"memory.available is {gi}Gi, not yet beyond the {kind} threshold 1Gi"
        " by the minimum reclaim of 1Gi"
    )


def test_a_condition_that_lingers_says_how_long() -> None:
    node = Node(line(MEMORY, 1), transition=90)
    node.observe(memory=0.5)
    assert message(node.observe(memory=4)) == (
        "no threshold is met any more; the condition stays until that has lasted 90 s"
    )


def test_the_first_line_that_is_met_is_told() -> None:
    node = Node(line(NODEFS, 9), line(MEMORY, 1), line(MEMORY, 3), line(MEMORY, 2))
    pressure = node.observe(memory=1.5, nodefs=1)
    assert message(pressure) == "memory.available is 1.5Gi, below the hard threshold 3Gi"


def test_a_soft_line_that_is_not_due_is_not_fresh_though_its_reading_is_new() -> None:
    """Fresh are only due ones. [kubelet-eviction 4: 12]"""
    node = Node(line(MEMORY, 1, 60))
    status = only(node.observe(memory=0.5))
    assert (status.met, status.due, status.fresh) == (True, False, False)


def test_only_a_reading_of_a_condition_makes_it_known() -> None:
    """A signal that nobody knows is carried and shown, and raises nothing. [contract 3]"""
    reading = SignalReading(available=1, capacity=2)
    unknown = Node().observe(readings={"mood.available": reading, "psi.io.full.avg10": reading})
    assert statuses(unknown) == ["Unknown"] * 3
    assert statuses(Node().observe(nodefs=1)) == ["Unknown", "False", "Unknown"]


def test_an_unknown_condition_changes_at_staleness_only_if_it_was_known() -> None:
    """The time of the last transition stays while the status does. [contract 3, Pressure]"""
    node = Node(line(MEMORY, 1))
    node.observe(10, memory=4, interval=10)
    node.seconds += 30
    stale = node.feed(Tick())
    assert stale is not None
    assert statuses(stale) == ["Unknown"] * 3
    assert [condition.last_transition_time for condition in stale.conditions] == [
        START + timedelta(seconds=seconds) for seconds in (40, 10, 10)
    ]
    assert message(stale) == "no observation for more than 3 intervals of 10 s"


def test_staleness_is_told_once_with_its_figures() -> None:
    node = Node(line(MEMORY, 1))
    before = node.observe(10, memory=4, interval=10)
    node.seconds += 30
    node.feed(Tick())
    (event,) = (effect.event.data for effect in node.asked if isinstance(effect, Emit))
    assert before is not None
    assert event["reason"] == "ObservationStale"
    assert (event["sequence"], event["intervalSeconds"]) == (before.sequence, 10)
    node.seconds += 1
    node.feed(Tick())
    assert node.events == []


def test_a_tick_before_any_observation_asks_for_nothing() -> None:
    node = Node(line(MEMORY, 1))
    assert node.feed(Tick()) is None
    assert (node.watch, node.asked) == (Watch(), ())


def test_staleness_before_the_first_pressure_has_nothing_to_age() -> None:
    """Only the listed observation was seen, and it decides nothing."""
    node = Node(line(MEMORY, 1))
    node.observe(listed=True, memory=0.5, interval=10)
    node.seconds += 30
    node.feed(Tick())
    assert node.watch.stale
    assert [type(effect) for effect in node.asked] == [WakeAt]
    assert not any(isinstance(effect, Publish) for effect in node.asked)


def test_the_recheck_reports_conditions_as_of_the_pass_it_belongs_to() -> None:
    """It changes no condition, even where the period ends meanwhile. [kubelet-eviction 7]"""
    node = Node(line(NODEFS, 1), line(MEMORY, 1), transition=60)
    node.observe(nodefs=4, memory=0.5)
    node.observe(59, nodefs=0.5, memory=4)
    node.reclaimed()
    checked = node.observe(2, nodefs=4, memory=4)
    assert statuses(checked)[:2] == ["True", "True"]
    assert statuses(node.observe(2, nodefs=4, memory=4))[:2] == ["False", "True"]


def test_of_two_hard_lines_ahead_the_nearer_is_in_the_sentence() -> None:
    node = Node(line(MEMORY, 5, 60), line(MEMORY, 3), line(MEMORY, 3.5), profile=HOST)
    for gi in (5.1, 4.6, 4.1):
        pressure = node.observe(2, memory=gi)
    assert "hard threshold 3.5Gi in 2 s: the 58 s left" in message(pressure)


def test_a_soft_line_whose_grace_is_cut_short_is_told_before_others() -> None:
    """Whoever wonders why it is due reads the reason. [field case B13]"""
    node = Node(
        Threshold(signal=MEMORY, value=Amount(quantity=6 * GI, text="6Gi"), sustained_seconds=90),
        line(MEMORY, 5, 60),
        line(MEMORY, 3.5),
        profile=HOST,
    )
    for gi in (5.1, 4.6, 4.1):
        pressure = node.observe(2, memory=gi)
    assert message(pressure).startswith("memory.available is 4.1Gi, below the soft threshold 5Gi;")
