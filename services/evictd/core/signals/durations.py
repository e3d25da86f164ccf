"""Duration texts such as `1m30s`, as Go writes them. [kubelet-eviction 1.3]"""

import re
from fractions import Fraction

from evictd.core.errors import InputError

TEXT_CHARACTERS_MAX = 512
"""A longer text is no duration that anyone means."""
NANOSECONDS_MAX = 2**63 - 1
"""The longest duration, a little over 292 years."""
NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,  # the micro sign
    "\u03bcs": 10**3,  # the Greek letter
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


class DurationError(InputError):
    """A text that is no duration."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:80]!r} is no duration such as 30s or 1m30s")


_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_WHOLE = re.compile(rf"([+-]?)((?:{_PART.pattern})+|0)")


def parse_seconds(text: str) -> float:
    """Read a duration; raises `DurationError`. Fractions of a nanosecond are cut."""
    return parse_nanoseconds(text) / 10**9


def parse_nanoseconds(text: str) -> int:
    """Read a duration exactly; raises `DurationError`."""
    whole = _WHOLE.fullmatch(text) if len(text) <= TEXT_CHARACTERS_MAX else None
    if whole is None:
        raise DurationError(text)
    total = 0
    for part in _PART.finditer(whole[2]):
        total += _nanoseconds(text, part[1], part[2] or "", part[3])
    if total > NANOSECONDS_MAX:
        raise DurationError(text)
    return -total if whole[1] == "-" else total


def _nanoseconds(text: str, digits: str, places: str, unit: str) -> int:
    if not digits and not places:
        raise DurationError(text)
    number = Fraction(int(digits + places), 10 ** len(places))
    return int(number * NANOSECONDS[unit])
