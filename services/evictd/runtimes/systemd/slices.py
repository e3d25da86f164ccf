"""Slices brought back: systemd does not remember what ran in one, so that we do.

Only as long as this process lives. [design, law 11]
"""

from evictd.core.duty.outcomes import StartOutcome, StartResult
from evictd.runtimes.systemd.manager import Manager
from evictd.runtimes.systemd.unit import RUNNING
from evictd.runtimes.systemd.whole import Whole, wholes

SLICES_MAX = 100
"""Stopped slices that are remembered; beyond it the oldest are forgotten."""

FORGOTTEN = StartOutcome(
    result=StartResult.REFUSED,
    why="what ran in it is not known (any more); whoever started that has to",
)


class Slices:
    """What ran in each slice when it was stopped."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._stopped: dict[str, tuple[str, ...]] = {}

    def remember(self, whole: Whole) -> None:
        """Just before the stop: whatever is up in it and has a file to be started from."""
        names = (
            unit.id
            for unit in whole.inside
            if unit.active_state in RUNNING and not (unit.is_slice or unit.is_transient)
        )
        if len(self._stopped) >= SLICES_MAX:
            self._stopped.pop(next(iter(self._stopped)))
        self._stopped[whole.unit.id] = tuple(names)

    async def start(self, name: str) -> StartOutcome:
        """Each unit that ran in it. One that fails is told and holds up no other.

        Raises what `Manager.show` does.
        """
        now = await wholes(self._manager, await self._manager.show((name,)))
        if any(whole.runs for whole in now.found):
            return StartOutcome(result=StartResult.RUNNING)
        names = self._stopped.get(name, ())
        if not names:
            return FORGOTTEN
        outcomes = {one: await self._manager.start(one) for one in names}
        failed = [f"{one}: {outcome.why}" for one, outcome in outcomes.items() if not outcome.runs]
        if len(failed) == len(outcomes):
            return StartOutcome(result=StartResult.FAILED, why="; ".join(failed))
        del self._stopped[name]
        return StartOutcome(result=StartResult.STARTED, why="; ".join(failed))
