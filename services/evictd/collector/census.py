"""When what workloads occupy on disk is counted, and how much of it in one go.

Counting is slow and may be large: it gets a small share of one core, a limited time a round, and is
never waited for. While a disk is being filled it is done more often, because who fills it is asked
then. [design, profile host: disk and inodes]
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from evictd.collector.sources import storage
from evictd.collector.sources.filesystems import FileSystem
from evictd.collector.sources.storage import Occupied
from evictd.runtimes import Workload

CENSUS_SECONDS = 60.0
"""Between two rounds where nothing urges, as often as the kubelet does it."""
CORE_SHARE = 0.05
"""Of one core that counting may take, whatever urges: each round is followed by a rest."""
ROUND_SECONDS = 2.0
"""After so long a round ends; who was not counted in it is first in the next one."""
SHRUNK_SHARE = 0.001
"""Of a file system's capacity: when it has lost so much since the last round, who took it is of
interest."""


class Census:
    """The rounds. `interval_seconds`: that of the looks, where nothing makes them more frequent.

    Half of it is the shortest time between two rounds, since looks do not come to the millisecond.
    """

    def __init__(
        self, interval_seconds: float, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._pause_seconds = interval_seconds / 2
        self._seconds = seconds
        self._counts: dict[str, Occupied] = {}
        self._is_whole = True
        self._begun_seconds: float | None = None
        self._systems: dict[str, FileSystem] = {}

    def due(
        self, now_seconds: float, took_seconds: float, systems: Mapping[str, FileSystem]
    ) -> bool:
        """Whether a round begins now; `took_seconds`: how long the last one took."""
        begun = self._begun_seconds
        if begun is not None:
            since = now_seconds - begun
            urged = not self._is_whole or self._shrunk(systems)
            pause = self._pause_seconds if urged else CENSUS_SECONDS
            if since < max(pause, took_seconds / CORE_SHARE):
                return False
        self._begun_seconds = now_seconds
        self._systems = dict(systems)
        return True

    def round(self, workloads: Sequence[Workload], time: datetime) -> dict[str, Occupied]:
        """Count as many as there is time for, who was counted longest ago first; blocks.

        Who was not reached keeps its last count.
        """
        there = {workload.pod.uid for workload in workloads}
        self._counts = {uid: held for uid, held in self._counts.items() if uid in there}
        places = {uid: index for index, uid in enumerate(self._counts)}
        waiting = sorted(workloads, key=lambda workload: places.get(workload.pod.uid, -1))
        end_seconds = self._seconds() + ROUND_SECONDS
        for index, workload in enumerate(waiting):
            if index and self._seconds() >= end_seconds:
                self._is_whole = False
                return dict(self._counts)
            counted = storage.measure(workload, time)
            self._counts.pop(workload.pod.uid, None)
            if counted is not None:
                self._counts[workload.pod.uid] = counted
        self._is_whole = True
        return dict(self._counts)

    def _shrunk(self, systems: Mapping[str, FileSystem]) -> bool:
        return any(
            _lost(before.available_bytes, now.available_bytes, now.capacity_bytes)
            or _lost(before.inodes_free, now.inodes_free, now.inodes)
            for name, now in systems.items()
            if (before := self._systems.get(name)) is not None
        )


def _lost(before: int, now: int, capacity: int) -> bool:
    return before - now > capacity * SHRUNK_SHARE
