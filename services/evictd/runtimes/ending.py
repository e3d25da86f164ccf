"""One stop for which several may ask: a second wish shortens the wait and is told the same end.

It knows neither processes nor units.
"""

from abc import ABC, abstractmethod

import anyio

from evictd.core.duty.outcomes import StopOutcome, StopResult

KILL_SECONDS = 10.0
"""After SIGKILL only a process stuck in the kernel is left for so long."""

CUT_SHORT = StopOutcome(result=StopResult.FAILED, why="the stop was cut short")


class Ending(ABC):
    """One stop that runs. `carry_out` is called once, `join` by everyone who comes later."""

    def __init__(self) -> None:
        self._deadline_seconds = float("inf")
        self._over = anyio.Event()
        self._outcome = CUT_SHORT

    async def join(self, grace_seconds: int | None) -> StopOutcome:
        """Shorten the wait to this grace from now, if that is sooner, and wait for the same end."""
        self._shorten(grace_seconds)
        await self._over.wait()
        return self._outcome

    async def carry_out(self, grace_seconds: int | None) -> StopOutcome:
        """Stop and wait. When it is cancelled, those who joined are told so."""
        self._shorten(grace_seconds)
        try:
            self._outcome = await self._stopped()
        finally:
            self._over.set()
        return self._outcome

    def _shorten(self, grace_seconds: int | None) -> None:
        asked_seconds = anyio.current_time() + self._wait_seconds(grace_seconds)
        self._deadline_seconds = min(self._deadline_seconds, asked_seconds)

    @abstractmethod
    def _wait_seconds(self, grace_seconds: int | None) -> float:
        """Until SIGKILL. `grace_seconds` None: the workload's own."""

    @abstractmethod
    async def _stopped(self) -> StopOutcome:
        """The stop itself; `_deadline_seconds` may come nearer meanwhile."""
