"""Names and patterns of systemd's units, as people list them. It asks no systemd."""

from collections.abc import Iterator

from evictd.shell.configuration.problems import Note
from evictd_schemas.sources import SystemdSource

SERVICE = ".service"
SCOPE = ".scope"
SLICE = ".slice"
KINDS = frozenset(
    {
        SERVICE,
        SCOPE,
        SLICE,
        ".socket",
        ".target",
        ".timer",
        ".mount",
        ".automount",
        ".swap",
        ".path",
        ".device",
    }
)
"""How names of units end; what ends otherwise is short for a service, as for `systemctl`."""


def completed(pattern: str, kind: str) -> str:
    """With the end of its kind, where it has none."""
    _, dot, end = pattern.rpartition(".")
    return pattern if dot + end in KINDS else pattern + kind


def patterns(source: SystemdSource) -> tuple[str, ...]:
    """All that is listed, with the end of its kind."""
    return (
        *(completed(pattern, SERVICE) for pattern in source.units),
        *(completed(pattern, SLICE) for pattern in source.slices),
    )


def problems(source: SystemdSource) -> Iterator[Note]:
    """What is listed and can be no unit in which something runs."""
    path = ("sources", "runtimes", "systemd")
    for index, pattern in enumerate(source.units):
        if (text := _problem(pattern, SERVICE, SCOPE)) is not None:
            yield (*path, "units", index), text
    for index, pattern in enumerate(source.slices):
        if (text := _problem(pattern, SLICE)) is not None:
            yield (*path, "slices", index), text


def _problem(pattern: str, *kinds: str) -> str | None:
    if not pattern or any(character.isspace() or character == "/" for character in pattern):
        return f"{pattern!r} is no name of a unit, and no pattern of names"
    if completed(pattern, kinds[0]).endswith(kinds):
        return None
    hint = "; slices have a list of their own" if pattern.endswith(SLICE) else ""
    return f"{pattern!r} is no {' and no '.join(kind[1:] for kind in kinds)}{hint}"
