"""A listed unit with all that goes with it: a slice is nothing but the units beneath it."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from evictd.runtimes.interface import life_uid
from evictd.runtimes.systemd.manager import Manager
from evictd.runtimes.systemd.unit import Unit

UNITS_MAX = 500
"""Listed units with those in listed slices; beyond it the listing is incomplete and says so."""
DEPTH_MAX = 8
"""Levels of slices in slices that are followed down."""


class Whole(Struct, frozen=True, kw_only=True):
    """`inside` are the units that a stop of it stops too: of a slice all beneath it."""

    unit: Unit
    inside: tuple[Unit, ...] = ()

    @property
    def runs(self) -> bool:
        """A slice runs as long as something in it does."""
        if self.unit.is_slice:
            return any(unit.runs and not unit.is_slice for unit in self.inside)
        return self.unit.runs

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
        """Without those that are in another one: they go with it."""
        within = {unit.id for whole in self.found for unit in whole.inside}
        return tuple(whole for whole in self.found if whole.unit.id not in within)


async def wholes(manager: Manager, shown: tuple[Unit, ...]) -> Wholes:
    """Of units that were shown just now; one call more for each level of slices.

    Raises what `Manager.show` does.
    """
    known = {unit.id: unit for unit in shown}
    listed = tuple(known)
    level = [unit for unit in shown if unit.is_slice]
    cut = len(known) > UNITS_MAX
    for _ in range(DEPTH_MAX):
        names = {name for unit in level for name in unit.members} - known.keys()
        cut = cut or len(known) + len(names) > UNITS_MAX
        if not names or cut:
            break
        below = await manager.show(sorted(names))
        known |= {unit.id: unit for unit in below}
        level = [unit for unit in below if unit.is_slice]
    found = (Whole(unit=known[name], inside=_inside(known[name], known)) for name in listed)
    return Wholes(found=tuple(found)[:UNITS_MAX], cut=cut)


def _inside(unit: Unit, known: Mapping[str, Unit]) -> tuple[Unit, ...]:
    """All units beneath a slice, as far as they are known, each once."""
    found: dict[str, Unit] = {}
    level: Iterable[Unit] = (unit,)
    while level:
        names = {name for above in level for name in above.members} - found.keys() - {unit.id}
        level = [known[name] for name in sorted(names) if name in known]
        found |= {below.id: below for below in level}
    return tuple(found.values())
