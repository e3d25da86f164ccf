"""The engine's statistics of one container, and what of them is a figure.

What is absent is None; a number that stands for "no limit" is no number.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from evictd.runtimes.docker.inspection import Information
from evictd.runtimes.hierarchies import bounded_bytes
from evictd_schemas import MemoryStatistics


class MemoryFigures(Struct, frozen=True, kw_only=True):
    """Bytes. `usage` absent: the kernel keeps no account. `stats` absent: Podman."""

    usage: int | None = None
    limit: int | None = None
    stats: dict[str, int] | None = None


class Figures(Struct, frozen=True, kw_only=True):
    """GET /containers/{id}/stats."""

    memory_stats: MemoryFigures = MemoryFigures()


def memory_statistics(
    figures: Figures, information: Information, time: datetime
) -> MemoryStatistics | None:
    """None where the kernel keeps no account: absent is not zero. [contract 3, Observation]

    Without the map of kinds, as Podman answers, nothing can be taken off for file pages.
    """
    used = bounded_bytes(figures.memory_stats.usage or 0)
    if used is None:
        return None
    kinds = figures.memory_stats.stats or {}
    inactive = _first(kinds, "total_inactive_file", "inactive_file")
    working_set = max(0, used - (inactive or 0))
    limit = _limit_bytes(figures.memory_stats.limit, information.mem_total)
    return MemoryStatistics(
        time=time,
        usage_bytes=used,
        working_set_bytes=working_set,
        available_bytes=None if limit is None else max(0, limit - working_set),
        rss_bytes=_first(kinds, "total_rss", "anon", "rss"),
        shmem_bytes=_first(kinds, "total_shmem", "shmem"),
        swap_bytes=_first(kinds, "total_swap", "swap"),
        includes_cache=inactive is None,
    )


def _limit_bytes(limit: int | None, machine_bytes: int) -> int | None:
    """Engines write the machine's whole memory, or a number beyond all memory, for "no limit"."""
    bounded = bounded_bytes(limit or 0)
    return None if bounded is None or 0 < machine_bytes <= bounded else bounded


def _first(kinds: Mapping[str, int], *names: str) -> int | None:
    """Of cgroup v1 the sum with all descendants comes first."""
    return next((kinds[name] for name in names if name in kinds), None)
