"""A simulated machine.

Workloads whose memory follows a curve, listed, stopped and started like real ones.

It is a `Runtime` and can say what a collector would see. It reads no clock: the moment is handed
in.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid5

import anyio

from evictd.core.duty.outcomes import StartOutcome, StartResult, StopOutcome, StopResult
from evictd.core.moments import Now
from evictd.core.signals.names import MEMORY_AVAILABLE
from evictd.runtimes import Change, ChangeKind, Listing, Workload
from evictd_schemas import (
    DeclaredResponder,
    MemoryStatistics,
    Observation,
    Pod,
    PodReference,
    PodStatistics,
    ProcessStatistics,
    SignalReading,
)

MIB = 1 << 20
SIMULATED = UUID("8f7a3b52-6f0e-5c53-9c1c-6c2b7d1c4e11")
"""The name space of simulated uids: the same machine has the same uids in every run."""
BOOT = str(uuid5(SIMULATED, "boot"))

Curve = Callable[[float], float]
"""Seconds since the workload started to MiB in use."""


def steady(mib: float) -> Curve:
    """The same all the time."""
    return lambda _seconds: mib


def growing(start_mib: float, mib_per_second: float, top_mib: float) -> Curve:
    """From a start, at a rate, up to a top."""
    return lambda seconds: min(top_mib, start_mib + mib_per_second * max(0.0, seconds))


def stepping(mib: float, at_seconds: float, then_mib: float) -> Curve:
    """The same until a moment, and the same from then on."""
    return lambda seconds: mib if seconds < at_seconds else then_mib


@dataclass(kw_only=True)
class SimulatedWorkload:
    """One workload.

    `stop_seconds` is how long it takes after SIGTERM; beyond the grace it is killed.
    """

    namespace: str
    name: str
    memory: Curve
    request_mib: int = 0
    priority: int = 0
    critical: bool = False
    restore: str = "auto"
    action: str = "stop"
    group: str | None = None
    depends_on: tuple[str, ...] = ()
    starts_at_seconds: float = 0
    stop_seconds: float = 0.2
    grace_seconds: int = 10
    responders: tuple[DeclaredResponder, ...] = ()
    life: int = 1
    started_at_seconds: float | None = None
    stopped: bool = False

    @property
    def uid(self) -> str:
        """Of the present life."""
        return str(uuid5(SIMULATED, f"{self.namespace}/{self.name}/{self.life}"))

    @property
    def reference(self) -> PodReference:
        """Name and uid of the present life."""
        return PodReference(namespace=self.namespace, name=self.name, uid=self.uid)


@dataclass(kw_only=True)
class SimulatedMachine:
    """Memory of one machine and what runs on it."""

    node: str
    memory_mib: int
    workloads: list[SimulatedWorkload] = field(default_factory=list)
    interval_seconds: float = 1.0
    name: str = "simulated"
    killed: list[PodReference] = field(default_factory=list)
    """Every life that was ended through `stop`, in order."""
    _changes: anyio.Event | None = None
    _now_seconds: float = 0

    def add(self, workload: SimulatedWorkload) -> SimulatedWorkload:
        """Put one more workload on the machine."""
        self.workloads.append(workload)
        return workload

    def observe(self, now: Now, sequence: int | None = None) -> Observation:
        """What a collector would publish at this moment."""
        self._now_seconds = now.boot_seconds
        pods = tuple(self._pod(workload, now.utc) for workload in self._running())
        available = self.memory_mib * MIB - sum(self._used(one) for one in self._running())
        reading = SignalReading(
            available=max(0, available),
            capacity=self.memory_mib * MIB,
            time=now.utc,
            views={"working_set": max(0, available), "mem_available": max(0, available)},
        )
        return Observation(
            node=self.node,
            time=now.utc,
            sequence=sequence,
            boot_id=BOOT,
            uptime_seconds=now.boot_seconds,
            interval_seconds=self.interval_seconds,
            signals={MEMORY_AVAILABLE: reading},
            pods=pods,
        )

    async def list(self) -> Listing:
        """All that runs."""
        return Listing(
            workloads=tuple(Workload(pod=self._pod(workload, None)) for workload in self._running())
        )

    async def watch(self) -> AsyncIterator[Change]:
        """A hint for every start and stop."""
        while True:
            self._changes = self._changes or anyio.Event()
            await self._changes.wait()
            yield Change(kind=ChangeKind.LOST)

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        """SIGTERM, the workload's own time to stop, SIGKILL at the end of the grace."""
        workload = self._find(pod.namespace, pod.name)
        if workload is None:
            return StopOutcome(result=StopResult.NOT_FOUND, why="it does not run any more")
        if workload.uid != pod.uid:
            return StopOutcome(result=StopResult.OTHER_UID, why="it was started anew")
        grace = workload.grace_seconds if grace_seconds is None else grace_seconds
        await anyio.sleep(min(workload.stop_seconds, grace))
        killed = workload.stop_seconds > grace
        if workload.uid == pod.uid and not workload.stopped:
            workload.stopped = True
            self.killed.append(pod)
            self._changed()
        return StopOutcome(
            result=StopResult.GONE, why="SIGKILL after the grace" if killed else "SIGTERM"
        )

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        """The next life of a workload that was stopped. [Runtime.start]"""
        del runtime_id
        for workload in self.workloads:
            if (workload.namespace, workload.name) == (namespace, name):
                return self._started(workload)
        return StartOutcome(result=StartResult.NOT_FOUND, why="there is no such workload")

    async def close(self) -> None:
        """Nothing to give back."""

    def _started(self, workload: SimulatedWorkload) -> StartOutcome:
        if not workload.stopped:
            return StartOutcome(result=StartResult.RUNNING)
        workload.life += 1
        workload.stopped = False
        workload.started_at_seconds = None
        self._changed()
        return StartOutcome(result=StartResult.STARTED)

    def _changed(self) -> None:
        if self._changes is not None:
            self._changes.set()
            self._changes = None

    def _find(self, namespace: str, name: str) -> SimulatedWorkload | None:
        for workload in self._running():
            if (workload.namespace, workload.name) == (namespace, name):
                return workload
        return None

    def _running(self) -> tuple[SimulatedWorkload, ...]:
        running = tuple(
            workload
            for workload in self.workloads
            if not workload.stopped and workload.starts_at_seconds <= self._now_seconds
        )
        for workload in running:
            if workload.started_at_seconds is None:
                workload.started_at_seconds = self._now_seconds
        return running

    def _used(self, workload: SimulatedWorkload) -> int:
        started = workload.started_at_seconds or 0.0
        return int(workload.memory(self._now_seconds - started) * MIB)

    def _pod(self, workload: SimulatedWorkload, time: datetime | None) -> Pod:
        return Pod(
            namespace=workload.namespace,
            name=workload.name,
            uid=workload.uid,
            runtime=self.name,
            runtime_id=f"{workload.name}-{workload.life}",
            priority=workload.priority,
            critical=workload.critical,
            labelled=True,
            restore=workload.restore,
            action=workload.action,
            group=workload.group,
            depends_on=workload.depends_on,
            termination_grace_period_seconds=workload.grace_seconds,
            requests={"memory": workload.request_mib * MIB} if workload.request_mib else {},
            eviction_responders=workload.responders,
            stats=PodStatistics(
                memory=MemoryStatistics(time=time, working_set_bytes=self._used(workload)),
                process_stats=ProcessStatistics(process_count=1),
            ),
        )
