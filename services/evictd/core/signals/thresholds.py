"""A threshold and how it is judged against a reading. [kubelet-eviction 1.4, 5, 6]

`Reading`s are those of the wire. Time, grace and conditions are the evaluation's.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import isnan
from typing import TypeAlias

from msgspec import Struct

from evictd.core.signals.amounts import exact_text
from evictd.core.signals.names import resource_of, urgency
from evictd_schemas import Number, SignalReading

LESS_THAN = "LessThan"
"""The only operator."""
NEVER = -(2**63)
"""The amount of a share that is not a number: nothing is ever below it."""


class Amount(Struct, frozen=True, kw_only=True, tag=True):
    """An absolute value: bytes, inodes or process ids. `text` as configured, for messages."""

    quantity: int | Fraction
    text: str = ""


class Share(Struct, frozen=True, kw_only=True, tag=True):
    """A share of the capacity.

    `fraction` is the 32-bit float that the kubelet stores, `percent` the same as typed, for double
    precision. [kubelet-eviction 1.2]
    """

    fraction: float
    text: str = ""
    percent: float | None = None


class Largest(Struct, frozen=True, kw_only=True, tag=True):
    """`max(5%,100Mi)`: the greatest of several. [design, two profiles]"""

    of: tuple[Amount | Share, ...]
    text: str = ""


class Smallest(Struct, frozen=True, kw_only=True, tag=True):
    """`min(10%,20Gi)`: the least of several."""

    of: tuple[Amount | Share, ...]
    text: str = ""


Value: TypeAlias = Amount | Share | Largest | Smallest
Readings: TypeAlias = Mapping[str, SignalReading]


class Part(Struct, frozen=True, kw_only=True):
    """A further signal of a composite threshold.

    `met_when_absent`: "no swap" counts as met; else a signal that the machine does not have is
    never below anything.
    """

    signal: str
    value: Value
    met_when_absent: bool = False


class Threshold(Struct, frozen=True, kw_only=True):
    """One configured condition: `signal` below `value`.

    A composite one is met when `signal` is, and each of `all_of`, and one of `any_of` where there
    are any; condition, resource and ranking are those of `signal`. It is hard exactly when the
    grace is zero; `sustained_seconds` is how long even a hard one has to be met first.
    """

    signal: str
    value: Value
    grace_seconds: float = 0
    minimum_reclaim: Value | None = None
    operator: str = LESS_THAN
    name: str | None = None
    all_of: tuple[Part, ...] = ()
    any_of: tuple[Part, ...] = ()
    sustained_seconds: float = 0

    @property
    def hard(self) -> bool:
        """A soft threshold with a grace of zero is hard in every respect. [kubelet-eviction 3.3]"""
        return self.grace_seconds == 0

    @property
    def wait_seconds(self) -> float:
        """How long it has to be met before it is due."""
        return max(self.grace_seconds, self.sustained_seconds)


class Judge(Struct, frozen=True, kw_only=True):
    """How thresholds are measured under one profile."""

    single_precision: bool = True

    def absolute(self, value: Value, capacity: Number) -> int | Fraction:
        """A value in the unit of the signal; a share is cut toward zero. [kubelet-eviction 1.4]"""
        match value:
            case Amount(quantity=quantity):
                return quantity
            case Largest(of=parts):
                return max(self.absolute(part, capacity) for part in parts)
            case Smallest(of=parts):
                return min(self.absolute(part, capacity) for part in parts)
            case Share():
                return self._share(value, capacity)

    def below(self, value: Value, reading: SignalReading, reclaim: Value | None = None) -> bool:
        """Whether the reading is strictly below the value plus what has to be reclaimed."""
        amount = self.absolute(value, reading.capacity)
        if reclaim is not None:
            amount += self.absolute(reclaim, reading.capacity)
        return amount > reading.available

    def meets(self, threshold: Threshold, readings: Readings, *, reclaim: bool) -> bool:
        """Whether a threshold is met now; `reclaim`: its minimum reclaim counts too."""
        reading = readings.get(threshold.signal)
        if reading is None or threshold.operator != LESS_THAN:
            return False
        further = threshold.minimum_reclaim if reclaim else None
        return (
            self.below(threshold.value, reading, further)
            and all(self.part_met(part, readings) for part in threshold.all_of)
            and (
                not threshold.any_of
                or any(self.part_met(part, readings) for part in threshold.any_of)
            )
        )

    def part_met(self, part: Part, readings: Readings) -> bool:
        """Whether one further signal of a composite threshold is met."""
        reading = readings.get(part.signal)
        return part.met_when_absent if reading is None else self.below(part.value, reading)

    def met(
        self, thresholds: Iterable[Threshold], readings: Readings, *, reclaim: bool = False
    ) -> tuple[Threshold, ...]:
        """The thresholds that are met, in their order. [kubelet-eviction 5, met]"""
        return tuple(
            threshold
            for threshold in thresholds
            if self.meets(threshold, readings, reclaim=reclaim)
        )

    def _share(self, share: Share, capacity: Number) -> int:
        if isnan(share.fraction):
            return NEVER
        if self.single_precision or share.percent is None:
            return int(float(capacity) * share.fraction)
        return int(float(capacity) * share.percent / 100)


def identity(threshold: Threshold) -> Hashable:
    """Two thresholds with one identity are the same; minimum reclaim is no part of it.

    [kubelet-eviction 5, merge and identity]
    """
    return (
        threshold.signal,
        threshold.operator,
        threshold.grace_seconds,
        value_identity(threshold.value),
        tuple((part.signal, value_identity(part.value)) for part in threshold.all_of),
        tuple((part.signal, value_identity(part.value)) for part in threshold.any_of),
    )


def value_identity(value: Value) -> Hashable:
    """Quantities compare by number, shares as floats, and a quantity never equals a share."""
    match value:
        case Amount(quantity=quantity):
            return ("amount", quantity)
        case Share(fraction=fraction):
            return ("share", fraction)
        case Largest(of=parts) | Smallest(of=parts):
            return (type(value).__name__, tuple(value_identity(part) for part in parts))


def value_text(value: Value, signal: str) -> str:
    """A value as it is shown: as configured, else as the kubelet writes such an amount."""
    if value.text:
        return value.text
    match value:
        case Amount(quantity=quantity):
            return exact_text(signal, quantity)
        case Share(fraction=fraction):
            return f"{fraction * 100:g}%"
        case Largest(of=parts) | Smallest(of=parts):
            name = "max" if isinstance(value, Largest) else "min"
            return f"{name}({','.join(value_text(part, signal) for part in parts)})"


def merged(first: Sequence[Threshold], second: Sequence[Threshold]) -> tuple[Threshold, ...]:
    """The first list, then whatever of the second is not in it. [kubelet-eviction 5]"""
    known = {identity(threshold) for threshold in first}
    appended = []
    for threshold in second:
        if identity(threshold) not in known:
            known.add(identity(threshold))
            appended.append(threshold)
    return (*first, *appended)


def by_priority(thresholds: Sequence[Threshold]) -> tuple[Threshold, ...]:
    """Memory, then the other known signals, then unknown ones.

    Inside each hard before soft, then the order given. [kubelet-eviction 6]
    """
    return tuple(
        sorted(thresholds, key=lambda threshold: (urgency(threshold.signal), not threshold.hard))
    )


def acting(thresholds: Sequence[Threshold]) -> Threshold | None:
    """The one that is acted on: the first by priority that has a resource."""
    ordered = by_priority(thresholds)
    return next((item for item in ordered if resource_of(item.signal) is not None), None)
