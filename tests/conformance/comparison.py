"""How expected and actual values of the vectors are compared."""

from collections.abc import Mapping, Sequence
from typing import Any

FRACTION_TOLERANCE = 1e-6


def equal(expected: Any, actual: Any) -> bool:
    """Equal in depth; a float within one millionth; `{"one_of": [...]}` is any of its list."""
    if isinstance(expected, Mapping):
        if set(expected) == {"one_of"}:
            return any(equal(choice, actual) for choice in expected["one_of"])
        return (
            isinstance(actual, Mapping)
            and set(expected) == set(actual)
            and all(equal(expected[key], actual[key]) for key in expected)
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(actual, Sequence)
            and not isinstance(actual, str)
            and len(expected) == len(actual)
            and all(equal(one, other) for one, other in zip(expected, actual, strict=True))
        )
    if _is_number(expected) and _is_number(actual) and float in (type(expected), type(actual)):
        return abs(expected - actual) <= FRACTION_TOLERANCE
    return isinstance(expected, bool) is isinstance(actual, bool) and bool(expected == actual)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal_unordered(expected: Sequence[Any], actual: Sequence[Any]) -> bool:
    """Equal as collections: each expected item has a partner of its own."""
    rest = list(actual)
    for item in expected:
        partner = next((index for index, other in enumerate(rest) if equal(item, other)), None)
        if partner is None:
            return False
        rest.pop(partner)
    return not rest
