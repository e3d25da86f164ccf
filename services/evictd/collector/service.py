"""The collector as a worker: it looks, publishes what it saw, and looks again when it should.

It decides nothing about pressure. When to look next is in `rhythm`, what a look finds in `sight`.
[contract 3, Observation]
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import structlog
from anyio.abc import TaskGroup
from msgspec import Struct

from evictd.collector import composition, faults, kernel_kills, rhythm
from evictd.collector.kernel_kills import Tally
from evictd.collector.rhythm import Rhythm
from evictd.collector.sight import Seen, Sight
from evictd.collector.sources import files, memory
from evictd.collector.stalls import KernelStalls, Stalls
from evictd.core import observations
from evictd.core.effects import BusEffect
from evictd.core.errors import EvictdError, HostError
from evictd.core.orders import OrderState
from evictd.core.problems import Problem
from evictd.runtimes import Change, Runtime
from evictd.shell.bus import Delivery, Listing, attached
from evictd.shell.publisher import Publisher
from evictd.shell.reception import Reception
from evictd.shell.supervise import Outside
from evictd_schemas import Observation, OrderStatus, Pressure, SignalReading, topics
from evictd_schemas.sources import Sources
from evictd_schemas.topics import Place, Role

ARM_SECONDS = 30.0
"""A stall trigger that was refused or lost is tried again after this: its group may come later."""
HEED_AGAIN_SECONDS = 10.0
"""A runtime whose hints ended with an error is listened to again after this."""
TIMER_SLACK_SECONDS = 0.001
"""A timer of the loop may be that early: it is not set again for the rest."""
TOO_MANY_PODS = (
    "the workloads do not fit one message of 1 MiB; those that use the least memory are left out"
)

log = structlog.get_logger(__name__)


class LookAgain(Struct, frozen=True, kw_only=True):
    """Look as soon as the shortest period allows; `cause` is for people."""

    cause: str


class Collector:
    """One node's collector. It serves the home node only. [contract 2]"""

    role = Role.COLLECTOR

    def __init__(
        self,
        outside: Outside[None, LookAgain, BusEffect],
        sources: Sources,
        runtimes: Sequence[Runtime],
        stalls: Stalls | None = None,
    ) -> None:
        self._outside = outside
        self._sources = sources
        self._runtimes = tuple(runtimes)
        self._stalls = stalls or KernelStalls(outside.run_blocking)
        self._rhythm = Rhythm(
            interval_seconds=sources.interval_seconds,
            minimum_seconds=sources.minimum_interval_seconds,
        )
        self.publisher = Publisher(outside.bus, outside.epoch, self, outside.inbox.wake_at)
        self.reception = Reception(self.role, self.publisher, outside.clock, _problems)
        self.sight = Sight(
            sources=sources,
            runtimes=runtimes,
            clock=outside.clock,
            run_blocking=outside.run_blocking,
            answered=self._look_again,
        )
        self.looks = 0
        """Observations published since start."""
        self.pods_cut = 0
        """Pods left out of observations since start because the message would have been too big."""
        self._sequence = 0
        self._boot_id: str | None = None
        self._last_seconds: float | None = None
        self._planned_seconds: float | None = None
        self._arm_seconds = 0.0
        self._memory: SignalReading | None = None
        self._tally = Tally()
        self._failures: dict[str, str] = {}
        self._problems: tuple[str, ...] = ()

    @property
    def filters(self) -> Sequence[str]:
        node = self._outside.node
        return (
            topics.OBSERVATION.at(node),
            topics.PRESSURE.at(node),
            topics.EVICTION.everywhere(node),
            topics.ORDER_STATUS.everywhere(node),
        )

    def deliver(self, delivery: Delivery) -> None:
        opened = self.reception.open(delivery)
        if opened is None:
            if delivery.topic == topics.OBSERVATION.at(self._outside.node):
                self._look_again("what somebody wrote must not stand for this machine")
            return
        match opened.message:
            case Observation(sequence=sequence):
                self._sequence = max(self._sequence, (sequence or 0) + 1)
            case Pressure() as pressure if not opened.listed:
                self._judged(pressure)
            case OrderStatus(state=state) if not opened.listed and state != OrderState.RUNNING:
                self._look_again("an order has ended")
            case _ if opened.place.kind is topics.EVICTION and not opened.listed:
                self._look_again("an Eviction has changed")

    def listed(self, listing: Listing) -> None:
        """The collector speaks first: it depends on no list."""

    async def run(self) -> None:
        """Look until cancelled or the inbox is closed."""
        outside = self._outside
        now = outside.clock.now()
        self._sequence = max(self._sequence, int(now.utc.timestamp() * 1000))
        self._boot_id = await outside.run_blocking(self._read_boot_id)
        try:
            with attached(outside.bus, self):
                await self._look_on()
        finally:
            self._stalls.disarm()

    async def _look_on(self) -> None:
        async with anyio.create_task_group() as tasks:
            for runtime in self._runtimes:
                tasks.start_soon(self._heed, runtime)
            tasks.start_soon(self._glance)
            self._look_again("start")
            async for _ in self._outside.inbox:
                await self._turn(tasks)
            tasks.cancel_scope.cancel()

    def figures(self) -> dict[str, float]:
        """How the sources are, how much was seen and what was left out."""
        return {
            **self.sight.figures(),
            "looks": self.looks,
            "pods cut": self.pods_cut,
            "stall trigger": float(self._stalls.armed),
        }

    def troubles(self) -> Sequence[str]:
        """Sources that fail or do not answer now."""
        return self.sight.troubles()

    async def _turn(self, tasks: TaskGroup) -> None:
        """Look now, unless the last look was too short a time ago: then as soon as may be."""
        now_seconds = self._outside.clock.now().boot_seconds
        last_seconds = self._last_seconds
        if last_seconds is not None:
            earliest_seconds = last_seconds + self._rhythm.minimum_seconds
            if last_seconds <= now_seconds < earliest_seconds - TIMER_SLACK_SECONDS:
                self._planned_seconds = None
                self._plan(earliest_seconds)
                return
        self._last_seconds = now_seconds
        self._planned_seconds = None
        seen = await self.sight.look(tasks)
        self._memory = seen.look.signals.get(memory.MEMORY)
        self._tell(seen, self._publish(seen))
        elapsed = None if last_seconds is None else now_seconds - last_seconds
        self._plan(now_seconds + rhythm.after_look_seconds(elapsed, self._rhythm))
        await self._arm(now_seconds)

    def _publish(self, seen: Seen) -> tuple[str, ...]:
        """Returns why pods had to be left out."""
        whole = composition.observation(
            seen.look,
            node=self._outside.node,
            sequence=self._sequence,
            boot_id=self._boot_id,
            interval_seconds=self._sources.interval_seconds,
        )
        whole, left_out = composition.admissible(whole)
        bounded = composition.bounded(whole)
        self._sequence += 1
        self.looks += 1
        self.pods_cut += bounded.cut
        self.publisher.publish(topics.OBSERVATION.at(whole.node), bounded.observation)
        return (*left_out, TOO_MANY_PODS) if bounded.cut else left_out

    def _tell(self, seen: Seen, problems: tuple[str, ...]) -> None:
        """Events about what has changed since the last look."""
        node, time = self._outside.node, seen.look.now.utc
        self._tally, kill = kernel_kills.compare(self._tally, seen.kill_count, seen.measured)
        problems = (*problems, *seen.problems)[: faults.PROBLEMS_MAX]
        effects = [
            *faults.newly_failed(self._failures, seen.failures, node, time),
            *faults.newly_degraded(self._problems, problems, node, time),
        ]
        if kill is not None:
            effects.append(faults.system_oom(kill, node, self._boot_id, time))
        self._failures, self._problems = seen.failures, problems
        for effect in effects:
            self.publisher.emit(effect.topic, effect.event)

    def _judged(self, pressure: Pressure) -> None:
        if self._last_seconds is not None:
            wait = rhythm.after_pressure_seconds(pressure, self._rhythm)
            self._plan(self._last_seconds + wait)

    def _plan(self, boot_seconds: float) -> None:
        """Look at latest then; an earlier plan stands."""
        if self._planned_seconds is None or boot_seconds < self._planned_seconds:
            self._planned_seconds = boot_seconds
            self._outside.inbox.wake_at(self._outside.node, boot_seconds)

    def _look_again(self, cause: str) -> None:
        self._outside.inbox.feed(self._outside.node, LookAgain(cause=cause))

    async def _glance(self) -> None:
        """Look at memory alone, far more often than at the whole: it can be gone within a second.

        A source that fails is told by the next look.
        """
        while True:
            await anyio.sleep(rhythm.glance_seconds(self._memory))
            try:
                glanced = await self._outside.run_blocking(self.sight.memory)
            except (EvictdError, OSError):
                self._memory = None
                continue
            if self._memory is not None and rhythm.has_fallen(self._memory, glanced):
                self._look_again("memory falls")

    async def _heed(self, runtime: Runtime) -> None:
        """A runtime's hints bring the next look forward; without them looks come by time.

        A runtime that cannot be reached is told by its list, which is asked at each look.
        """
        while True:
            try:
                async for change in runtime.watch():
                    self._hinted(change)
            except (EvictdError, OSError):
                await anyio.sleep(HEED_AGAIN_SECONDS)
            else:
                return

    def _hinted(self, change: Change) -> None:
        del change  # whatever it is about, the list tells the truth
        self._plan(self._outside.clock.now().boot_seconds + rhythm.HINT_SECONDS)

    async def _arm(self, now_seconds: float) -> None:
        if not self._stalls.armed and now_seconds >= self._arm_seconds:
            self._arm_seconds = now_seconds + ARM_SECONDS
            with suppress(HostError):  # the source of the stalls cannot look either, and tells why
                place = await self._outside.run_blocking(self.sight.stall_file)
                if place is not None:
                    await self._stalls.arm(place, lambda: self._look_again("memory stalls"))

    def _read_boot_id(self) -> str | None:
        """None where it cannot be told: then times of the wall clock are all that is compared."""
        place = Path(self._sources.proc_path) / "sys/kernel/random/boot_id"
        try:
            boot_id = (files.text(place) or "").strip()
        except HostError as error:
            log.warning("this boot has no name", problem=str(error))
            return None
        return boot_id if boot_id.isprintable() and boot_id else None


def _problems(place: Place[Any], message: Any) -> Sequence[Problem]:
    """The collector judges nobody's message; it goes on only after an observation that is one."""
    if place.kind is topics.OBSERVATION:
        return observations.problems(place.node, message, None)
    return ()
