"""A runtime in memory.

Workloads that begin, end, are deaf or fail as a test or a demonstration says.

It keeps the promises of `evictd.runtimes.interface` under the same contract suite as the real ones,
on whatever clock the event loop has, so that it works on virtual time.
"""

from collections.abc import AsyncIterator
from itertools import count

import anyio
from msgspec import structs

from evictd.core.duty.outcomes import StartOutcome, StartResult, StopOutcome, StopResult
from evictd.runtimes import Change, ChangeKind, Listing, Workload, life_uid
from evictd_schemas import Pod, PodReference

OWN_GRACE_SECONDS = 10
"""Grace of a workload whose pod says nothing."""
HINTS_MAX = 1_000
"""Hints waiting for one watcher; beyond it the oldest are dropped, as they are only hints."""
ENDED_MAX = 1_000
"""Ended workloads that can be started again; beyond it the oldest are as good as removed."""


class _Life:
    """One running workload. `stops_in_seconds` None: it ignores the stop signal."""

    def __init__(self, workload: Workload, stops_in_seconds: float | None) -> None:
        self.workload = workload
        self.stops_in_seconds = stops_in_seconds
        self.deadline_seconds = float("inf")
        self.changed = anyio.Event()
        self.over = False

    def end_by(self, seconds: float) -> None:
        """It ends then at latest."""
        self.deadline_seconds = min(self.deadline_seconds, seconds)
        self.changed.set()
        self.changed = anyio.Event()


class FakeRuntime:
    """A `Runtime`.

    What it was asked to stop is in `stops`, what to start in `starts`, in the order of the calls.
    """

    name = "fake"

    def __init__(self) -> None:
        self._lives: dict[tuple[str, str], _Life] = {}
        self._ended_lives: dict[tuple[str, str], _Life] = {}
        self._starts = count(1)
        self._watchers: list[tuple[list[Change], anyio.Event]] = []
        self._closed = anyio.Event()
        self.stops: list[tuple[PodReference, int | None]] = []
        self.starts: list[tuple[str, str]] = []
        self.failure: str | None = None
        """While set, each stop and each start fails with this reason."""
        self.start_failure: str | None = None
        """While set, each start fails with this reason."""
        self.start_seconds = 0.0
        """How long each start takes."""
        self.complete = True
        """False: listings say of themselves that something is missing."""

    def begin(
        self, pod: Pod, *, stops_in_seconds: float | None = 0.0, uid: str | None = None
    ) -> PodReference:
        """Run a workload; of the same name again it is another life.

        Its `uid` is made here, unless given.
        """
        runtime_id = f"{pod.namespace}/{pod.name}"
        own_uid = uid or life_uid(runtime_id, str(next(self._starts)))
        pod = structs.replace(pod, uid=own_uid, runtime=self.name, runtime_id=runtime_id)
        life = _Life(Workload(pod=pod), stops_in_seconds)
        self._lives[pod.namespace, pod.name] = life
        self._ended_lives.pop((pod.namespace, pod.name), None)
        self._hint(Change(kind=ChangeKind.STARTED, runtime_id=runtime_id))
        return life.workload.reference

    def end(self, namespace: str, name: str) -> None:
        """It ends by itself, or somebody else ends it."""
        life = self._lives.pop((namespace, name))
        if len(self._ended_lives) >= ENDED_MAX:
            self._ended_lives.pop(next(iter(self._ended_lives)))
        self._ended_lives[namespace, name] = life
        life.over = True
        life.end_by(0.0)
        runtime_id = life.workload.pod.runtime_id
        self._hint(Change(kind=ChangeKind.ENDED, runtime_id=runtime_id))

    def remove(self, namespace: str, name: str) -> None:
        """What has ended is taken away: nobody can start it any more."""
        del self._ended_lives[namespace, name]

    async def list(self) -> Listing:
        """What runs. [Runtime.list]"""
        workloads = tuple(self._lives[name].workload for name in sorted(self._lives))
        return Listing(workloads=workloads, complete=self.complete)

    async def watch(self) -> AsyncIterator[Change]:
        """Hints. [Runtime.watch]"""
        hints: list[Change] = []
        news = anyio.Event()
        while not self._closed.is_set():
            self._watchers.append((hints, news))
            await news.wait()
            self._watchers.remove((hints, news))
            for change in hints:
                yield change
            hints, news = [], anyio.Event()

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        """End it after its own time or the grace. [Runtime.stop]"""
        self.stops.append((pod, grace_seconds))
        life = self._lives.get((pod.namespace, pod.name))
        if life is None:
            return StopOutcome(result=StopResult.NOT_FOUND)
        if life.workload.pod.uid != pod.uid:
            return StopOutcome(result=StopResult.OTHER_UID)
        if self.failure is not None:
            return StopOutcome(result=StopResult.FAILED, why=self.failure)
        if life.workload.pod.protected:
            return StopOutcome(result=StopResult.REFUSED, why="it is protected")
        return await self._ended(life, _grace(life.workload.pod, grace_seconds))

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        """What ended begins another life, as it was. [Runtime.start]"""
        del runtime_id
        self.starts.append((namespace, name))
        if (namespace, name) in self._lives:
            return StartOutcome(result=StartResult.RUNNING)
        ended = self._ended_lives.get((namespace, name))
        if ended is None:
            return StartOutcome(result=StartResult.NOT_FOUND, why="it was removed")
        await anyio.sleep(self.start_seconds)
        if (failure := self.failure or self.start_failure) is not None:
            return StartOutcome(result=StartResult.FAILED, why=failure)
        self.begin(ended.workload.pod, stops_in_seconds=ended.stops_in_seconds)
        return StartOutcome(result=StartResult.STARTED)

    async def keeps(self, namespace: str, name: str, runtime_id: str) -> bool | None:
        """What runs or has ended, and was not taken away. [Keeper]"""
        del runtime_id
        return (namespace, name) in self._lives or (namespace, name) in self._ended_lives

    async def close(self) -> None:
        """End the watchers. [Runtime.close]"""
        self._closed.set()
        for _, news in self._watchers:
            news.set()

    async def _ended(self, life: _Life, grace_seconds: float) -> StopOutcome:
        deaf = life.stops_in_seconds is None or life.stops_in_seconds > grace_seconds
        wait_seconds = grace_seconds if deaf else life.stops_in_seconds or 0.0
        life.end_by(anyio.current_time() + wait_seconds)
        while not life.over and (rest := life.deadline_seconds - anyio.current_time()) > 0:
            with anyio.move_on_after(rest):
                await life.changed.wait()
        if not life.over:
            self.end(life.workload.pod.namespace, life.workload.pod.name)
        return StopOutcome(result=StopResult.GONE, why="SIGKILL" if deaf else "SIGTERM")

    def _hint(self, change: Change) -> None:
        for hints, news in self._watchers:
            if len(hints) < HINTS_MAX:
                hints.append(change)
            news.set()


def _grace(pod: Pod, asked_seconds: int | None) -> int:
    if asked_seconds is not None:
        return asked_seconds
    own_seconds = pod.termination_grace_period_seconds
    return OWN_GRACE_SECONDS if own_seconds is None else own_seconds
