"""Quantities, percentages and durations: properties, and the odd texts that people type."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.signals import durations, percentages, quantities
from evictd.core.signals.quantities import Format, QuantityFault, canonical, parse

AMOUNTS = st.integers(-(2**63) + 1, 2**63 - 1)
NANOS = st.integers(-(10**27), 10**27).map(lambda nanos: Fraction(nanos, 10**9))


@given(AMOUNTS, st.sampled_from(list(Format)))
def test_what_is_written_is_read_back(amount: int, form: Format) -> None:
    if amount % 10**21 == 0 and amount:
        return
    assert parse(canonical(amount, form)).exact == amount


@given(NANOS)
def test_fractions_are_written_exactly(exact: Fraction) -> None:
    if exact and exact % 10**21 == 0:
        return  # loses its suffix
    assert parse(canonical(exact, Format.DECIMAL)).exact == exact
    assert Fraction(quantities.exact_text(exact)) == exact


@given(st.text("0123456789.eEkKMGTPimnu+-", max_size=8))
def test_every_text_is_a_quantity_or_has_a_fault(text: str) -> None:
    try:
        quantity = parse(text)
    except quantities.QuantityError as error:
        assert error.fault in set(QuantityFault)  # noqa: PT017 - both outcomes are right
    else:
        assert parse(quantity.canonical or "0").exact in (quantity.exact, quantity.value) or (
            quantity.exact % 10**21 == 0
        )


@given(AMOUNTS)
def test_a_value_is_away_from_zero_by_less_than_one(amount: int) -> None:
    exact = Fraction(amount, 7)
    rounded = quantities.round_away(exact)
    assert abs(exact) <= abs(rounded) < abs(exact) + 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "format"),
        ("1e3Ki", "format"),
        ("2T3E1", "format"),
        ("5e+0i", "format"),
        ("1.2.3", "format"),
        ("1_000", "format"),
        ("1 Gi", "format"),
        ("1Gi\n", "format"),
        ("٣", "format"),
        ("1Ki1", "suffix"),
        ("5-", "suffix"),
        ("--5", "suffix"),
        ("1K", "suffix"),
        ("1ki", "suffix"),
        ("1e", "suffix"),
        ("1e99999999999", "suffix"),
        ("Pi", "numeric"),
        ("-Ei", "numeric"),
        (".Pi", "numeric"),
        ("e-10", "numeric"),
        ("1e999999", "numeric"),
        ("9" * 600, "numeric"),
    ],
)
def test_a_text_that_is_no_quantity_says_why(text: str, fault: str) -> None:
    with pytest.raises(quantities.QuantityError) as caught:
        parse(text)
    assert caught.value.fault == fault


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("007Mi", "007Mi"),
        ("+5", "+5"),
        ("1E6", "1E6"),
        ("100.035k", "100.035k"),
        ("1024Mi", "1Gi"),
        ("1.5G", "1500M"),
        ("1500Mi", "1500Mi"),
        ("2Gi", "2Gi"),
        ("1.5Gi", "1536Mi"),
        ("1000M", "1G"),
        ("0Mi", "0"),
        ("1.125G", "1.125G"),
    ],
)
def test_a_text_that_looks_canonical_is_shown_as_typed(typed: str, shown: str) -> None:
    assert parse(typed).text == shown


def test_binary_amounts_without_a_binary_suffix_stay_plain() -> None:
    assert canonical(2000, Format.BINARY) == "2000"
    assert canonical(1000, Format.BINARY) == "1k"
    assert canonical(1000 * 10**18, Format.DECIMAL) == "1"


@pytest.mark.parametrize(
    ("text", "percent"),
    [
        ("1_0%", 10),
        ("0x1p3%", 8),
        ("0x_1p3%", 8),
        ("0X.8p4%", 8),
        ("10%%", 10),
        ("1e1%", 10),
        ("-15%", -15),
        ("5.%", 5),
        ("1e1_0%", 1e10),
    ],
)
def test_a_percentage_is_a_literal_of_go(text: str, percent: float) -> None:
    assert percentages.parse(text).percent == percent


@pytest.mark.parametrize(
    "text",
    ["", "%", "1__0%", "_1%", "1_%", "1_.5%", "1._5%", "0x1%", "0b1%", " 1%", "1 %", "+nan%",
     "1e40%", "1e999%", "٣%", "1,5%", "0x1p9999999%", "9" * 600],
)  # fmt: skip
def test_a_malformed_percentage_is_refused(text: str) -> None:
    with pytest.raises(percentages.PercentageError):
        percentages.parse(text)


def test_a_percentage_is_stored_in_32_bits() -> None:
    tenth = percentages.parse("10%").fraction
    assert tenth == percentages.single(tenth)
    assert tenth > 0.1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1m30s", 90),
        ("1.5h", 5400),
        ("+5s", 5),
        (".5s", 0.5),
        ("1.s", 1),
        ("5s5s", 10),
        ("0", 0),
        ("+0", 0),
        ("-0", 0),
        ("-1m", -60),
        ("1µs", 1e-6),
        ("1μs", 1e-6),
        ("0.5ns", 0),
        ("300ms", 0.3),
        ("2562047h", 2562047 * 3600),
    ],
)
def test_a_duration_is_one_of_go(text: str, seconds: float) -> None:
    assert durations.parse_seconds(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["90", "", "30mins", "1d", "1h-1m", "1e3s", "2562048h", "1_0s", ".s", "s", "1", "٣s", "1 s",
     "1" * 600 + "s"],
)  # fmt: skip
def test_a_malformed_duration_is_refused(text: str) -> None:
    with pytest.raises(durations.DurationError):
        durations.parse_seconds(text)


@given(st.integers(0, 2**40), st.integers(0, 59), st.integers(0, 999))
def test_the_parts_of_a_duration_add_up(minutes: int, seconds: int, milliseconds: int) -> None:
    text = f"{minutes % 10**6}m{seconds}s{milliseconds}ms"
    whole = (minutes % 10**6 * 60 + seconds) * 10**9 + milliseconds * 10**6
    assert durations.parse_nanoseconds(text) == whole
    assert durations.parse_nanoseconds(f"-{text}") == -whole
