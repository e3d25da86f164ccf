"""What went with a unit, brought back: systemd does not remember it, so that we do.

Only as long as this process lives. [design, law 11]
"""

from msgspec import Struct

from evictd.core.duty.outcomes import StartOutcome, StartResult
from evictd.runtimes.systemd.manager import Manager
from evictd.runtimes.systemd.whole import Whole

STOPPED_MAX = 1_000
"""Stopped units whose companions are remembered; beyond it the oldest are forgotten."""

FORGOTTEN = StartOutcome(
    result=StartResult.REFUSED,
    why="what ran in it is not known (any more); whoever started that has to",
)


class Stopped(Struct, frozen=True, kw_only=True):
    """The life that was stopped, and who went with it."""

    uid: str = ""
    names: tuple[str, ...] = ()


NOTHING = Stopped()


class Companions:
    """What was up with each unit when it was stopped."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._stopped: dict[str, Stopped] = {}

    def remember(self, whole: Whole) -> None:
        """Just before the stop: whatever goes with it and has a file to be started from."""
        names = (unit.id for unit in whole.along if not (unit.is_slice or unit.is_transient))
        before = self._stopped.get(whole.unit.id, NOTHING)
        # A second wish finds some of them down already.
        kept = before.names if before.uid == whole.uid else ()
        if len(self._stopped) >= STOPPED_MAX:
            self._stopped.pop(next(iter(self._stopped)))
        merged = tuple(dict.fromkeys((*kept, *names)))
        self._stopped[whole.unit.id] = Stopped(uid=whole.uid, names=merged)

    async def start_unit(self, name: str) -> StartOutcome:
        """The unit, then what went with it; a companion that fails is told and no more."""
        outcome = await self._manager.start(name)
        if outcome.result is not StartResult.STARTED:
            return outcome
        failed = await self._failures(self._stopped.pop(name, NOTHING).names)
        return StartOutcome(result=StartResult.STARTED, why="; ".join(failed))

    async def start_slice(self, name: str) -> StartOutcome:
        """Each unit that ran in it. Raises what `Manager.show` does."""
        now = await self._manager.wholes((name,))
        if any(whole.runs for whole in now.found):
            return StartOutcome(result=StartResult.RUNNING)
        names = self._stopped.get(name, NOTHING).names
        if not names:
            return FORGOTTEN
        failed = await self._failures(names)
        if len(failed) == len(names):
            return StartOutcome(result=StartResult.FAILED, why="; ".join(failed))
        del self._stopped[name]
        return StartOutcome(result=StartResult.STARTED, why="; ".join(failed))

    async def _failures(self, names: tuple[str, ...]) -> list[str]:
        outcomes = {name: await self._manager.start(name) for name in names}
        return [f"{name}: {outcome.why}" for name, outcome in outcomes.items() if not outcome.runs]
