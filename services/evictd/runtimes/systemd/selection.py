"""Which units its owner has listed: names and patterns of services, scopes and slices."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

SERVICE = ".service"
SLICE = ".slice"
SUFFIXES = frozenset(
    {
        SERVICE,
        ".scope",
        SLICE,
        ".socket",
        ".target",
        ".timer",
        ".mount",
        ".automount",
        ".swap",
        ".path",
        ".device",
        ".snapshot",
    }
)
"""Every kind of unit; what ends in none of them is short for a service, as for `systemctl`."""


class Selection:
    """`units` are patterns of services and scopes, `slices` of slices."""

    def __init__(self, units: Iterable[str] = (), slices: Iterable[str] = ()) -> None:
        self.patterns = (
            *(completed(pattern, SERVICE) for pattern in units),
            *(completed(pattern, SLICE) for pattern in slices),
        )

    def covers(self, name: str) -> bool:
        """Whether a unit of this name was listed."""
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)


def completed(pattern: str, suffix: str) -> str:
    """With the suffix of its kind, where it has none."""
    return pattern if f".{pattern.rpartition('.')[2]}" in SUFFIXES else pattern + suffix


def problem(pattern: str, *, of_slices: bool) -> str | None:
    """Why this cannot be listed, or None."""
    wanted = (SLICE,) if of_slices else (SERVICE, ".scope")
    if not pattern or any(character.isspace() or character == "/" for character in pattern):
        return f"{pattern!r} is no name of a unit and no pattern of names"
    if not completed(pattern, wanted[0]).endswith(wanted):
        return f"{pattern!r} names no {' and no '.join(word[1:] for word in wanted)}"
    return None
