"""Memory of one control group, v1 or v2. [kubelet-eviction 2.2]"""

from pathlib import Path

from msgspec import Struct, structs

from evictd.collector.sources import files
from evictd.core.errors import HostError
from evictd.core.observations import AMOUNT_MAX


class GroupMemory(Struct, frozen=True, kw_only=True):
    """Bytes, descendants included.

    `cache_bytes`: file pages of both lists and reclaimable slab, what the kernel can take back.
    `limit_bytes`: the tightest of the group and its ancestors, None for unlimited.
    `swap_bytes`: None where swap is not accounted.
    """

    usage_bytes: int
    working_set_bytes: int
    anonymous_bytes: int
    shared_bytes: int
    cache_bytes: int
    swap_bytes: int | None = None
    limit_bytes: int | None = None


def read(folder: Path) -> GroupMemory | None:
    """The figures of a group; None when it is gone, or has no memory accounting.

    Raises `HostError` naming the file or the figure that makes no sense.
    """
    statistics = files.text(folder / "memory.stat")
    if statistics is None:
        return None
    figures = files.keyed(statistics, folder / "memory.stat")
    if (usage := files.amount(folder / "memory.usage_in_bytes")) is not None:
        return _plausible(folder, _first_version(folder, usage, figures))
    usage = files.amount(folder / "memory.current")
    if usage is None and "anon" in figures:
        usage = figures["anon"] + figures.get("file", 0)  # the root has no usage file on v2
    return None if usage is None else _plausible(folder, _second_version(folder, usage, figures))


def working_set_bytes(usage: int, figures: dict[str, int]) -> int:
    """Usage without inactive file pages, never below zero. v1 sums descendants as `total_`."""
    inactive = figures.get("total_inactive_file", figures.get("inactive_file", 0))
    return max(0, usage - inactive)


def _plausible(folder: Path, memory: GroupMemory) -> GroupMemory:
    """A counter of the kernel that has fallen below zero shows as an enormous one."""
    for name, figure in structs.asdict(memory).items():
        if figure is not None and figure > AMOUNT_MAX:
            raise HostError(f"{folder}/memory.stat: {name} of {figure} cannot be")
    return memory


def _first_version(folder: Path, usage: int, figures: dict[str, int]) -> GroupMemory:
    def total(key: str) -> int:
        return figures.get(f"total_{key}", figures.get(key, 0))

    limits = (
        files.limit(folder / "memory.limit_in_bytes"),
        files.limited(figures.get("hierarchical_memory_limit")),
    )
    swap_known = "total_swap" in figures or "swap" in figures
    return GroupMemory(
        usage_bytes=usage,
        working_set_bytes=working_set_bytes(usage, figures),
        anonymous_bytes=total("rss"),
        shared_bytes=total("shmem"),
        cache_bytes=min(usage, total("inactive_file") + total("active_file")),
        swap_bytes=total("swap") if swap_known else None,
        limit_bytes=_tightest(*limits),
    )


def _second_version(folder: Path, usage: int, figures: dict[str, int]) -> GroupMemory:
    cache = (
        figures.get("inactive_file", 0)
        + figures.get("active_file", 0)
        + figures.get("slab_reclaimable", 0)
    )
    return GroupMemory(
        usage_bytes=usage,
        working_set_bytes=working_set_bytes(usage, figures),
        anonymous_bytes=figures.get("anon", 0),
        shared_bytes=figures.get("shmem", 0),
        cache_bytes=min(usage, cache),
        swap_bytes=files.amount(folder / "memory.swap.current"),
        limit_bytes=_tightest(*_limits_upwards(folder)),
    )


def _limits_upwards(folder: Path) -> list[int | None]:
    """v2 shows no effective limit, so that each ancestor is asked; the root has no such file."""
    limits = []
    while (found := files.text(folder / "memory.max")) is not None:
        limits.append(files.limit_of(found, folder / "memory.max"))
        folder = folder.parent
    return limits


def _tightest(*limits: int | None) -> int | None:
    return min((figure for figure in limits if figure is not None), default=None)
