"""Where a signal falls straight through its soft line to the hard one, no grace is waited for."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.evaluation.node import GI, MEMORY, START, Node, line, only

from evictd.core.evaluation.slope import (
    SAMPLES_MAX,
    STEP_SECONDS_MAX,
    Trail,
    continued,
    fall_per_second,
)
from evictd.core.rules import HOST, KUBELET, Profile
from evictd.core.signals.thresholds import Amount, Part, Threshold
from evictd_schemas import Moment, SignalReading

SOFT, HARD = 5, 3.5
"""GiB: ten times the figures of the field case, so that steps can be told in whole gibibytes."""


def falling(
    *amounts: float,
    grace: float = 15,
    after: float = 2,
    profile: Profile = HOST,
    hard: Threshold | None = None,
    interval: float = 10,
    swap: float | None = None,
) -> list[bool]:
    """Whether the soft line was due at each look."""
    node = Node(line(MEMORY, SOFT, grace), hard or line(MEMORY, HARD), profile=profile)
    signals = {} if swap is None else {"swap": swap}
    return [
        only(node.observe(after, memory=amount, interval=interval, **signals)).due
        for amount in amounts
    ]


def test_a_straight_fall_to_the_hard_line_cuts_the_grace_short() -> None:
    """0.25 GiB a second: at the third look the hard line is 2.4 s away, and 15 s are left."""
    assert falling(5.1, 4.6, 4.1) == [False, False, True]


def test_the_kubelet_waits_for_its_grace() -> None:
    """The switch is one of profile host."""
    assert falling(5.1, 4.6, 4.1, profile=KUBELET) == [False, False, False]


def test_a_fall_that_leaves_time_for_the_grace_changes_nothing() -> None:
    """0.05 GiB a second: the hard line is 20 s away and the grace ends in 14 s."""
    assert falling(4.7, 4.6, 4.5, after=2) == [False, False, False]
    assert falling(4.7, 4.6, 4.5, after=2, grace=25) == [False, False, True]


def test_of_a_grace_that_ends_first_the_end_counts() -> None:
    """At exactly the same moment nothing is gained."""
    assert falling(4.9, 4.8, 4.7, after=2, grace=28) == [False, False, False]
    assert falling(4.9, 4.8, 4.7, after=2, grace=28.1) == [False, False, True]


@pytest.mark.parametrize(
    "amounts",
    [
        (4.9, 4.9, 4.0),  # one fall is a step, not a slope
        (4.9, 4.0, 4.0),  # it has stopped
        (4.9, 4.0, 4.3),  # it comes back
        (4.0, 4.9, 4.0),
    ],
)
def test_one_fall_or_one_that_ended_is_no_slope(amounts: tuple[float, ...]) -> None:
    """Both of the last steps have to tell it."""
    assert falling(*amounts) == [False, False, False]


def test_the_slower_of_the_last_two_falls_counts() -> None:
    """0.02 then 0.4 GiB a second: by the slower one the hard line is 28 s away."""
    assert falling(4.9, 4.86, 4.06, after=2) == [False, False, False]
    assert falling(4.9, 4.86, 4.06, 3.9, after=2) == [False, False, False, True]


def test_after_a_gap_three_observations_are_needed_again() -> None:
    """What happened in between is not known."""
    node = Node(line(MEMORY, SOFT, 60), line(MEMORY, HARD), profile=HOST)
    for amount in (4.9, 4.7):
        node.observe(2, memory=amount, interval=5)
    assert not only(node.observe(16, memory=4.5, interval=5)).due
    assert not only(node.observe(2, memory=4.3, interval=5)).due
    assert only(node.observe(2, memory=4.1, interval=5)).due


def test_after_a_new_boot_three_observations_are_needed_again() -> None:
    """Another life of the machine has another slope."""
    node = Node(line(MEMORY, SOFT, 60), line(MEMORY, HARD), profile=HOST)
    for amount in (4.9, 4.7):
        node.observe(2, memory=amount)
    node.boot = "another"
    assert not only(node.observe(2, memory=4.5)).due
    assert not only(node.observe(2, memory=4.3)).due
    assert only(node.observe(2, memory=4.1)).due


def test_looks_in_quick_succession_make_no_slope() -> None:
    """Four a second: what is asked for in one allocation is not a trend. Once two whole seconds
    have been seen it is one, and stays one between them."""
    amounts = [4.9 - 0.05 * step for step in range(14)]
    assert falling(*amounts, after=0.25) == [False] * 8 + [True] * 6


def test_the_same_reading_again_is_no_news() -> None:
    """Figures of a disk are taken less often than observed."""
    node = Node(line(MEMORY, SOFT, 60), line(MEMORY, HARD), profile=HOST)
    for gi, taken in ((4.9, 0), (4.7, 4), (4.7, 4), (4.5, 8)):
        reading = SignalReading(
            available=int(gi * GI),
            capacity=8 * GI,
            time=START + timedelta(seconds=taken),
        )
        last = only(node.observe(3, readings={MEMORY: reading}))
    assert last.due


COMPOSITE = Threshold(
    signal=MEMORY,
    value=Amount(quantity=int(HARD * GI)),
    any_of=(Part(signal="swap.available", value=Amount(quantity=GI), met_when_absent=True),),
)


def test_what_else_a_hard_line_asks_for_is_taken_as_it_is() -> None:
    """While there is swap the line does not come, however fast memory falls."""
    assert falling(5.1, 4.6, 4.1, hard=COMPOSITE) == [False, False, True]
    assert falling(5.1, 4.6, 4.1, hard=COMPOSITE, swap=0.5) == [False, False, True]
    assert falling(5.1, 4.6, 4.1, hard=COMPOSITE, swap=2) == [False, False, False]


def test_without_a_hard_line_of_the_same_signal_there_is_nothing_to_come_first() -> None:
    """A disk that fills is no reason to hurry about memory."""
    other = line("nodefs.available", 100)
    assert falling(5.1, 4.6, 4.1, hard=other) == [False, False, False]


def test_the_condition_tells_the_figures() -> None:
    """Whoever reads it can check the sum."""
    node = Node(line(MEMORY, SOFT, 15), line(MEMORY, HARD), profile=HOST)
    for amount in (5.0, 4.75, 4.5):
        pressure = node.observe(2, memory=amount)
    assert pressure is not None
    assert pressure.conditions[0].message == (
        "memory.available is 4.5Gi, below the soft threshold 5Gi; it falls by 128Mi a second and "
        "would be below the hard threshold 3.5Gi in 8 s: the 13 s left of the grace are not waited "
        "for"
    )


MOMENTS = st.lists(
    st.tuples(st.floats(0, 2 * STEP_SECONDS_MAX), st.integers(0, 8 * GI)), max_size=20
)


@given(MOMENTS)
def test_a_slope_is_bounded_and_never_steeper_than_what_was_seen(
    story: list[tuple[float, int]],
) -> None:
    """At most so many samples; a fall that is told was seen in each of the last two steps."""
    lines = (line(MEMORY, SOFT, 15), line(MEMORY, HARD))
    trail: Trail = {}
    seconds = 0.0
    node = Node()
    for after, amount in story:
        seconds += after
        moment = Moment(time=node.now.utc, boot_id="boot", uptime_seconds=seconds)
        readings = {MEMORY: SignalReading(available=amount, capacity=8 * GI)}
        trail = continued(trail, lines, readings, moment)
        samples = trail[MEMORY]
        assert len(samples) <= SAMPLES_MAX
        fall = fall_per_second(samples)
        if fall is not None:
            assert len(samples) >= 3
            assert 0 < fall <= samples[0].available - samples[-1].available + 8 * GI
            assert samples[-1].available <= samples[-2].available
