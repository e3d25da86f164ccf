"""The end of one unit: systemd is told to stop it, and what is left after the grace is killed."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import anyio

from evictd.core.duty.outcomes import StopOutcome, StopResult
from evictd.core.errors import EvictdError
from evictd.runtimes.ending import KILL_SECONDS, Ending
from evictd.runtimes.systemd.systemctl import ANSWER_SECONDS, Answer, Systemctl
from evictd.runtimes.systemd.unit import Unit
from evictd.runtimes.systemd.whole import Whole

HEARD_SECONDS = 5.0
"""For systemd to hear of a stop before the first SIGKILL: what is only killed it might start again.
On a machine that is short of memory a program takes that long to begin."""
LOOK_AGAIN_SECONDS = 0.05
"""Between two questions whether it has."""
KILL_AGAIN_SECONDS = 1.0
"""Between two SIGKILLs: what systemd runs after a stop begins only then."""
OWN_SECONDS_MAX = 3_600.0
"""A unit whose own time has no end has this one. Of several that go together the longest counts."""


Show: TypeAlias = Callable[[Sequence[str]], Awaitable[tuple[Unit, ...]]]
"""The units of these names as they are then. Raises `EvictdError` where nobody tells."""


async def heard(show: Show, names: Sequence[str]) -> None:
    """Wait until systemd is seen to stop one of them.

    What goes with a unit may go before it, and a slice stays up as long as anything in it.
    """
    with anyio.move_on_after(HEARD_SECONDS):
        while True:
            if await _is_going(show, names):
                return
            await anyio.sleep(LOOK_AGAIN_SECONDS)


async def _is_going(show: Show, names: Sequence[str]) -> bool:
    try:
        units = await show(names)
    except EvictdError:
        return False
    return any(not unit.runs or unit.active_state == "deactivating" for unit in units)


class UnitEnding(Ending):
    """Of one unit with all that goes with it."""

    def __init__(self, whole: Whole, systemctl: Systemctl, show: Show) -> None:
        super().__init__()
        self._unit = whole.unit
        outside = (unit for unit in whole.dependants if unit.runs)
        self._dependants = tuple(unit.id for unit in outside)
        self._going = tuple(unit.id for unit in (whole.unit, *whole.along) if unit.runs)
        times = [unit.stop_seconds for unit in (whole.unit, *whole.along) if unit.runs]
        own = (OWN_SECONDS_MAX if time is None else time for time in times)
        self._own_seconds = max(own, default=0.0)
        self._systemctl = systemctl
        self._show = show
        self._began_seconds = anyio.current_time()
        self._answer: Answer | None = None
        self._news = anyio.Event()

    def _shorten(self, grace_seconds: int | None) -> None:
        super()._shorten(grace_seconds)
        self._tell()

    def _wait_seconds(self, grace_seconds: int | None) -> float:
        # systemd keeps the unit's own time itself; ours only comes in where that was not enough.
        return self._own_seconds + KILL_SECONDS if grace_seconds is None else grace_seconds

    async def _stopped(self) -> StopOutcome:
        killed_after_seconds: float | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._ask)
            await self._answered()
            if self._answer is None:
                await heard(self._show, self._going)
            if self._answer is None:
                killed_after_seconds = anyio.current_time() - self._began_seconds
                await self._killed()
            tasks.cancel_scope.cancel()
        try:
            return await self._confirmed(killed_after_seconds)
        except EvictdError as error:
            return StopOutcome(result=StopResult.FAILED, why=str(error))

    async def _ask(self) -> None:
        """The child waits until systemd is done."""
        self._answer = await self._said(("stop", "--", self._unit.id), seconds=None)
        self._tell()

    async def _killed(self) -> None:
        give_up_seconds = anyio.current_time() + KILL_SECONDS
        while self._answer is None and anyio.current_time() < give_up_seconds:
            # That there is nothing left to kill is no failure: the answer follows.
            await self._said(("kill", "--signal=SIGKILL", "--", self._unit.id, *self._dependants))
            await self._answered(min(anyio.current_time() + KILL_AGAIN_SECONDS, give_up_seconds))

    async def _said(self, words: tuple[str, ...], seconds: float | None = ANSWER_SECONDS) -> Answer:
        """A call that could not be made is one that failed; what became of the unit is shown."""
        try:
            return await self._systemctl.run(*words, seconds=seconds)
        except EvictdError as error:
            return Answer(code=1, complaint=str(error))

    async def _answered(self, until_seconds: float | None = None) -> None:
        """Until systemd is done or it is that late; without a word, until the grace is over."""
        while self._answer is None:
            end_seconds = self._deadline_seconds if until_seconds is None else until_seconds
            if anyio.current_time() >= end_seconds:
                return
            with anyio.move_on_after(end_seconds - anyio.current_time()):
                await self._news.wait()

    async def _confirmed(self, killed_after_seconds: float | None) -> StopOutcome:
        """By what systemd shows of this very life, whatever the child has said."""
        shown = await self._show((self._unit.id,))
        now = next((unit for unit in shown if self._unit.id in unit.names), None)
        if now is None or now.down or now.invocation_id != self._unit.invocation_id:
            return StopOutcome(result=StopResult.GONE, why=self._way(killed_after_seconds))
        complaint = "" if self._answer is None else self._answer.complaint
        why = complaint or f"systemd says {now.active_state} ({now.sub_state}) of it after the stop"
        return StopOutcome(result=StopResult.FAILED, why=why)

    def _way(self, killed_after_seconds: float | None) -> str:
        way = "stopped by systemd"
        if killed_after_seconds is not None:
            way += f", SIGKILL after {killed_after_seconds:.0f} s"
        if self._dependants:
            way += f"; with it {', '.join(self._dependants)}"
        if self._unit.triggered_by:
            way += f"; {', '.join(self._unit.triggered_by)} may start it again"
        return way

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()
