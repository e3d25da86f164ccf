"""Kinds of field errors, and one short way to write each down. [eviction-request-api 2]"""

from enum import StrEnum

from evictd.core.problems import Problem


class Kind(StrEnum):
    """What is wrong with a field, as the `code` of its problem."""

    REQUIRED = "Required"
    INVALID = "Invalid"
    NOT_SUPPORTED = "NotSupported"
    DUPLICATE = "Duplicate"
    TOO_MANY = "TooMany"
    TOO_LONG = "TooLong"
    FORBIDDEN = "Forbidden"


def required(field: str) -> Problem:
    """It is missing."""
    return Problem(field=field, reason="it is required", code=Kind.REQUIRED)


def invalid(field: str, reason: str) -> Problem:
    """Its value breaks a rule."""
    return Problem(field=field, reason=reason, code=Kind.INVALID)


def immutable(field: str) -> Problem:
    """It may not change any more."""
    return invalid(field, "it is immutable")


def not_supported(field: str, value: str, known: type[StrEnum]) -> Problem:
    """Its value is none of the words that there are."""
    words = ", ".join(known)
    reason = f"{value[:80]!r} is none of {words}"
    return Problem(field=field, reason=reason, code=Kind.NOT_SUPPORTED)


def duplicate(field: str, name: str) -> Problem:
    """An earlier entry of the list has the same name."""
    return Problem(field=field, reason=f"{name[:80]!r} is there already", code=Kind.DUPLICATE)


def too_many(field: str, count: int, most: int) -> Problem:
    """The list is longer than it may be."""
    reason = f"{count} entries, at most {most} are taken"
    return Problem(field=field, reason=reason, code=Kind.TOO_MANY)


def too_long(field: str, length: int, most: int, unit: str = "characters") -> Problem:
    """The text is longer than it may be."""
    reason = f"{length} {unit}, at most {most} are taken"
    return Problem(field=field, reason=reason, code=Kind.TOO_LONG)


def forbidden(field: str, reason: str) -> Problem:
    """It may not be set, or not yet."""
    return Problem(field=field, reason=reason, code=Kind.FORBIDDEN)
