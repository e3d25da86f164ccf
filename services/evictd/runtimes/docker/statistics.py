"""What an engine itself says that a container uses: slow, and asked only where nothing else tells.

The machine's own files say the same sooner and better; where an engine runs its containers out of
our sight there are none. [design, law 12: the figure says what it includes]
"""

from collections.abc import Mapping
from datetime import datetime

import anyio
from msgspec import Struct

from evictd.core.errors import PeerError
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.figures import memory_statistics
from evictd.runtimes.docker.inspection import Information
from evictd_schemas import MemoryStatistics

AT_ONCE = 4
"""Each holds a connection of the engine's for one or two seconds."""


class Statistics(Struct, frozen=True, kw_only=True):
    """The statistics call of one engine."""

    engine: Engine

    async def usage(
        self, container_ids: Mapping[str, str], information: Information, time: datetime
    ) -> dict[str, MemoryStatistics]:
        """Of these containers, under the keys given; without those of which nothing is known."""
        if information.shares_groups:
            return {}
        limit = anyio.CapacityLimiter(AT_ONCE)
        found: dict[str, MemoryStatistics] = {}

        async def ask(key: str, container_id: str) -> None:
            async with limit:
                try:
                    figures = await self.engine.statistics(container_id)
                except PeerError:  # it stays without statistics, which is told
                    return
            if figures is not None:
                memory = memory_statistics(figures, information, time)
                found.update({} if memory is None else {key: memory})

        async with anyio.create_task_group() as tasks:
            for key, container_id in container_ids.items():
                tasks.start_soon(ask, key, container_id)
        return found
