"""systemd as a manager of units: asked for them, told to stop and to start one.

Whoever stops a workload that a unit of systemd runs does it here, so that what must never be
stopped is refused in one place.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from evictd.core.duty.outcomes import StartOutcome, StartResult, StopOutcome, StopResult
from evictd.core.errors import EvictdError, PeerError
from evictd.runtimes.cgroup.owners import systemd_runs
from evictd.runtimes.systemd import never
from evictd.runtimes.systemd import unit as reading
from evictd.runtimes.systemd.ending import UnitEnding
from evictd.runtimes.systemd.systemctl import Answer, Systemctl
from evictd.runtimes.systemd.unit import Unit
from evictd.runtimes.systemd.whole import UNITS_MAX, Whole, Wholes, wholes
from evictd.shell.blocking import RunBlocking, in_thread

START_SECONDS = 30.0
"""For systemd to say that a unit is up; a start that takes longer goes on without us."""

Judge: TypeAlias = Callable[[Whole], Awaitable[StopOutcome | None]]
"""The last word on a unit, and on what goes with it, just before its stop: why not, or None."""


async def nobody_objects(whole: Whole) -> None:
    """The judge of whoever has looked already."""
    del whole


class Manager:
    """The systemd of this machine, or with `Systemctl(of_user=True)` that of our own user.

    `run_path` is where the machine's `/run` is.
    """

    def __init__(
        self,
        systemctl: Systemctl | None = None,
        run_path: Path = Path("/run"),
        run_blocking: RunBlocking = in_thread,
    ) -> None:
        self._systemctl = systemctl or Systemctl()
        self._run_path = run_path
        self._run_blocking = run_blocking
        self._endings: dict[str, UnitEnding] = {}

    async def available(self) -> bool:
        """Whether systemd manages this machine and answers us."""
        if not await self._run_blocking(partial(systemd_runs, self._run_path)):
            return False
        try:
            answer = await self._systemctl.run("show", "--property=Version")
        except EvictdError:
            return False
        return answer.code == 0 and answer.output.startswith("Version=")

    async def show(self, names: Sequence[str]) -> tuple[Unit, ...]:
        """The units of these names, and of those in memory that a pattern matches; in one call.

        A name that is no unit's has a `load_state` that says so. Raises `PeerError` when systemd
        does not answer, `HostError` without `systemctl`.
        """
        if not names:
            return ()
        wanted = f"--property={','.join(reading.PROPERTIES)}"
        answer = await self._systemctl.run("show", wanted, "--", *names)
        if answer.code != 0:
            raise PeerError(f"systemctl show: {answer.complaint or f'exit code {answer.code}'}")
        return reading.units(answer.output)

    async def wholes(self, names: Sequence[str]) -> Wholes:
        """The same units, each with all that a stop of it stops too. Raises as `show` does."""
        return await wholes(self.show, await self.show(names))

    async def stop(
        self, name: str, grace_seconds: int | None, judge: Judge = nobody_objects
    ) -> StopOutcome:
        """Stop a unit, or a slice with all in it, and confirm it.

        None means the unit's own `TimeoutStopSec`; after a smaller grace what is left is killed. A
        second call while the first runs shortens the wait, and both tell the same end. Never
        raises: every end is a value.
        """
        try:
            whole, outcome = await self._target(name, judge)
        except EvictdError as error:
            return StopOutcome(result=StopResult.FAILED, why=str(error))
        if outcome is not None or whole is None:
            return outcome or StopOutcome(result=StopResult.NOT_FOUND)
        running = self._endings.get(whole.unit.id)
        if running is not None:
            return await running.join(grace_seconds)
        ending = UnitEnding(whole, self._systemctl, self.show)
        self._endings[whole.unit.id] = ending
        try:
            return await ending.carry_out(grace_seconds)
        finally:
            del self._endings[whole.unit.id]

    async def start(self, name: str) -> StartOutcome:
        """Start a unit and confirm that it runs. Never raises: every end is a value."""
        if reading.name_problem(name, (*reading.SUFFIXES, *reading.STARTERS)) is not None:
            return StartOutcome(result=StartResult.NOT_FOUND, why=f"{name} is no name of a unit")
        try:
            return await self._started(name)
        except EvictdError as error:
            return StartOutcome(result=StartResult.FAILED, why=str(error))

    async def _target(self, name: str, judge: Judge) -> tuple[Whole | None, StopOutcome | None]:
        """The unit as it is now, and why it is not stopped, where it is not."""
        unit = None if reading.name_problem(name) is not None else await self._shown(name)
        if unit is None or not unit.runs:
            return None, StopOutcome(result=StopResult.NOT_FOUND)
        if (why := never.of_unit(unit)) is not None:
            return None, _refused(why)
        now = await wholes(self.show, (unit,))
        (whole,) = now.found
        why = f"more than {UNITS_MAX} units go with it" if now.cut else never.protection(whole)
        return (whole, await judge(whole)) if why is None else (None, _refused(why))

    async def _started(self, name: str) -> StartOutcome:
        unit = await self._shown(name)
        if unit is None or unit.load_state == "not-found":
            why = f"{name} has no file any more"
            return StartOutcome(result=StartResult.NOT_FOUND, why=why)
        if unit.runs and unit.active_state != "deactivating":
            return StartOutcome(result=StartResult.RUNNING)
        if unit.load_state != "loaded" or unit.refuses_start:
            why = "its file forbids it" if unit.refuses_start else f"it is {unit.load_state}"
            return StartOutcome(result=StartResult.REFUSED, why=why)
        try:
            answer = await self._systemctl.run("start", "--", name, seconds=START_SECONDS)
        except PeerError as error:  # a start that takes long may have come far enough
            answer = Answer(code=1, complaint=str(error))
        now = await self._shown(name)
        if now is not None and (now.runs or answer.code == 0):
            return StartOutcome(result=StartResult.STARTED)
        state = "gone" if now is None else f"{now.active_state} ({now.sub_state})"
        why = answer.complaint or f"systemd says {state} of it after the start"
        return StartOutcome(result=StartResult.FAILED, why=why)

    async def _shown(self, name: str) -> Unit | None:
        return next((unit for unit in await self.show((name,)) if name in unit.names), None)


def _refused(why: str) -> StopOutcome:
    return StopOutcome(result=StopResult.REFUSED, why=f"it is protected: {why}")
