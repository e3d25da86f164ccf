"""Where one more or one less decides: bounds of texts, identity of values, order of thresholds."""

import pytest

from evictd.core.signals import durations, quantities
from evictd.core.signals.quantities import QuantityError, QuantityFault
from evictd.core.signals.summary import has_dedicated_image_fs, notifier_refresh_due
from evictd.core.signals.threshold_settings import Fault, line_of, value_of
from evictd.core.signals.thresholds import (
    Amount,
    Share,
    Threshold,
    Value,
    acting,
    by_priority,
    identity,
    merged,
)


def line(text: str) -> Value:
    value = line_of(text)
    assert value is not None
    assert not isinstance(value, Fault)
    return value


def memory(text: str, grace_seconds: float = 0) -> Threshold:
    return Threshold(signal="memory.available", value=line(text), grace_seconds=grace_seconds)


def test_the_greatest_and_the_least_of_the_same_values_are_different_lines() -> None:
    greatest, least = memory("max(5%,100Mi)"), memory("min(5%,100Mi)")
    assert identity(greatest) != identity(least)
    assert identity(greatest) == identity(memory("max(5%,100Mi)"))
    assert identity(greatest) != identity(memory("max(5%,200Mi)"))
    assert merged((greatest,), (least, greatest)) == (greatest, least)


def test_hard_comes_before_soft_whatever_the_order_given() -> None:
    soft, hard = memory("2Gi", grace_seconds=30), memory("1Gi")
    assert by_priority((soft, hard)) == (hard, soft)
    assert acting((soft, hard)) == hard


def test_a_hundred_per_cent_written_otherwise_is_still_a_share() -> None:
    assert isinstance(value_of("100.0%"), Share)
    assert value_of("100.1%") is Fault.PERCENTAGE_ABOVE_100


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1e2147483648", QuantityFault.SUFFIX),
        ("1e-2147483649", QuantityFault.SUFFIX),
        ("1e2147483647", QuantityFault.NUMERIC),
        ("1e-2147483648", QuantityFault.NUMERIC),
        ("0" * 513, QuantityFault.NUMERIC),
        ("e-10", QuantityFault.NUMERIC),
    ],
)
def test_a_quantity_that_cannot_be_is_told_by_its_kind(text: str, fault: QuantityFault) -> None:
    with pytest.raises(QuantityError) as caught:
        quantities.parse(text)
    assert caught.value.fault is fault


def test_a_quantity_may_be_as_long_as_its_bound() -> None:
    assert quantities.parse("0" * 512).exact == 0
    assert quantities.parse("n").exact == 0


def test_whole_kibibytes_begin_at_1024() -> None:
    assert [quantities.canonical(n, quantities.Format.BINARY) for n in (1023, 1024, -1024)] == [
        "1023",
        "1Ki",
        "-1Ki",
    ]


def test_decimal_places_count_towards_the_power() -> None:
    assert quantities.parse("1.5").text == "1500m"
    assert quantities.parse("1.500").text == "1.500"
    assert quantities.parse("1.5e1").text == "1.5e1"
    assert quantities.parse("1.5e2").text == "150"


def test_the_longest_duration_is_one() -> None:
    assert durations.parse_nanoseconds("9223372036854775807ns") == 2**63 - 1
    with pytest.raises(durations.DurationError):
        durations.parse_nanoseconds("9223372036854775808ns")


def test_images_on_another_device_have_a_file_system_of_their_own() -> None:
    assert has_dedicated_image_fs("8:1", "8:2", None, None)
    assert not has_dedicated_image_fs("8:1", "8:1", None, None)


@pytest.mark.parametrize(("now", "due"), [(105.0, False), (110.0, False), (110.1, True)])
def test_notifiers_are_armed_anew_after_more_than_ten_seconds(now: float, *, due: bool) -> None:
    assert notifier_refresh_due(100.0, now) is due


def test_a_line_of_no_known_signal_is_never_acted_on() -> None:
    unknown = Threshold(signal="gpu.available", value=Amount(quantity=1))
    assert acting((unknown,)) is None
