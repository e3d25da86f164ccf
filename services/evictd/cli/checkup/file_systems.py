"""File systems that are watched: where each one is, and what is free there now, as `df` has it.

Who is told of a full disk and sees a half empty one looks at another file system than evictd does.
[field case F5]
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok
from evictd.core.signals.amounts import rounded_text
from evictd_schemas import SignalReading


class FileSystemFacts(Struct, frozen=True, kw_only=True):
    """One folder that is watched. None where nothing was read, or inodes are not numbered.

    `names`: what is watched there, such as `nodefs`. `met`: the lines below which it is.
    """

    names: tuple[str, ...]
    place: str
    device: str | None = None
    space: SignalReading | None = None
    inodes: SignalReading | None = None
    met: tuple[str, ...] = ()


def findings(every: Iterable[FileSystemFacts]) -> Iterator[Finding]:
    """One line each; what cannot be read has its line among the sources."""
    for facts in every:
        if facts.space is None:
            continue
        check = " ".join(("file system", *facts.names))
        text = _text(facts, facts.space)
        if not facts.met:
            yield ok(check, f"{text}; above its lines")
            continue
        yield note(
            check,
            f"{text}; below {', '.join(facts.met)}",
            means="it is short: evictd gives space back, and stops who is filling it",
            remedy="`evictd status` tells what is done, `evictd rank` who holds how much",
        )


def _text(facts: FileSystemFacts, space: SignalReading) -> str:
    device = "" if facts.device is None else f" (device {facts.device})"
    signal = f"{facts.names[0]}.available"
    free, whole = (rounded_text(signal, amount) for amount in (space.available, space.capacity))
    inodes = "" if facts.inodes is None else f", {_percent(facts.inodes)} of the inodes"
    return f"{facts.place}{device}: {free} of {whole} free, {_percent(space)}{inodes}"


def _percent(reading: SignalReading) -> str:
    return f"{100 * reading.available / reading.capacity:.0f} %" if reading.capacity else "none"
