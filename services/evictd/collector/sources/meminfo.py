"""The machine's memory as `/proc/meminfo` tells it, corrected for what it does not tell.

Huge pages are neither free nor in anyone's working set; the ZFS cache looks used and is not; an old
kernel has no MemAvailable; a container's private meminfo may hold figures that underflow.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from evictd.collector.sources import files
from evictd.core.errors import HostError
from evictd.shell.kernel_text import lines, whole_number

KIBIBYTE = 1024
MEMORY_MAX_BYTES = 1 << 56
"""Larger than any machine: an underflow, not a figure."""
LOW_WATERMARK_SHARE = 5 / 4
"""The kernel's low watermark over its minimum one, with the default scale factor."""


class MachineMemory(Struct, frozen=True, kw_only=True):
    """Bytes. `estimated`: the kernel gave no MemAvailable. `huge_pages_bytes`: reserved for those.

    `used_bytes`: an estimate of the working set, for machines whose root group cannot be read.
    """

    total_bytes: int
    available_bytes: int
    huge_pages_bytes: int
    swap_total_bytes: int
    swap_free_bytes: int
    used_bytes: int | None = None
    estimated: bool = False


def read(proc: Path) -> MachineMemory:
    """Read now. Raises `HostError` naming a key that is missing or absurd."""
    figures = parse(files.required(proc / "meminfo"))
    return machine_memory(
        figures,
        spare_arc_bytes=spare_arc_bytes(files.text(proc / "spl/kstat/zfs/arcstats")),
        minimum_free_bytes=(files.amount(proc / "sys/vm/min_free_kbytes") or 0) * KIBIBYTE,
    )


def is_private(proc: Path) -> bool:
    """Whether another file is mounted over meminfo, as system containers do. [proc(5), mountinfo]

    Then the figures are not the machine's, and nothing else of the machine may be mixed in.
    """
    mounts = files.text(proc / "self/mountinfo") or ""
    places = (line.split(" ")[4] for line in lines(mounts) if line.count(" ") > 4)
    return any(place == f"{proc}/meminfo" for place in places)


def parse(content: str) -> dict[str, int]:
    """Each key in bytes; counts (HugePages_Total) as they are. Refuses what is no number."""
    figures = {}
    for line in lines(content):
        key, _, rest = line.partition(":")
        digits, _, unit = rest.strip().partition(" ")
        if digits:
            scale = KIBIBYTE if unit == "kB" else 1
            figures[key] = whole_number(digits, f"meminfo: {key}") * scale
    return figures


def machine_memory(
    figures: Mapping[str, int], *, spare_arc_bytes: int = 0, minimum_free_bytes: int = 0
) -> MachineMemory:
    """The corrected figures; available and free are never above their totals."""
    total = _needed(figures, "MemTotal")
    if not 0 < total < MEMORY_MAX_BYTES:
        raise HostError(f"meminfo: MemTotal of {total} bytes cannot be")
    available = figures.get("MemAvailable")
    estimated = available is None
    if available is None:
        available = estimated_available_bytes(figures, minimum_free_bytes)
    if available >= MEMORY_MAX_BYTES:
        raise HostError(f"meminfo: MemAvailable of {available} bytes cannot be")
    swap_total = figures.get("SwapTotal", 0)
    swap_total = swap_total if swap_total < MEMORY_MAX_BYTES else 0
    swap_free = figures.get("SwapFree", 0)
    huge_pages = min(total, huge_pages_bytes(figures))
    return MachineMemory(
        total_bytes=total,
        available_bytes=min(total - huge_pages, available + spare_arc_bytes),
        huge_pages_bytes=huge_pages,
        swap_total_bytes=swap_total,
        swap_free_bytes=swap_free if swap_free <= swap_total else 0,
        used_bytes=used_bytes(figures),
        estimated=estimated,
    )


def estimated_available_bytes(figures: Mapping[str, int], minimum_free_bytes: int) -> int:
    """What the kernel itself computes from 3.14 on: free, file pages and slab, less what must stay.

    Shared memory lies in the page cache but cannot be dropped, so that the file lists count, or
    else Cached less Shmem.
    """
    low = int(minimum_free_bytes * LOW_WATERMARK_SHARE)
    free = _needed(figures, "MemFree")
    if "Active(file)" in figures and "Inactive(file)" in figures:
        cache = figures["Active(file)"] + figures["Inactive(file)"]
    elif "Cached" in figures:
        cache = figures["Cached"] + figures.get("Buffers", 0) - figures.get("Shmem", 0)
    else:
        raise HostError("meminfo: MemAvailable is missing, and without Cached it has no estimate")
    slab = figures.get("SReclaimable", 0)
    droppable = cache - min(cache // 2, low) + slab - min(slab // 2, low)
    return max(0, free - low + droppable)


def huge_pages_bytes(figures: Mapping[str, int]) -> int:
    """All sizes together (Hugetlb); old kernels know only the default size."""
    if "Hugetlb" in figures:
        return figures["Hugetlb"]
    return figures.get("HugePages_Total", 0) * figures.get("Hugepagesize", 0)


def used_bytes(figures: Mapping[str, int]) -> int | None:
    """Anonymous and file pages less inactive file pages: the root group's working set, summed."""
    keys = ("AnonPages", "Cached", "Inactive(file)")
    if any(key not in figures for key in keys):
        return None
    pages = figures["AnonPages"] + figures["Cached"] + figures.get("Buffers", 0)
    return max(0, pages - figures["Inactive(file)"])


def spare_arc_bytes(arcstats: str | None) -> int:
    """What the ZFS cache holds above its minimum and gives back. Lines of `name type value`."""
    if arcstats is None:
        return 0
    figures = {}
    for line in lines(arcstats):
        words = line.split()
        if len(words) == 3 and words[0] in ("size", "c_min"):
            figures[words[0]] = whole_number(words[2], f"arcstats: {words[0]}")
    return max(0, figures.get("size", 0) - figures.get("c_min", 0)) if "c_min" in figures else 0


def _needed(figures: Mapping[str, int], key: str) -> int:
    if key not in figures:
        raise HostError(f"meminfo: {key} is missing")
    return figures[key]
