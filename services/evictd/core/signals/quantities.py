"""Quantity texts such as `500Mi`, `1.5G` or `1e3`: parsed, exact, as an integer, and written again.

It knows nothing of thresholds or resources. [kubelet-eviction 1.1]
"""

import re
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor

from msgspec import Struct

from evictd.core.errors import InputError

TEXT_CHARACTERS_MAX = 512
"""A longer text is no quantity that anyone means, and numbers of any length cost time."""
EXPONENT_MAX = 1_000
"""Greatest power of ten taken either way; the kubelet's own limit lies where memory ends."""
AMOUNT_MAX = 2**63 - 1
"""Binary quantities are cut to this, and integers beyond it have no value."""
NANOS = 10**9
"""Precision stops at one billionth."""
AS_TYPED_DIGITS_MAX = 18
"""Longer decimal texts are always written anew."""


class Format(StrEnum):
    """How a quantity is written again."""

    BINARY = "BinarySI"
    DECIMAL = "DecimalSI"
    EXPONENT = "DecimalExponent"


class QuantityFault(StrEnum):
    """What is wrong with a text: its shape, its suffix, or a number that is missing."""

    FORMAT = "format"
    SUFFIX = "suffix"
    NUMERIC = "numeric"


class QuantityError(InputError):
    """A text that is no quantity."""

    def __init__(self, text: str, fault: QuantityFault) -> None:
        super().__init__(f"{text[:80]!r} is no quantity such as 500Mi or 2G ({fault})")
        self.fault = fault


class Quantity(Struct, frozen=True, kw_only=True):
    """An exact amount and the way it is written. `text` as it is shown in messages."""

    exact: int | Fraction
    format: Format = Format.DECIMAL
    text: str = ""

    @property
    def value(self) -> int | None:
        """The integer rounded away from zero; None when it does not fit 64 bits."""
        rounded = round_away(self.exact)
        return rounded if -AMOUNT_MAX - 1 <= rounded <= AMOUNT_MAX else None

    @property
    def canonical(self) -> str:
        """The text by which the kubelet would write this amount."""
        return canonical(self.exact, self.format)


BINARY_POWERS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL_POWERS = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in DECIMAL_POWERS.items()}
_SHAPE = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?P<point>\.?)(?P<part>[0-9]*)"
    r"(?P<suffix>[eEinumkKMGTP]*[+-]?[0-9]*)"
)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")


class _Scale(Struct, frozen=True, kw_only=True):
    """What a suffix stands for."""

    base: int
    power: int
    format: Format


def parse(text: str) -> Quantity:
    """Read a quantity; raises `QuantityError` with the kind of its fault."""
    if not text:
        raise QuantityError(text, QuantityFault.FORMAT)
    if len(text) > TEXT_CHARACTERS_MAX:
        raise QuantityError(text, QuantityFault.NUMERIC)
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise QuantityError(text, QuantityFault.FORMAT)
    scale = _scale(text, shape["suffix"])
    digits = shape["whole"] + shape["part"]
    if not digits and (scale.power >= 50 if scale.base == 2 else scale.power < -9):
        raise QuantityError(text, QuantityFault.NUMERIC)
    exact = _amount(int(digits or "0"), len(shape["part"]), scale)
    form = scale.format
    if form is Format.BINARY:
        exact = min(exact, Fraction(AMOUNT_MAX))
        form = Format.DECIMAL if 0 < exact < 1 else form
    signed = -exact if shape["sign"] == "-" else exact
    typed = _looks_canonical(digits, bool(shape["point"]), len(shape["part"]), scale)
    return Quantity(
        exact=whole_if_possible(signed),
        format=form,
        text=text if typed else canonical(signed, form),
    )


def canonical(exact: int | Fraction, form: Format) -> str:
    """The largest suffix that leaves a whole number; binary only for whole numbers from 1024 on.

    Multiples of 10^21 lose their suffix, as up to kubelet 1.37.
    """
    if exact == 0:
        return "0"
    if form is Format.BINARY and exact.denominator == 1 and not -1024 < exact < 1024:
        return _binary(int(exact))
    power = -9
    mantissa = Fraction(exact) * NANOS
    while mantissa % 1000 == 0:
        mantissa /= 1000
        power += 3
    if form is Format.EXPONENT:
        return f"{mantissa}e{power}" if power else f"{mantissa}"
    return f"{mantissa}{_DECIMAL_SUFFIXES.get(power, '')}"


def exact_text(exact: int | Fraction) -> str:
    """The exact decimal, without an exponent and without trailing zeros."""
    nanos = int(abs(Fraction(exact)) * NANOS)
    whole, part = divmod(nanos, NANOS)
    sign = "-" if exact < 0 else ""
    digits = f"{part:09d}".rstrip("0")
    return f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"


def round_away(exact: int | Fraction) -> int:
    """To the next integer away from zero."""
    return floor(exact) if exact < 0 else ceil(exact)


def whole_if_possible(exact: int | Fraction) -> int | Fraction:
    """An integer where it is one."""
    return int(exact) if exact == int(exact) else exact


def _scale(text: str, suffix: str) -> _Scale:
    if suffix in BINARY_POWERS:
        return _Scale(base=2, power=BINARY_POWERS[suffix], format=Format.BINARY)
    if suffix in DECIMAL_POWERS:
        return _Scale(base=10, power=DECIMAL_POWERS[suffix], format=Format.DECIMAL)
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None or not -(2**31) <= int(exponent[1]) < 2**31:
        raise QuantityError(text, QuantityFault.SUFFIX)
    power = int(exponent[1])
    if abs(power) > EXPONENT_MAX:
        raise QuantityError(text, QuantityFault.NUMERIC)
    return _Scale(base=10, power=power, format=Format.EXPONENT)


def _amount(digits: int, places: int, scale: _Scale) -> Fraction:
    """The magnitude, rounded away from zero to one billionth."""
    exact = Fraction(digits, 10**places) * _power(scale)
    return Fraction(ceil(exact * NANOS), NANOS)


def _power(scale: _Scale) -> Fraction:
    if scale.power < 0:
        return Fraction(1, scale.base**-scale.power)
    return Fraction(scale.base**scale.power)


def _looks_canonical(digits: str, point: bool, places: int, scale: _Scale) -> bool:
    """Whether the text is kept as typed until the amount changes."""
    if scale.format is Format.BINARY:
        fits = int(digits or "0") << scale.power <= AMOUNT_MAX
        return not point and fits and int(digits or "0") % 8 != 0
    power = scale.power - places
    return (
        power % 3 == 0
        and power >= -9
        and 0 < len(digits) <= AS_TYPED_DIGITS_MAX
        and digits[0] != "0"
        and not digits.endswith("000")
    )


def _binary(amount: int) -> str:
    suffix = ""
    for name, power in BINARY_POWERS.items():
        if amount % (1 << power):
            break
        suffix = name
    return f"{amount >> BINARY_POWERS.get(suffix, 0)}{suffix}"
