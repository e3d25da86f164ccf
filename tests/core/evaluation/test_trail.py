"""The samples that a slope is read from, and the sum that is made with it. [field case B13]"""

from datetime import timedelta

import pytest
from tests.core.evaluation.node import GI, MEMORY, NODEFS, START, Node, line, only

from evictd.core.evaluation.slope import (
    SAMPLES_MAX,
    STEP_SECONDS_MAX,
    Foresight,
    Sample,
    Trail,
    continued,
    fall_per_second,
    foreseen,
)
from evictd.core.rules import HOST
from evictd.core.signals.thresholds import Amount, Judge, Threshold
from evictd_schemas import Moment, SignalReading

SOFT, HARD = line(MEMORY, 5, 60), line(MEMORY, 3.5)


def at(seconds: float) -> Moment:
    return Moment(time=START + timedelta(seconds=seconds), boot_id="boot", uptime_seconds=seconds)


def reading(gi: float, seconds: float | None = None) -> SignalReading:
    time = None if seconds is None else START + timedelta(seconds=seconds)
    return SignalReading(available=int(gi * GI), capacity=8 * GI, time=time)


def trail_of(*looks: tuple[float, float]) -> tuple[Sample, ...]:
    """The samples after looks of so many gibibytes, each at its second."""
    trail: Trail = {}
    for seconds, gi in looks:
        trail = continued(trail, (SOFT, HARD), {MEMORY: reading(gi)}, at(seconds))
    return trail[MEMORY]


def ahead(
    *lines: Threshold, newest: float = 4, soft: Threshold = SOFT, rest: float = 60
) -> Foresight | None:
    """What is foreseen where memory has fallen by a gibibyte in each of two steps of 8 s."""
    samples = trail_of((0, newest + 2), (8, newest + 1), (16, newest))
    return foreseen(
        Judge(),
        soft,
        lines,
        readings={MEMORY: reading(newest)},
        samples=samples,
        rest_seconds=rest,
    )


@pytest.mark.parametrize(
    ("lines", "kept"),
    [((SOFT, HARD), [MEMORY]), ((SOFT,), []), ((HARD,), []), ((SOFT, line(NODEFS, 1)), [])],
)
def test_samples_are_kept_of_signals_with_both_kinds_of_line(
    lines: tuple[Threshold, ...], kept: list[str]
) -> None:
    """No other grace could be cut short."""
    readings = {MEMORY: reading(4), NODEFS: reading(4)}
    assert list(continued({}, lines, readings, at(0))) == kept


def test_a_signal_without_a_reading_leaves_no_samples() -> None:
    """It begins anew when it comes back."""
    trail = continued({}, (SOFT, HARD), {MEMORY: reading(4)}, at(0))
    assert continued(trail, (SOFT, HARD), {}, at(5)) == {}


def test_a_step_of_one_second_counts() -> None:
    assert fall_per_second(trail_of((0, 5), (1, 4.5), (2, 4))) == GI / 2


def test_a_fall_of_less_than_one_a_second_is_a_fall() -> None:
    """Of process ids one in four seconds may be much."""
    trail: Trail = {}
    for seconds, count in ((0, 12), (4, 11), (8, 10)):
        readings = {MEMORY: SignalReading(available=count, capacity=100)}
        trail = continued(trail, (SOFT, HARD), readings, at(seconds))
    assert fall_per_second(trail[MEMORY]) == 0.25


def test_two_samples_are_one_step_and_no_slope() -> None:
    assert fall_per_second(trail_of((0, 5), (2, 4))) is None
    assert fall_per_second(trail_of((0, 5))) is None
    assert fall_per_second(()) is None


@pytest.mark.parametrize(("gi", "fall"), [(3.9, GI / 2), (4, GI / 2), (4.1, None)])
def test_a_sample_that_is_too_young_ends_a_fall_only_by_rising(gi: float, fall: float) -> None:
    """Between two whole steps the slope stays, unless the signal turns."""
    assert fall_per_second(trail_of((0, 5), (1, 4.5), (2, 4), (2.5, gi))) == fall


def test_a_sample_that_is_too_young_gives_its_place_to_the_next() -> None:
    """So a whole step is reached at last, however often one looks."""
    samples = trail_of((0, 5), (0.5, 4.75), (1, 4.5))
    assert [sample.at.uptime_seconds for sample in samples] == [0, 1]
    samples = trail_of((0, 5), (1, 4.5), (1.5, 4.25), (1.75, 4.2))
    assert [sample.at.uptime_seconds for sample in samples] == [0, 1, 1.75]


def test_a_sample_of_a_whole_step_keeps_its_place() -> None:
    samples = trail_of((0, 5), (1, 4.5), (2, 4))
    assert [sample.at.uptime_seconds for sample in samples] == [0, 1, 2]


def test_the_oldest_samples_go_first() -> None:
    samples = trail_of(*((2.0 * look, 5.0) for look in range(9)))
    assert len(samples) == SAMPLES_MAX
    assert samples[-1].at.uptime_seconds == 16


@pytest.mark.parametrize(("step", "count"), [(STEP_SECONDS_MAX, 2), (STEP_SECONDS_MAX + 1, 1)])
def test_a_step_of_more_than_three_intervals_begins_anew(step: float, count: int) -> None:
    assert len(trail_of((0, 5), (step, 4))) == count


def test_no_time_between_two_readings_begins_anew() -> None:
    """A clock that stands still tells no slope."""
    assert [sample.available for sample in trail_of((0, 5), (0, 4))] == [4 * GI]


def test_a_reading_of_the_same_time_is_no_sample_and_one_without_a_time_is() -> None:
    trail: Trail = {}
    for seconds, taken in ((0, 0.0), (2, 0.0), (4, 4.0)):
        trail = continued(trail, (SOFT, HARD), {MEMORY: reading(4, taken)}, at(seconds))
    assert [sample.at.uptime_seconds for sample in trail[MEMORY]] == [0, 4]
    assert len(trail_of((0, 5), (2, 5), (4, 5))) == 3


def test_the_distance_over_the_fall_is_when_the_line_comes() -> None:
    """Half a gibibyte above it, an eighth of one a second."""
    found = ahead(HARD)
    assert found is not None
    assert (found.seconds, found.fall_per_second, found.rest_seconds) == (4, GI / 8, 60)


def test_of_several_hard_lines_the_one_that_comes_first_is_told() -> None:
    found = ahead(line(MEMORY, 3), HARD, line(MEMORY, 2))
    assert found is not None
    assert found.hard == HARD


def test_a_line_that_has_to_be_sustained_comes_so_much_later() -> None:
    sustained = Threshold(signal=MEMORY, value=Amount(quantity=int(3.5 * GI)), sustained_seconds=10)
    found = ahead(sustained)
    assert found is not None
    assert found.seconds == 14
    assert ahead(sustained, rest=14) is None
    assert ahead(sustained, rest=14.1) is not None


def test_a_line_that_is_crossed_already_is_at_no_distance() -> None:
    """Only how long it has to be sustained is left."""
    sustained = Threshold(signal=MEMORY, value=Amount(quantity=5 * GI), sustained_seconds=10)
    found = ahead(sustained)
    assert found is not None
    assert found.seconds == 10


def test_neither_a_soft_line_nor_one_of_another_signal_is_foreseen() -> None:
    assert ahead(line(MEMORY, 3.5, 10), line(NODEFS, 3.5)) is None


def test_the_time_of_a_sustained_hard_line_is_never_cut_short() -> None:
    """There is nothing gentler than what comes: no grace is lost. [field case B13]"""
    sustained = Threshold(signal=MEMORY, value=Amount(quantity=5 * GI), sustained_seconds=30)
    assert ahead(HARD, soft=sustained, rest=30) is None
    node = Node(sustained, HARD, SOFT, profile=HOST)
    for gi in (4.9, 4.7, 4.5):
        pressure = node.observe(2, memory=gi)
    assert [only(pressure, index).due for index in (0, 1, 2)] == [False, False, True]


def test_where_no_grace_is_left_nothing_is_foreseen() -> None:
    """It is due by itself."""
    assert ahead(line(MEMORY, 4), rest=0) is None
    assert ahead(line(MEMORY, 4.5), rest=-5) is None
