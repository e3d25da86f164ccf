"""The rules about `reclaim:`, and what in it is legal and probably not meant."""

from collections.abc import Iterator

import msgspec

from evictd.shell.configuration.lines import (
    bytes_of,
    duration_remedy,
    quantity_remedy,
    seconds_of,
)
from evictd.shell.configuration.problems import KeyPath, Note
from evictd.shell.configuration.profiles import profile_of
from evictd_schemas.configuration import Configuration

DURATIONS = ("unusedFor", "minimumAge", "exitedFor")
SHORT_SECONDS = 86_400.0
"""What is started once a night looks unused for a day."""
SMALL_BYTES = 1 << 20
"""A log below it is what people look at first."""


def problems(configuration: Configuration) -> Iterator[Note]:
    """What is no figure at all."""
    for path, name, text in _figures(configuration):
        if name in DURATIONS:
            yield from _duration(path, text)
        elif name == "above":
            yield from _quantity(path, text)


def cautions(configuration: Configuration) -> Iterator[Note]:
    """Figures of a step that is off, and figures that hit what is still used."""
    given = msgspec.to_builtins(configuration.reclaim)
    any_on = False
    for step, figures in given.items():
        if not figures.get("enabled", False):
            if figures:
                text = "is not enabled and does nothing; enabled: true switches it on"
                yield ("reclaim", step), text
            continue
        any_on = True
        yield from _hasty(step, figures)
    if any_on and profile_of(configuration).reclaim_steps is None:
        name = profile_of(configuration).defaults.profile
        yield ("reclaim",), f"does nothing in profile {name}, which has steps of its own"


def _hasty(step: str, figures: dict[str, object]) -> Iterator[Note]:
    for name, value in figures.items():
        if name in DURATIONS and (seconds_of(str(value)) or 0.0) < SHORT_SECONDS:
            text = f"{value} is less than a day: what runs once a night would not be found again"
            yield ("reclaim", step, name), text
        elif name == "above" and (bytes_of(str(value)) or 0) < SMALL_BYTES:
            yield ("reclaim", step, name), f"{value} empties logs that fill no disk"


def _duration(path: KeyPath, text: str) -> Iterator[Note]:
    seconds = seconds_of(text)
    if seconds is None:
        days = "; days are written in hours, such as 168h" if text.endswith(("d", "w")) else ""
        yield path, f"{text!r} is no duration{days or duration_remedy(text)}"
    elif seconds < 0:
        yield path, "must not be negative"


def _quantity(path: KeyPath, text: str) -> Iterator[Note]:
    amount = bytes_of(text)
    if amount is None:
        yield path, f"{text!r} is no quantity{quantity_remedy(text)}"
    elif amount < 0:
        yield path, "must not be negative"


def _figures(configuration: Configuration) -> Iterator[tuple[KeyPath, str, str]]:
    for step, figures in msgspec.to_builtins(configuration.reclaim).items():
        for name, value in figures.items():
            yield ("reclaim", step, name), name, str(value)
