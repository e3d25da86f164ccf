"""The end of one group: SIGTERM, the grace, SIGKILL until it is empty.

A second wish for the same life joins: it shortens the wait and is told the same end.
"""

import signal
from functools import partial

import anyio

from evictd.core.duty.outcomes import StopOutcome, StopResult
from evictd.runtimes.cgroup import group as groups
from evictd.runtimes.cgroup.group import Group
from evictd.shell.blocking import RunBlocking

LOOK_SECONDS = 0.02
"""Between two looks whether it is empty: a stop is noticed about as fast as processes end."""
KILL_SECONDS = 10.0
"""After SIGKILL only a process stuck in the kernel is left for so long."""

CUT_SHORT = StopOutcome(result=StopResult.FAILED, why="the stop was cut short")


class Ending:
    """One stop that runs. `carry_out` is called once, `join` by everyone who comes later."""

    def __init__(self, *, uid: str, group: Group, run_blocking: RunBlocking) -> None:
        self.uid = uid
        self._group = group
        self._run_blocking = run_blocking
        self._deadline_seconds = float("inf")
        self._over = anyio.Event()
        self._outcome = CUT_SHORT

    async def join(self, grace_seconds: int) -> StopOutcome:
        """Shorten the wait to this grace from now, if that is sooner, and wait for the same end."""
        self._shorten(grace_seconds)
        await self._over.wait()
        return self._outcome

    async def carry_out(self, grace_seconds: int) -> StopOutcome:
        """Signal and wait. When it is cancelled, those who joined are told so."""
        self._shorten(grace_seconds)
        try:
            self._outcome = await self._signalled()
        finally:
            self._over.set()
        return self._outcome

    def _shorten(self, grace_seconds: int) -> None:
        asked_seconds = anyio.current_time() + grace_seconds
        self._deadline_seconds = min(self._deadline_seconds, asked_seconds)

    async def _signalled(self) -> StopOutcome:
        began_seconds = anyio.current_time()
        await self._run_blocking(partial(groups.send, self._group, signal.SIGTERM))
        while await self._populated():
            if anyio.current_time() >= self._deadline_seconds:
                return await self._killed(anyio.current_time() - began_seconds)
            await anyio.sleep(LOOK_SECONDS)
        return StopOutcome(result=StopResult.GONE, why="SIGTERM")

    async def _killed(self, waited_seconds: float) -> StopOutcome:
        give_up_seconds = anyio.current_time() + KILL_SECONDS
        while inside := await self._run_blocking(partial(groups.process_ids, self._group)):
            if anyio.current_time() >= give_up_seconds:
                why = f"{len(inside)} processes are left {KILL_SECONDS:.0f} s after SIGKILL"
                return StopOutcome(result=StopResult.FAILED, why=why)
            await self._run_blocking(partial(groups.kill, self._group))
            await anyio.sleep(LOOK_SECONDS)
        why = f"SIGTERM, then SIGKILL after {waited_seconds:.0f} s"
        return StopOutcome(result=StopResult.GONE, why=why)

    async def _populated(self) -> bool:
        return bool(await self._run_blocking(partial(groups.process_ids, self._group)))
