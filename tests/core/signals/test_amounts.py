"""Amounts in messages: to the last unit as the kubelet writes them, and as people read them."""

from fractions import Fraction

import pytest

from evictd.core.signals.amounts import drawn_text, exact_text, reading_text, rounded_text
from evictd.core.signals.threshold_settings import thresholds_of
from evictd.core.signals.thresholds import value_text

MEMORY, PIDS, STALL = "memory.available", "pid.available", "psi.memory.full.avg10"


@pytest.mark.parametrize(
    ("signal", "amount", "exact", "rounded"),
    [
        (MEMORY, 1_048_094_557, "1048094557", "999.5Mi"),
        (MEMORY, 10_474_988 << 10, "10474988Ki", "10Gi"),
        (MEMORY, 512, "512", "512 bytes"),
        (MEMORY, 0, "0", "0 bytes"),
        (MEMORY, -(1 << 30), "-1Gi", "-1Gi"),
        (PIDS, 1_000, "1k", "1,000"),
        (PIDS, -20, "-20", "-20"),
        (STALL, 42.41, "42.41", "42.4 bytes"),
    ],
)
def test_an_amount_is_exact_for_programs_and_round_for_people(
    signal: str, amount: float, exact: str, rounded: str
) -> None:
    """What a workload uses of a stall's resource is memory; the stall itself is none."""
    assert exact_text(signal, amount) == exact
    assert rounded_text(signal, amount) == rounded


def test_a_stall_is_read_as_a_plain_figure() -> None:
    assert reading_text(STALL, 42.41) == "42.41"
    assert reading_text(MEMORY, Fraction(3 << 30, 2)) == "1.5Gi"


@pytest.mark.parametrize(
    ("signal", "configured", "amount", "drawn"),
    [
        (MEMORY, "500Mi", 500 << 20, "500Mi"),
        (MEMORY, "5%", 858_993_459, "5% (819.2Mi)"),
        (MEMORY, "10555310237", 10_555_310_237, "10555310237 (9.8Gi)"),
        (PIDS, "1000", 1_000, "1000"),
        (STALL, "60%", 60, "60%"),
    ],
)
def test_a_line_is_told_as_configured_with_what_it_comes_to(
    signal: str, configured: str, amount: int, drawn: str
) -> None:
    assert drawn_text(signal, configured, amount) == drawn


def test_a_line_keeps_the_text_it_was_configured_with() -> None:
    """22.4Gi has no whole number of bytes, and nobody wants to read its thousandths."""
    (line,), _ = thresholds_of({"memory.available": "22.4Gi"}, {}, {}, {}, enforced=())
    assert value_text(line.value, line.signal) == "22.4Gi"
