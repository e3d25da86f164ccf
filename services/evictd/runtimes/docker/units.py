"""Containers that a unit of systemd runs, such as a Quadlet's: stopped and started through it.

What the engine alone stopped systemd would take for a failure, and start again. A unit that runs
several containers is left alone, and so is one that others which run need: its end would be theirs
too, and nobody would bring them back.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import anyio
from msgspec import Struct

from evictd.core.duty.outcomes import StartOutcome, StartResult, StopOutcome, StopResult
from evictd.core.errors import EvictdError
from evictd.runtimes import hierarchies
from evictd.runtimes.docker.inspection import Inspected
from evictd.runtimes.systemd import Manager, never
from evictd.runtimes.systemd.ending import heard
from evictd.runtimes.systemd.whole import Whole
from evictd.shell import kernel_text
from evictd.shell.blocking import RunBlocking

LABEL = "PODMAN_SYSTEMD_UNIT"
"""Podman's own word for the unit that made the container."""
SUFFIX = ".service"
CLEANING_SECONDS = 15
"""Beyond the grace: what a unit runs after the end of its container, on a slow board."""
Kill: TypeAlias = Callable[[], Awaitable[None]]
"""Ends the container at once, whatever becomes of that."""

NONE_THERE = StopOutcome(result=StopResult.FAILED, why="systemd does not manage this machine")


class Unit(Struct, frozen=True, kw_only=True):
    """The unit that runs a container; `known`: to systemd, and the container is its only one.

    `needed_by`: units that run and would stop with it.
    """

    name: str
    known: bool = False
    needed_by: tuple[str, ...] = ()

    @property
    def obeys(self) -> bool:
        """Whether we can stop the container through it, and nothing else."""
        return self.known and not self.needed_by

    @property
    def manager(self) -> str:
        """As people are told."""
        needed = f", needed by {', '.join(self.needed_by)}" if self.needed_by else ""
        return f"systemd unit {self.name}{needed}"


class Units:
    """The units of one engine's containers. `manager` None: nobody to ask."""

    def __init__(self, manager: Manager | None, proc: Path, run_blocking: RunBlocking) -> None:
        self._manager = manager
        self._proc = proc
        self._run_blocking = run_blocking
        self._available = False

    async def of(self, containers: Iterable[Inspected]) -> Mapping[str, Unit]:
        """Container id to its unit, for those that have one; all that run are handed in."""
        every = tuple(containers)
        names = await self._run_blocking(lambda: self._names(every))
        if not names:
            return {}
        counts = Counter(names.values())
        alone = {name for name, count in counts.items() if count == 1}
        known = await self._known(alone)
        return {number: known.get(name, Unit(name=name)) for number, name in names.items()}

    async def stop(self, unit: Unit, grace_seconds: int | None, kill: Kill) -> StopOutcome:
        """Through systemd. That it does not run there is a failure: its container does.

        After the grace `kill` ends the container alone, and only what does not end then either is
        killed by the unit: with all of it would go whoever cleans up behind the container, and
        Podman would say of it ever after that it runs.
        """
        if self._manager is None:
            return NONE_THERE
        if grace_seconds is None:
            outcome = await self._manager.stop(unit.name, None, _objection)
        else:
            outcome = await _hastened(self._manager, unit.name, grace_seconds, kill)
        if outcome.result is StopResult.NOT_FOUND:
            why = f"{unit.manager} is not up, and its container is"
            return StopOutcome(result=StopResult.FAILED, why=why)
        return outcome

    async def start(self, name: str) -> StartOutcome:
        """Through systemd, which makes the container anew where it had been made by the unit."""
        if self._manager is None:
            return StartOutcome(result=StartResult.REFUSED, why=NONE_THERE.why)
        return await self._manager.start(name)

    async def keeps(self, name: str) -> bool | None:
        """Whether systemd can still start it; None while it does not say."""
        shown = await self._shown((name,))
        return None if shown is None else name in shown

    async def _known(self, names: Iterable[str]) -> Mapping[str, Unit]:
        """Those that systemd has a file of, with what would stop with them."""
        wanted = {name for name in names if never.reason((name,)) is None}
        if not wanted or self._manager is None:
            return {}
        try:
            if not await self._is_available(self._manager):
                return {}
            shown = await self._manager.wholes(sorted(wanted))
        except EvictdError:
            return {}  # nothing is known of them, and so nothing is stopped through them
        return {
            name: Unit(name=name, known=not shown.cut, needed_by=_needed_by(whole))
            for whole in shown.found
            if whole.unit.load_state == "loaded"
            for name in wanted & whole.unit.names
        }

    async def _shown(self, names: Iterable[str]) -> frozenset[str] | None:
        """Those that systemd has a file of."""
        if self._manager is None:
            return None
        wanted = frozenset(names)
        try:
            units = await self._manager.show(sorted(wanted))
        except EvictdError:
            return None
        return wanted & {
            name for unit in units if unit.load_state == "loaded" for name in unit.names
        }

    async def _is_available(self, manager: Manager) -> bool:
        """Asked until it is: a machine does not change its first process, and may be short of what
        it takes to ask."""
        self._available = self._available or await manager.available()
        return self._available

    def _names(self, containers: Iterable[Inspected]) -> dict[str, str]:
        found = ((container.id, self._name(container)) for container in containers)
        return {number: name for number, name in found if name is not None}

    def _name(self, container: Inspected) -> str | None:
        """What its label says, else the unit right above it among the control groups."""
        if (said := container.labels.get(LABEL)) is not None:
            return said
        text = hierarchies.text(self._proc / str(container.state.pid) / "cgroup") or ""
        paths = (line.split(":", 2)[-1] for line in kernel_text.lines(text))
        levels = next((path.split("/") for path in paths if container.id in path), [])
        above = next((before for before, at in pairwise(levels) if container.id in at), "")
        is_unit = above.endswith(SUFFIX) and never.reason((above,)) is None
        return above if is_unit else None


def _needed_by(whole: Whole) -> tuple[str, ...]:
    return tuple(unit.id for unit in whole.along if unit.runs)


async def _hastened(manager: Manager, name: str, grace_seconds: int, kill: Kill) -> StopOutcome:
    """Nothing is killed that systemd was not told to stop."""
    told = anyio.Event()

    async def judge(whole: Whole) -> StopOutcome | None:
        objection = await _objection(whole)
        if objection is None:
            told.set()
        return objection

    async def kill_when_due() -> None:
        await told.wait()
        await anyio.sleep(grace_seconds)
        await heard(manager.show, (name,))
        await kill()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kill_when_due)
        outcome = await manager.stop(name, grace_seconds + CLEANING_SECONDS, judge)
        tasks.cancel_scope.cancel()
    return outcome


async def _objection(whole: Whole) -> StopOutcome | None:
    """The last look: what has come up meanwhile."""
    needed_by = _needed_by(whole)
    if not needed_by:
        return None
    why = f"{', '.join(needed_by)} would stop with it"
    return StopOutcome(result=StopResult.REFUSED, why=why)


def is_unit(runtime_id: str) -> bool:
    """Whether what was stopped is started as a unit: a container's id is no name of one."""
    return runtime_id.endswith(SUFFIX)
