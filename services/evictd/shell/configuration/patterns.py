"""Patterns of names with `*`, `?` and `[…]`, of which the first that matches holds."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

SAMPLES = ("", "a", "a-longer.2")
"""What a star may stand for when one pattern is held against another."""


def shadowed(patterns: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Index of each pattern that nothing reaches, and the earlier one that takes all of it."""
    for index, pattern in enumerate(patterns):
        wider = next((other for other in patterns[:index] if _covers(other, pattern)), None)
        if wider is not None:
            yield index, wider


def _covers(wide: str, narrow: str) -> bool:
    """Whether `wide` takes whatever `narrow` takes, as far as samples tell."""
    if "[" in wide + narrow:
        return wide == narrow
    if "/" in wide and "/" not in narrow:
        return False
    texts = {narrow.replace("*", sample).replace("?", "x") for sample in SAMPLES}
    return all(fnmatchcase(_compared(wide, text), wide) for text in texts)


def _compared(wide: str, text: str) -> str:
    """A pattern without a slash is held against the name alone, without its namespace."""
    return text if "/" in wide else text.rpartition("/")[2]
