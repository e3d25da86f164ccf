"""One value alone: legal, and hardly what its author meant. [field cases B, G, J]

It knows a signal and a text; what other keys or the machine make of it is in `cautions` and
`reality`.
"""

from fractions import Fraction
from math import isnan

from evictd.core.signals.names import (
    CONTAINERFS_INODES_FREE,
    IMAGEFS_INODES_FREE,
    NODEFS_INODES_FREE,
    PID_AVAILABLE,
    STALL_SIGNALS,
    in_bytes,
    resource_of,
)
from evictd.core.signals.threshold_settings import Fault, line_of, reclaim_of
from evictd.core.signals.thresholds import Amount, Largest, Share, Smallest

COUNTED = (NODEFS_INODES_FREE, IMAGEFS_INODES_FREE, CONTAINERFS_INODES_FREE, PID_AVAILABLE)
"""Signals that count things; bytes they are not."""
FEW = 1000
"""A line of fewer inodes or process ids than this is met only when nothing works any more."""
MANY = 10_000_000
"""More inodes than most file systems have: such a line is met at once and for ever."""
HALF = 0.5
"""Who asks for more than half of it free has probably thought in "used"."""
BYTES_MIN = 1 << 20
"""A line of less than a mebibyte protects nothing; a unit is missing."""
PERCENT_MAX = 100
"""A bare number up to here was probably a percentage."""
STALL_LESS_THAN = 10
"""Per cent of stalls that a build or a large copy reaches without harm."""
OFF = "0%"


def of_line(signal: str, text: str) -> str | None:
    """What is odd about the value of a line, None for nothing."""
    if resource_of(signal) is None:
        return "is only shown: no line of this signal acts"
    if text == "100%":
        return "100% switches the signal off; it does not mean always"
    match line_of(text):
        case Share() as share:
            return _share(signal, share)
        case Amount() as amount:
            is_stall = signal in STALL_SIGNALS
            return _stall(amount.quantity) if is_stall else _amount(signal, text, amount)
        case (Largest() | Smallest()) as several:
            return _several(signal, several)
    return None


def of_reclaim(signal: str, text: str) -> str | None:
    """What is odd about a minimum reclaim."""
    value = reclaim_of(text)
    if isinstance(value, Fault) or not isinstance(value, Amount) or value.quantity == 0:
        return None
    return None if signal in STALL_SIGNALS else _amount(signal, text, value)


def _amount(signal: str, text: str, amount: Amount) -> str | None:
    """An amount without a unit, with a unit of something else, or of a thousandth."""
    if signal in COUNTED:
        return _count(signal, text, amount)
    if text.endswith("m"):
        return f"m is a thousandth; did you mean {text[:-1]}Mi?"
    if not in_bytes(signal) or amount.quantity >= BYTES_MIN:
        return None
    return f"is {float(amount.quantity):g} bytes; did you mean {_with_unit(amount)}?"


def _with_unit(amount: Amount) -> str:
    number = float(amount.quantity)
    if number < 1:
        return f"{number * 100:g}%"
    return f"{number:g}%" if number <= PERCENT_MAX else f"{number:g}Mi"


def _share(signal: str, share: Share) -> str | None:
    fraction = share.fraction
    if fraction == 0 or isnan(fraction):
        return f"{share.text} is never met; the text {OFF} says so and switches the signal off"
    if fraction >= 1:
        return f"{share.text} is met as soon as anything is in use; only the text 100% means off"
    if signal in STALL_SIGNALS:
        return _stall(fraction * 100)
    if fraction < HALF:
        return None
    used = f"{100 * (1 - fraction):.4g}%"  # a fraction of 32 bits is good to seven digits
    return f"{share.text} is the share left free: this acts when only {used} is in use"


def _stall(left: float | Fraction) -> str | None:
    """A line on what is left of a hundred, and what it means as a stall. [field cases J4, J7]"""
    stalled = 100 - float(left)
    if stalled > 100 * HALF:
        return (
            f"acts when work waits more than {stalled:g}% of the time: the signal is what is left "
            f"of 100; did you mean {stalled:g}%?"
        )
    if stalled <= STALL_LESS_THAN:
        return f"acts when work waits more than {stalled:g}% of the time, as in many a build"
    return None


def _several(signal: str, several: Largest | Smallest) -> str | None:
    if len(several.of) == 1:
        return f"{several.text} has one value to choose from; did you mean {several.of[0].text}?"
    remarks = (of_line(signal, part.text) for part in several.of)
    return next((remark for remark in remarks if remark is not None), None)


def _count(signal: str, text: str, amount: Amount) -> str | None:
    things = "process ids" if signal == PID_AVAILABLE else "inodes"
    if amount.quantity < FEW:
        number = float(amount.quantity)
        percent = text if amount.quantity >= 1 else f"{number * 100:g}"
        did_you_mean = f"; did you mean {percent}%?" if amount.quantity <= PERCENT_MAX else ""
        return f"is {number:g} {things}{did_you_mean}"
    if amount.quantity > MANY:
        return (
            f"{text} is {amount.quantity} {things}, which hardly any machine has: "
            "the line would be met for ever; did you mean 5%?"
        )
    if text.endswith("i"):
        return f"{text} is {amount.quantity} {things}: they are counted, not measured"
    return None
