"""What a check found out, in sentences for a person."""

from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """`note`: works, and is worth knowing."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line. `means`: what follows from it; `remedy`: what to do about it."""

    check: str
    state: State
    text: str
    means: str = ""
    remedy: str = ""


def ok(check: str, text: str) -> Finding:
    """As it should be."""
    return Finding(check=check, state=State.OK, text=text)


def note(check: str, text: str, *, means: str = "", remedy: str = "") -> Finding:
    """Works, and is worth knowing; also what could not be found out."""
    return Finding(check=check, state=State.NOTE, text=text, means=means, remedy=remedy)


def problem(check: str, text: str, *, means: str, remedy: str) -> Finding:
    """Wrong: whoever reads it learns what that means and what to do."""
    return Finding(check=check, state=State.PROBLEM, text=text, means=means, remedy=remedy)
