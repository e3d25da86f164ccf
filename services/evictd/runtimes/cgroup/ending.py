"""The end of one group: SIGTERM, the grace, SIGKILL until it is empty."""

import signal
from functools import partial

import anyio

from evictd.core.duty.outcomes import StopOutcome, StopResult
from evictd.core.errors import HostError
from evictd.runtimes.cgroup import group as groups
from evictd.runtimes.cgroup.group import Group
from evictd.runtimes.ending import KILL_SECONDS, Ending
from evictd.shell.blocking import RunBlocking

LOOK_SECONDS = 0.02
"""Between two looks whether it is empty: a stop is noticed about as fast as processes end."""
OWN_GRACE_SECONDS = 10
"""The grace of a group without any setting, as engines have it for containers."""


class GroupEnding(Ending):
    """Of one life of a group."""

    def __init__(self, *, uid: str, group: Group, run_blocking: RunBlocking) -> None:
        super().__init__()
        self.uid = uid
        self._group = group
        self._run_blocking = run_blocking

    def _wait_seconds(self, grace_seconds: int | None) -> float:
        return OWN_GRACE_SECONDS if grace_seconds is None else grace_seconds

    async def _stopped(self) -> StopOutcome:
        try:
            return await self._ended()
        except HostError as error:
            return StopOutcome(result=StopResult.FAILED, why=str(error))

    async def _ended(self) -> StopOutcome:
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
