"""When the collector is asked to look again: the nearer a line, the sooner. [contract 3]"""

from datetime import timedelta

import pytest
from tests.core.evaluation.node import GI, MEMORY, NODEFS, START, Node, line

from evictd.core.evaluation import Observed
from evictd.core.evaluation.cadence import PATIENT_SECONDS, SOONEST_SECONDS, URGENT_SECONDS
from evictd.core.signals.thresholds import Amount, Part, Threshold
from evictd_schemas import Observation, SignalReading


def look(node: Node, after: float, gi: float, interval: float | None = 10) -> float | None:
    pressure = node.observe(after, memory=gi, interval=interval)
    assert pressure is not None
    return pressure.next_observation_seconds


def test_a_fall_asks_for_a_second_look_before_its_line() -> None:
    """1 GiB in 4 s, 3 GiB above it: 12 s, two looks."""
    node = Node(line(MEMORY, 1))
    look(node, 4, 5)
    assert look(node, 4, 4) == 6


@pytest.mark.parametrize(("after", "wish"), [(0.5, 0.75), (0.125, SOONEST_SECONDS)])
def test_a_fall_between_two_quick_looks_counts(after: float, wish: float) -> None:
    """It is only asked for, not acted upon; and never more often than four times a second."""
    node = Node(line(MEMORY, 1))
    look(node, 4, 5)
    assert look(node, after, 4) == wish


def test_a_fall_by_a_single_process_counts() -> None:
    """Two process ids above the line, one gone since: two seconds to it at one a second."""
    node = Node(Threshold(signal="pid.available", value=Amount(quantity=10)))
    for after, available in ((1, 13), (1, 12)):
        reading = SignalReading(available=available, capacity=100)
        pressure = node.observe(after, readings={"pid.available": reading}, interval=10)
    assert pressure is not None
    assert pressure.next_observation_seconds == 1


@pytest.mark.parametrize("gi", [5, 6])
def test_what_does_not_fall_asks_for_nothing(gi: float) -> None:
    node = Node(line(MEMORY, 1))
    assert look(node, 4, 5, None) is None
    assert look(node, 4, gi, None) is None


def test_a_fall_without_any_time_in_between_asks_for_nothing() -> None:
    """A clock that stands still, under a sequence that goes on, tells no slope."""
    node = Node(line(MEMORY, 1))
    look(node, 4, 5)
    again = Observation(
        node="edge",
        time=START + timedelta(seconds=4),
        sequence=10**15,
        boot_id="boot",
        uptime_seconds=4,
        interval_seconds=10,
        signals={MEMORY: SignalReading(available=4 * GI, capacity=8 * GI)},
    )
    pressure = node.feed(Observed(observation=again))
    assert pressure is not None
    assert pressure.next_observation_seconds == 10


def test_a_line_without_a_reading_asks_for_nothing() -> None:
    assert look(Node(line(NODEFS, 1)), 4, 5, None) is None


def test_half_a_second_before_a_grace_ends_the_look_is_in_half_a_second() -> None:
    node = Node(line(MEMORY, 1, 10))
    look(node, 4, 0.5)
    assert look(node, 9.5, 0.5) == 0.5
    assert look(node, 0.5, 0.5) == SOONEST_SECONDS


@pytest.mark.parametrize("grace", [0, 30])
def test_a_minute_after_a_line_was_crossed_or_its_grace_over_looks_are_patient(
    grace: float,
) -> None:
    """What could be done has been asked for by then."""
    node = Node(line(MEMORY, 1, grace))
    look(node, 4, 0.5, None)
    assert look(node, grace + URGENT_SECONDS - 0.5, 0.5, None) == SOONEST_SECONDS
    assert look(node, 0.5, 0.5, None) == PATIENT_SECONDS


def test_near_a_line_one_looks_every_second_even_at_nothing_at_all() -> None:
    """Below it, and kept from being met by another signal alone."""
    part = Part(signal="nodefs.available", value=Amount(quantity=GI))
    node = Node(Threshold(signal=MEMORY, value=Amount(quantity=GI), all_of=(part,)))
    assert look(node, 4, 0) == PATIENT_SECONDS
