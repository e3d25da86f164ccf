"""Thresholds: what raising a line may do, identity, order, settings and layouts."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.signals.layouts import (
    Shape,
    parts_measured,
    reclaim_steps,
    shape_of,
    with_containerfs,
)
from evictd.core.signals.names import KUBELET_SIGNALS, SIGNALS, in_bytes
from evictd.core.signals.threshold_settings import Fault, FlagError, flag_map, thresholds_of
from evictd.core.signals.thresholds import (
    Amount,
    Judge,
    Largest,
    Share,
    Smallest,
    Threshold,
    acting,
    by_priority,
    identity,
    merged,
    value_text,
)
from evictd_schemas import Layout, SignalReading

MEMORY = "memory.available"
CAPACITY = 2**40
KUBELET, HOST = Judge(single_precision=True), Judge(single_precision=False)

AMOUNTS = st.integers(0, CAPACITY).map(lambda amount: Amount(quantity=amount))
SHARES = st.floats(0, 100).map(lambda percent: Share(fraction=percent / 100, percent=percent))
VALUES = st.one_of(AMOUNTS, SHARES)
READINGS = st.integers(-CAPACITY, CAPACITY).map(
    lambda available: SignalReading(available=available, capacity=CAPACITY)
)
LINES = st.builds(
    Threshold,
    signal=st.sampled_from(sorted(SIGNALS)),
    value=VALUES,
    grace_seconds=st.sampled_from([0.0, 30.0, 60.0]),
    minimum_reclaim=st.none() | AMOUNTS,
)


def line(value: Any, reclaim: Any = None) -> Threshold:
    return Threshold(signal=MEMORY, value=value, minimum_reclaim=reclaim)


@given(VALUES, VALUES, READINGS, st.sampled_from([KUBELET, HOST]))
def test_raising_a_line_never_unmeets_it(
    one: Any, other: Any, reading: SignalReading, judge: Judge
) -> None:
    low, high = sorted((one, other), key=lambda value: judge.absolute(value, CAPACITY))
    if judge.meets(line(low), {MEMORY: reading}, reclaim=False):
        assert judge.meets(line(high), {MEMORY: reading}, reclaim=False)


@given(VALUES, AMOUNTS, READINGS)
def test_minimum_reclaim_only_adds(value: Any, reclaim: Any, reading: SignalReading) -> None:
    threshold = line(value, reclaim)
    if KUBELET.meets(threshold, {MEMORY: reading}, reclaim=False):
        assert KUBELET.meets(threshold, {MEMORY: reading}, reclaim=True)


@given(st.lists(VALUES, min_size=1, max_size=4), READINGS)
def test_the_largest_is_met_when_any_is_and_the_smallest_when_all_are(
    values: list[Any], reading: SignalReading
) -> None:
    readings = {MEMORY: reading}
    met = [KUBELET.meets(line(value), readings, reclaim=False) for value in values]
    assert KUBELET.meets(line(Largest(of=tuple(values))), readings, reclaim=False) is any(met)
    assert KUBELET.meets(line(Smallest(of=tuple(values))), readings, reclaim=False) is all(met)


@given(st.lists(LINES, max_size=6), st.lists(LINES, max_size=6))
def test_merging_keeps_the_first_list_and_repeats_nothing_of_it(
    first: list[Threshold], second: list[Threshold]
) -> None:
    both = merged(first, second)
    assert both[: len(first)] == tuple(first)
    assert {identity(item) for item in both} == {identity(item) for item in first + second}
    assert merged(both, second) == both


@given(st.lists(LINES, max_size=8))
def test_memory_comes_first_and_hard_before_soft(thresholds: list[Threshold]) -> None:
    ordered = by_priority(thresholds)
    assert sorted(map(repr, ordered)) == sorted(map(repr, thresholds))
    memory = [SIGNALS[item.signal].condition == "MemoryPressure" for item in ordered]
    assert memory == sorted(memory, reverse=True)
    first = acting(thresholds)
    assert first is None or SIGNALS[first.signal].resource is not None


def test_percentages_are_cut_in_the_arithmetic_of_the_profile() -> None:
    share = Share(fraction=0.10000000149011612, percent=10)
    assert KUBELET.absolute(share, 1048576000) == 104857601
    assert HOST.absolute(share, 1048576000) == 104857600


def test_a_share_that_is_no_number_is_never_met() -> None:
    never = line(Share(fraction=float("nan")))
    reading = SignalReading(available=-(2**62), capacity=2**62)
    assert not KUBELET.meets(never, {MEMORY: reading}, reclaim=False)


def test_an_amount_is_compared_exactly() -> None:
    reading = SignalReading(available=1, capacity=10)
    half = Amount(quantity=Fraction(1, 2))
    assert not KUBELET.meets(line(half, half), {MEMORY: reading}, reclaim=True)
    assert KUBELET.meets(line(Amount(quantity=Fraction(3, 2))), {MEMORY: reading}, reclaim=False)


def test_values_are_shown_as_typed_else_in_the_unit_of_the_signal() -> None:
    assert value_text(Amount(quantity=2**29, text="0.5Gi"), MEMORY) == "0.5Gi"
    assert value_text(Amount(quantity=2**29), MEMORY) == "512Mi"
    assert value_text(Amount(quantity=2000), "pid.available") == "2k"
    assert value_text(Share(fraction=0.1), MEMORY) == "10%"
    both = Largest(of=(Share(fraction=0.05), Amount(quantity=100 * 2**20)))
    assert value_text(both, MEMORY) == "max(5%,100Mi)"


def test_every_problem_is_told_with_its_place_in_the_kubelets_order() -> None:
    _, problems = thresholds_of(
        {"mem.available": "1Gi", MEMORY: "-1"},
        {"nodefs.available": "5%", "pid.available": "150%"},
        {"imagefs.available": "90", "cpu": "1s"},
        {"nodefs.available": "0%"},
    )
    assert [(problem.path, problem.code) for problem in problems] == [
        (("evictionHard", "mem.available"), Fault.UNSUPPORTED_SIGNAL),
        (("evictionHard", MEMORY), Fault.NON_POSITIVE_QUANTITY),
        (("evictionSoft", "pid.available"), Fault.PERCENTAGE_ABOVE_100),
        (("evictionSoftGracePeriod", "imagefs.available"), Fault.MALFORMED_DURATION),
        (("evictionSoftGracePeriod", "cpu"), Fault.UNSUPPORTED_SIGNAL),
        (("evictionMinimumReclaim", "nodefs.available"), Fault.NON_POSITIVE_RECLAIM_PERCENTAGE),
        (("evictionSoft", "nodefs.available"), Fault.MISSING_GRACE_PERIOD),
    ]


def test_a_malformed_grace_is_told_once() -> None:
    _, problems = thresholds_of({}, {MEMORY: "1Gi"}, {MEMORY: "soon"}, {})
    assert [problem.code for problem in problems] == [Fault.MALFORMED_DURATION]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("max(5%,100Mi)", 100 * 2**20),
        ("max(50%, 1Ki)", 2**29),
        ("min(10%,20Gi)", 107374182),
        ("min(100Mi)", 100 * 2**20),
    ],
)
def test_a_plain_host_may_take_the_greatest_or_the_least_of_several(text: str, amount: int) -> None:
    (threshold,), problems = thresholds_of({MEMORY: text}, {}, {}, {}, expressions=True)
    assert problems == ()
    assert HOST.absolute(threshold.value, 2**30) == amount
    assert value_text(threshold.value, MEMORY) == text
    assert thresholds_of({MEMORY: text}, {}, {}, {})[1][0].code is Fault.MALFORMED_QUANTITY


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("max()", Fault.MALFORMED_QUANTITY),
        ("max(5%,)", Fault.MALFORMED_QUANTITY),
        ("max(5%,0)", Fault.NON_POSITIVE_QUANTITY),
        ("max(5%,max(1,2))", Fault.MALFORMED_QUANTITY),
        ("min(500%,1Gi)", Fault.PERCENTAGE_ABOVE_100),
        ("avg(5%,1Gi)", Fault.MALFORMED_QUANTITY),
    ],
)
def test_a_wrong_expression_is_refused(text: str, fault: Fault) -> None:
    problems = thresholds_of({MEMORY: text}, {}, {}, {}, expressions=True)[1]
    assert [problem.code for problem in problems] == [fault]


def test_signals_of_ours_are_known_unless_only_the_kubelets_are() -> None:
    settings = {"swap.available": "10%"}
    assert thresholds_of(settings, {}, {}, {})[1] == ()
    assert thresholds_of(settings, {}, {}, {}, signals=KUBELET_SIGNALS)[1]


@given(st.text(max_size=10), st.sampled_from([0, 1, 2, 3]))
def test_no_text_of_a_setting_breaks_the_reading(text: str, place: int) -> None:
    maps: list[dict[str, str]] = [{}, {}, {}, {}]
    maps[place] = {MEMORY: text}
    thresholds, problems = thresholds_of(maps[0], maps[1], maps[2], maps[3])
    assert len(problems) <= 1
    assert problems or len(thresholds) <= 1


def test_the_first_use_of_a_flag_discards_what_was_there() -> None:
    assert flag_map({"a": "1"}, [], "<") == {"a": "1"}
    assert flag_map({"a": "1"}, ["b<2", " c < 3 ,"], "<") == {"b": "2", "c": "3"}
    with pytest.raises(FlagError):
        flag_map({}, ["a=1"], "<")


@pytest.mark.parametrize(
    ("image", "container", "shape"),
    [
        (False, False, Shape.SINGLE),
        (True, False, Shape.DEDICATED_IMAGE_FS),
        (True, True, Shape.SPLIT),
        (False, True, Shape.UNSPLIT),
    ],
)
def test_every_layout_has_a_row_in_both_tables(image: bool, container: bool, shape: Shape) -> None:
    layout = Layout(dedicated_image_fs=image, dedicated_container_fs=container)
    assert shape_of(layout) is shape
    assert set(reclaim_steps(layout)) == set(parts_measured(layout))
    assert len(reclaim_steps(layout)) == 6


@given(st.lists(LINES, max_size=8), st.booleans(), st.booleans())
def test_deriving_twice_gives_the_same(
    thresholds: list[Threshold], image: bool, container: bool
) -> None:
    layout = Layout(dedicated_image_fs=image, dedicated_container_fs=container)
    once = with_containerfs(tuple(thresholds), layout).thresholds
    assert with_containerfs(once, layout).thresholds == once


def test_only_memory_and_space_are_in_bytes() -> None:
    assert {name for name in SIGNALS if in_bytes(name)} == {
        "memory.available",
        "allocatableMemory.available",
        "nodefs.available",
        "imagefs.available",
        "containerfs.available",
        "swap.available",
    }
