"""From the five settings of a kubelet configuration to thresholds, with every fault and its place.

[kubelet-eviction 3.2, 3.3]
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from evictd.core.errors import InputError
from evictd.core.signals import durations, percentages, quantities
from evictd.core.signals.layouts import with_allocatable
from evictd.core.signals.names import SIGNALS
from evictd.core.signals.thresholds import (
    Amount,
    Largest,
    Share,
    Smallest,
    Threshold,
    Value,
)

V = TypeVar("V")

ENFORCED_PODS = "pods"
"""The key of `enforceNodeAllocatable` that copies memory thresholds to the allocatable signal."""
SWITCHED_OFF = ("0%", "100%")
"""Exactly these texts drop the entry: that is how a signal is switched off."""


_EXPRESSION = re.compile(r"(max|min)\(([^()]+)\)")


class Fault(StrEnum):
    """Why a setting is refused."""

    UNSUPPORTED_SIGNAL = "unsupported_signal"
    NEGATIVE_PERCENTAGE = "negative_percentage"
    PERCENTAGE_ABOVE_100 = "percentage_above_100"
    NON_POSITIVE_QUANTITY = "non_positive_quantity"
    MALFORMED_PERCENTAGE = "malformed_percentage"
    MALFORMED_QUANTITY = "malformed_quantity"
    MALFORMED_DURATION = "malformed_duration"
    NEGATIVE_GRACE_PERIOD = "negative_grace_period"
    MISSING_GRACE_PERIOD = "missing_grace_period"
    NEGATIVE_RECLAIM = "negative_reclaim"
    NON_POSITIVE_RECLAIM_PERCENTAGE = "non_positive_reclaim_percentage"


HARD, SOFT = "evictionHard", "evictionSoft"
GRACE, RECLAIM = "evictionSoftGracePeriod", "evictionMinimumReclaim"


class SettingProblem(Struct, frozen=True, kw_only=True):
    """A setting that is wrong: `path` as (`evictionHard`, `memory.available`)."""

    path: tuple[str, str]
    code: Fault


class FlagError(InputError):
    """A command-line flag without its separator."""


def thresholds_of(
    hard: Mapping[str, str],
    soft: Mapping[str, str],
    grace: Mapping[str, str],
    reclaim: Mapping[str, str],
    *,
    enforced: Collection[str] = (),
    signals: Collection[str] = SIGNALS,
    expressions: bool = False,
) -> tuple[tuple[Threshold, ...], tuple[SettingProblem, ...]]:
    """Thresholds and all that is wrong, in the order in which the kubelet would stumble over it.

    The kubelet ends at the first problem. Thresholds are whole only if there is none: hard ones,
    soft ones, then the copies for allocatable memory. `signals`: the names that are known.
    `expressions`: a line may also be `max(5%,100Mi)` or `min(10%,20Gi)`.
    """
    reading = _Reading(signals)
    read_line: Callable[[str], Value | Fault | None] = line_of if expressions else value_of
    hard_values: dict[str, Value] = reading.values(HARD, hard, read_line)
    soft_values: dict[str, Value] = reading.values(SOFT, soft, read_line)
    graces = reading.values(GRACE, grace, grace_of)
    reclaims: dict[str, Value] = reading.values(RECLAIM, reclaim, reclaim_of)
    for signal in soft_values:
        if signal not in graces and signal not in grace:
            reading.refuse(SOFT, signal, Fault.MISSING_GRACE_PERIOD)
    lines = [
        *((signal, value, 0.0) for signal, value in hard_values.items()),
        *((signal, value, graces.get(signal, 0.0)) for signal, value in soft_values.items()),
    ]
    thresholds = tuple(
        Threshold(
            signal=signal,
            value=value,
            grace_seconds=seconds,
            minimum_reclaim=reclaims.get(signal),
        )
        for signal, value, seconds in lines
    )
    if ENFORCED_PODS in enforced:
        thresholds = with_allocatable(thresholds)
    return thresholds, tuple(reading.problems)


def value_of(text: str) -> Value | Fault | None:
    """The value of a line; None where the text switches the signal off."""
    return None if text in SWITCHED_OFF else _line(text)


def line_of(text: str) -> Value | Fault | None:
    """The value of a line of a plain host, which may be the greatest or the least of several.

    [design, two profiles]
    """
    expression = _EXPRESSION.fullmatch(text)
    if expression is None:
        return value_of(text)
    parts: list[Amount | Share] = []
    for part in expression[2].split(","):
        value = _line(part.strip())
        if isinstance(value, Fault):
            return value
        parts.append(value)
    choose = Largest if expression[1] == "max" else Smallest
    return choose(of=tuple(parts), text=text)


def _line(text: str) -> Amount | Share | Fault:
    if not text.endswith("%"):
        amount = amount_of(text)
        if isinstance(amount, Fault):
            return amount
        return amount if amount.quantity > 0 else Fault.NON_POSITIVE_QUANTITY
    share = share_of(text)
    if isinstance(share, Fault):
        return share
    if share.fraction < 0:
        return Fault.NEGATIVE_PERCENTAGE
    return Fault.PERCENTAGE_ABOVE_100 if share.fraction > 1 else share


def reclaim_of(text: str) -> Value | Fault:
    """How far beyond its line a signal has to get before it counts as resolved."""
    if text.endswith("%"):
        share = share_of(text)
        if isinstance(share, Fault):
            return share
        return Fault.NON_POSITIVE_RECLAIM_PERCENTAGE if share.fraction <= 0 else share
    amount = amount_of(text)
    if isinstance(amount, Fault):
        return amount
    return Fault.NEGATIVE_RECLAIM if amount.quantity < 0 else amount


def grace_of(text: str) -> float | Fault:
    """A grace period in seconds; zero is allowed and makes a soft threshold hard."""
    try:
        seconds = durations.parse_seconds(text)
    except durations.DurationError:
        return Fault.MALFORMED_DURATION
    return Fault.NEGATIVE_GRACE_PERIOD if seconds < 0 else seconds


def share_of(text: str) -> Share | Fault:
    """A percentage of any size."""
    try:
        percentage = percentages.parse(text)
    except percentages.PercentageError:
        return Fault.MALFORMED_PERCENTAGE
    return Share(fraction=percentage.fraction, percent=percentage.percent, text=text)


def amount_of(text: str) -> Amount | Fault:
    """A quantity of any sign; its text stays as it was typed. [contract 3, Pressure: value]"""
    try:
        quantity = quantities.parse(text)
    except quantities.QuantityError:
        return Fault.MALFORMED_QUANTITY
    return Amount(quantity=quantity.exact, text=text)


def flag_map(initial: Mapping[str, str], uses: Sequence[str], separator: str) -> dict[str, str]:
    """The map that successive uses of a flag give; raises `FlagError` for a missing separator.

    `separator` is `<` for hard and soft, `=` for grace and reclaim. The first use discards what was
    there before, further ones add. [kubelet-eviction 3.2]
    """
    pairs = dict(initial) if not uses else {}
    for element in _elements(uses):
        name, found, value = element.partition(separator)
        if not found:
            raise FlagError(f"{element!r} has no {separator!r} between signal and value")
        pairs[name.strip()] = value.strip()
    return pairs


def _elements(uses: Iterable[str]) -> Iterator[str]:
    for use in uses:
        yield from (element for element in use.split(",") if element)


class _Reading:
    """One reading of the settings, with the problems met so far."""

    def __init__(self, signals: Collection[str]) -> None:
        self._signals = signals
        self.problems: list[SettingProblem] = []

    def refuse(self, setting: str, signal: str, fault: Fault) -> None:
        self.problems.append(SettingProblem(path=(setting, signal), code=fault))

    def values(
        self, setting: str, entries: Mapping[str, str], read: Callable[[str], V | Fault | None]
    ) -> dict[str, V]:
        """What the texts of one map say; None drops the entry."""
        values: dict[str, V] = {}
        for signal, text in self._known(setting, entries):
            value = read(text)
            if isinstance(value, Fault):
                self.refuse(setting, signal, value)
            elif value is not None:
                values[signal] = value
        return values

    def _known(self, setting: str, entries: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for signal, text in entries.items():
            if signal in self._signals:
                yield signal, text
            else:
                self.refuse(setting, signal, Fault.UNSUPPORTED_SIGNAL)
