"""A unit with all that a stop of it stops too.

A slice is nothing but the units in it; and whoever requires a unit, is bound to it or is a part of
it goes with it, by systemd's own rules.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from evictd.runtimes.interface import life_uid
from evictd.runtimes.systemd.unit import Unit

UNITS_MAX = 1_000
"""Listed units with all that go with them; beyond it the listing is incomplete and says so."""
DEPTH_MAX = 16
"""Steps from a unit to what goes with it; each is one call."""

Show: TypeAlias = Callable[[Sequence[str]], Awaitable[tuple[Unit, ...]]]


class Whole(Struct, frozen=True, kw_only=True):
    """`contents`: of a slice, all in it. `dependants`: what goes besides, wherever it is."""

    unit: Unit
    contents: tuple[Unit, ...] = ()
    dependants: tuple[Unit, ...] = ()

    @property
    def runs(self) -> bool:
        """A slice runs as long as something in it does."""
        if self.unit.is_slice:
            return any(unit.runs and not unit.is_slice for unit in self.contents)
        return self.unit.runs

    @property
    def along(self) -> tuple[Unit, ...]:
        """What is up and goes with it."""
        return tuple(unit for unit in (*self.contents, *self.dependants) if unit.is_up)

    @property
    def uid(self) -> str:
        """Of this life; a systemd without ids of lives tells them by their start."""
        return life_uid(self.unit.id, self.unit.invocation_id or self.unit.active_monotonic)


class Wholes(Struct, frozen=True, kw_only=True):
    """`cut`: there are more than are looked at."""

    found: tuple[Whole, ...] = ()
    cut: bool = False

    @property
    def outermost(self) -> tuple[Whole, ...]:
        """Without those that are in another one: they are a part of it."""
        within = {unit.id for whole in self.found for unit in whole.contents}
        return tuple(whole for whole in self.found if whole.unit.id not in within)


async def wholes(show: Show, shown: tuple[Unit, ...]) -> Wholes:
    """Of units that were shown just now; one call more for each step away from them.

    Raises what `show` does.
    """
    known = {unit.id: unit for unit in shown}
    listed = tuple(known)
    asked = set(known)
    cut = len(known) > UNITS_MAX
    for _ in range(DEPTH_MAX):
        names = {name for unit in known.values() for name in _next(unit)} - asked
        cut = cut or len(known) + len(names) > UNITS_MAX
        if not names or cut:
            break
        asked |= names
        known |= {unit.id: unit for unit in await show(sorted(names))}
    else:
        cut = True
    return Wholes(found=tuple(_whole(known[name], known) for name in listed[:UNITS_MAX]), cut=cut)


def _whole(unit: Unit, known: Mapping[str, Unit]) -> Whole:
    contents = _reached((unit,), known, lambda one: one.contents)
    dependants = _reached((unit, *contents), known, _next)
    return Whole(unit=unit, contents=contents, dependants=dependants)


def _next(unit: Unit) -> frozenset[str]:
    return unit.contents | unit.dependants


def _reached(
    start: Iterable[Unit], known: Mapping[str, Unit], names_of: Callable[[Unit], frozenset[str]]
) -> tuple[Unit, ...]:
    """Everything that is reached from there and is known, each once and without the start."""
    begun = {unit.id: unit for unit in start}
    found: dict[str, Unit] = {}
    level: Iterable[Unit] = tuple(begun.values())
    while level:
        names = {name for unit in level for name in names_of(unit)} - found.keys() - begun.keys()
        level = [known[name] for name in sorted(names) if name in known]
        found |= {unit.id: unit for unit in level}
    return tuple(found.values())
