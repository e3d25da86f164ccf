"""What went with a unit, brought back: systemd does not remember it, so that we do.

[design, law 11]
"""

from evictd.core.duty.outcomes import StartOutcome, StartResult
from evictd.runtimes.systemd.companion_memory import CompanionMemory, Stopped
from evictd.runtimes.systemd.manager import Manager
from evictd.runtimes.systemd.whole import Whole

STOPPED_MAX = 1_000
"""Stopped units whose companions are remembered; beyond it the oldest are forgotten."""

FORGOTTEN = StartOutcome(
    result=StartResult.REFUSED,
    why="what ran in it is not known (any more); whoever started that has to",
)
NOTHING = Stopped()


class Companions:
    """What was up with each unit when it was stopped."""

    def __init__(self, manager: Manager, memory: CompanionMemory) -> None:
        self._manager = manager
        self._memory = memory
        self._known: dict[str, Stopped] | None = None

    async def remember(self, whole: Whole) -> None:
        """Just before the stop: whatever goes with it and has a file to be started from."""
        known, name = await self._stopped(), whole.unit.id
        names = (unit.id for unit in whole.along if not (unit.is_slice or unit.is_transient))
        before = known.get(name, NOTHING)
        # A second wish finds some of them down already.
        kept = before.names if before.uid == whole.uid else ()
        others = [(key, entry) for key, entry in known.items() if key != name]
        entry = Stopped(uid=whole.uid, names=tuple(dict.fromkeys((*kept, *names))))
        await self._keep(dict([*others, (name, entry)][-STOPPED_MAX:]))

    async def start_unit(self, name: str) -> StartOutcome:
        """The unit, then what went with it; a companion that fails is told and no more."""
        outcome = await self._manager.start(name)
        if outcome.result is not StartResult.STARTED:
            return outcome
        failed = await self._failures((await self._stopped()).get(name, NOTHING).names)
        await self._forget(name)
        return StartOutcome(result=StartResult.STARTED, why="; ".join(failed))

    async def start_slice(self, name: str) -> StartOutcome:
        """Each unit that ran in it. Raises what `Manager.show` does."""
        now = await self._manager.wholes((name,))
        if any(whole.runs for whole in now.found):
            return StartOutcome(result=StartResult.RUNNING)
        names = (await self._stopped()).get(name, NOTHING).names
        if not names:
            return FORGOTTEN
        failed = await self._failures(names)
        if len(failed) == len(names):
            return StartOutcome(result=StartResult.FAILED, why="; ".join(failed))
        await self._forget(name)
        return StartOutcome(result=StartResult.STARTED, why="; ".join(failed))

    async def _stopped(self) -> dict[str, Stopped]:
        """What an earlier life knew counts from the first time that somebody asks."""
        if self._known is None:
            recalled = await self._memory.recalled()
            if self._known is None:  # another stop may have asked, and added itself, meanwhile
                self._known = recalled
        return self._known

    async def _forget(self, name: str) -> None:
        known = await self._stopped()
        if name in known:
            await self._keep({key: entry for key, entry in known.items() if key != name})

    async def _keep(self, known: dict[str, Stopped]) -> None:
        if known != self._known:
            self._known = known
            await self._memory.keep(known)

    async def _failures(self, names: tuple[str, ...]) -> list[str]:
        outcomes = {name: await self._manager.start(name) for name in names}
        return [f"{name}: {outcome.why}" for name, outcome in outcomes.items() if not outcome.runs]
