"""What a runtime tells of workloads that cannot be measured here.

It is slow, so that few are asked at a time, seldom, and never waited for: a look takes what was
told before, with the time at which it was asked.
"""

from collections.abc import Sequence

from anyio.abc import TaskGroup
from msgspec import Struct, structs

from evictd.collector.probe import Probe
from evictd.collector.sources.workloads import Measured
from evictd.core.moments import Now
from evictd.core.pods import reference
from evictd.runtimes import Meter, Runtime
from evictd.shell.clock import Clock
from evictd_schemas import MemoryStatistics, Pod, PodReference, PodStatistics

ROUND_SECONDS = 10.0
"""Between two rounds of questions: the usual interval of looks."""
WORKLOADS_MAX = 20
"""Asked in one round, those first whose figures are oldest."""
ROUND_DEADLINE_SECONDS = 60.0
"""A round takes some seconds; beyond this the runtime hangs."""
STALE_SECONDS = 300.0
"""An older figure is none."""


class Told(Struct, frozen=True, kw_only=True):
    """One answer, and when it was taken."""

    memory: MemoryStatistics
    boot_seconds: float


class ToldUsage:
    """Answers of all runtimes that can give any, by uid."""

    def __init__(self, runtimes: Sequence[Runtime], clock: Clock) -> None:
        self._meters = tuple(runtime for runtime in runtimes if isinstance(runtime, Meter))
        self._told: dict[str, Told] = {}
        self._wanted: tuple[PodReference, ...] = ()
        self._next_seconds = 0.0
        self._round: Probe[dict[str, MemoryStatistics]] = Probe(
            "told usage", self._ask, clock, deadline_seconds=ROUND_DEADLINE_SECONDS
        )

    def added(
        self, tasks: TaskGroup, now: Now, measured: Sequence[Measured]
    ) -> tuple[Measured, ...]:
        """The same, those without a figure of memory with what was told of them."""
        if self._round.use():
            answers = (self._round.value or {}).items()
            new = {uid: Told(memory=one, boot_seconds=now.boot_seconds) for uid, one in answers}
            self._told |= new
        missing = [look.pod for look in measured if _memory(look.pod) is None]
        self._forget({pod.uid for pod in missing}, now)
        if self._meters and missing and now.boot_seconds >= self._next_seconds:
            self._next_seconds = now.boot_seconds + ROUND_SECONDS
            self._wanted = tuple(map(reference, sorted(missing, key=self._age)[:WORKLOADS_MAX]))
            self._round.start(tasks)
        return tuple(self._with_told(look) for look in measured)

    async def _ask(self) -> dict[str, MemoryStatistics]:
        found: dict[str, MemoryStatistics] = {}
        for meter in self._meters:
            found |= await meter.usage(self._wanted)
        return found

    def _age(self, pod: Pod) -> float:
        told = self._told.get(pod.uid)
        return 0.0 if told is None else told.boot_seconds

    def _forget(self, uids: set[str], now: Now) -> None:
        self._told = {
            uid: told
            for uid, told in self._told.items()
            if uid in uids and now.boot_seconds - told.boot_seconds < STALE_SECONDS
        }

    def _with_told(self, look: Measured) -> Measured:
        told = self._told.get(look.pod.uid)
        if told is None:
            return look
        statistics = structs.replace(look.pod.stats or PodStatistics(), memory=told.memory)
        return structs.replace(look, pod=structs.replace(look.pod, stats=statistics))


def _memory(pod: Pod) -> MemoryStatistics | None:
    return None if pod.stats is None else pod.stats.memory
