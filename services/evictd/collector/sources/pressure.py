"""Stall signals (PSI), only where they are of the same scope as the memory figure.

`/proc/pressure` is always the whole machine's, also inside a container, while a container's
`meminfo` may be its own: then they do not belong together and the signals are absent.
"""

from pathlib import Path

from evictd.collector.sources import files, groups, meminfo
from evictd.core.errors import HostError
from evictd.runtimes.hierarchies import Hierarchies
from evictd.shell.kernel_text import lines
from evictd_schemas import SignalReading

CAPACITY = 100
"""Signals are 100 less the percentage, so that every threshold is "less than". [contract 3]"""


def read(proc: Path, hierarchies: Hierarchies, scope: str | None) -> dict[str, SignalReading]:
    """What is offered of `psi.memory.some`, `psi.memory.full` and `psi.io.full`, each `.avg10`."""
    places = pressure_files(proc, hierarchies, scope)
    signals: dict[str, SignalReading] = {}
    for resource, kinds in (("memory", ("some", "full")), ("io", ("full",))):
        content = files.text(places[resource]) if resource in places else None
        if content is None:
            continue
        for kind, percentage in parse(content, places[resource]).items():
            if kind in kinds:
                signals[f"psi.{resource}.{kind}.avg10"] = reading(percentage)
    return signals


def pressure_files(proc: Path, hierarchies: Hierarchies, scope: str | None) -> dict[str, Path]:
    """The files of the scope by resource; empty where none has the scope of the memory figure."""
    if scope is not None:
        folder = groups.folder(hierarchies.unified, scope)
        if folder is None:
            return {}
        return {name: folder / f"{name}.pressure" for name in ("memory", "io")}
    if meminfo.is_private(proc):
        return {}
    return {name: proc / "pressure" / name for name in ("memory", "io")}


def parse(content: str, place: object = "pressure file") -> dict[str, float]:
    """`some` and `full` to their avg10, as a percentage.

    Raises `HostError` naming the place for other texts.
    """
    averages = {}
    for line in lines(content):
        kind, _, rest = line.partition(" ")
        name, _, value = rest.split(" ")[0].partition("=")
        try:
            averages[kind] = float(value)
        except ValueError:
            raise HostError(f"{place}: {line[:80]!r} has no average") from None
        if name != "avg10" or not 0 <= averages[kind] <= CAPACITY:
            raise HostError(f"{place}: {line[:80]!r} has no average of ten seconds")
    return averages


def reading(percentage: float) -> SignalReading:
    """The stall as what is left of a hundred, to the two decimals the kernel gives."""
    return SignalReading(available=round(CAPACITY - percentage, 2), capacity=CAPACITY)
