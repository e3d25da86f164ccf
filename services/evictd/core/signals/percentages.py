"""Percentage texts such as `10%`, in the 32-bit arithmetic of the kubelet and in double precision.

[kubelet-eviction 1.2]
"""

import re
import struct
from math import isinf

from msgspec import Struct

from evictd.core.errors import InputError

TEXT_CHARACTERS_MAX = 512
"""A longer text is no percentage that anyone means."""


class PercentageError(InputError):
    """A text that is no percentage."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:80]!r} is no percentage such as 10%")


class Percentage(Struct, frozen=True, kw_only=True):
    """`percent` as typed in double precision, `fraction` as the kubelet stores it.

    32 bits, divided by 100 in 32 bits.
    """

    percent: float
    fraction: float


_DIGITS = r"[0-9](?:_?[0-9])*"
_HEX = r"[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_DECIMAL_LITERAL = re.compile(
    rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)
_HEX_LITERAL = re.compile(rf"[+-]?0[xX](?:_?{_HEX}(?:\.(?:{_HEX})?)?|\.{_HEX})[pP][+-]?{_DIGITS}")
_WORD = re.compile(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE | re.ASCII)


def parse(text: str) -> Percentage:
    """Read a percentage, with or without its sign; raises `PercentageError`."""
    literal = text.rstrip("%")
    if len(text) > TEXT_CHARACTERS_MAX:
        raise PercentageError(text)
    percent = _number(literal)
    if percent is None:
        raise PercentageError(text)
    return Percentage(percent=percent, fraction=_fraction(text, percent))


def single(number: float) -> float:
    """The nearest 32-bit float; raises `OverflowError` where there is none."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


def _number(literal: str) -> float | None:
    """The number of a literal; None for what is none or is too large for a float."""
    if _WORD.fullmatch(literal):
        return float(literal)
    digits = literal.replace("_", "")
    if _DECIMAL_LITERAL.fullmatch(literal):
        return _finite(float(digits))
    if _HEX_LITERAL.fullmatch(literal):
        try:
            return float.fromhex(digits)
        except OverflowError:
            return None
    return None


def _finite(number: float) -> float | None:
    return None if isinf(number) else number


def _fraction(text: str, percent: float) -> float:
    try:
        return single(single(percent) / 100)
    except OverflowError:
        raise PercentageError(text) from None
