"""File system layouts: the thresholds derived from them, what each reclaims and measures.

[kubelet-eviction 2.3, 3.3 step 6, 3.4, 7, 8.4]
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec
from msgspec import Struct

from evictd.core.signals.names import (
    ALLOCATABLE_MEMORY_AVAILABLE,
    CONTAINERFS_AVAILABLE,
    CONTAINERFS_INODES_FREE,
    IMAGEFS_AVAILABLE,
    IMAGEFS_INODES_FREE,
    MEMORY_AVAILABLE,
    NODEFS_AVAILABLE,
    NODEFS_INODES_FREE,
)
from evictd.core.signals.thresholds import Threshold
from evictd_schemas import Layout

_T = TypeVar("_T")


class ReclaimStep(StrEnum):
    """What can be given back before any pod is evicted."""

    CONTAINERS = "containers"
    IMAGES = "images"


class DiskPart(StrEnum):
    """What of a pod's disk usage lies on the file system in question."""

    ROOT = "root"
    LOGS = "logs"
    LOCAL_VOLUMES = "local_volumes"


class Shape(StrEnum):
    """The layouts by name.

    `UNSPLIT`: containers on their own file system, images not; it behaves like `SINGLE` but derives
    no thresholds.
    """

    SINGLE = "single"
    DEDICATED_IMAGE_FS = "dedicated imagefs"
    SPLIT = "split"
    UNSPLIT = "unsplit"


NODEFS = (NODEFS_AVAILABLE, NODEFS_INODES_FREE)
IMAGEFS = (IMAGEFS_AVAILABLE, IMAGEFS_INODES_FREE)
CONTAINERFS = (CONTAINERFS_AVAILABLE, CONTAINERFS_INODES_FREE)

_BOTH = (ReclaimStep.CONTAINERS, ReclaimStep.IMAGES)
_RECLAIM: Mapping[Shape, tuple[tuple[ReclaimStep, ...], ...]] = {
    Shape.SINGLE: (_BOTH, _BOTH, _BOTH),
    Shape.DEDICATED_IMAGE_FS: ((), _BOTH, _BOTH),
    Shape.SPLIT: ((ReclaimStep.CONTAINERS,), (ReclaimStep.IMAGES,), (ReclaimStep.CONTAINERS,)),
}
"""Steps for nodefs, imagefs and containerfs signals, in that order."""

_ALL_PARTS = (DiskPart.ROOT, DiskPart.LOGS, DiskPart.LOCAL_VOLUMES)
_MEASURED: Mapping[Shape, tuple[tuple[DiskPart, ...], ...]] = {
    Shape.SINGLE: (_ALL_PARTS, _ALL_PARTS, _ALL_PARTS),
    Shape.DEDICATED_IMAGE_FS: (
        (DiskPart.LOGS, DiskPart.LOCAL_VOLUMES),
        (DiskPart.ROOT,),
        (DiskPart.ROOT,),
    ),
    Shape.SPLIT: (_ALL_PARTS, (), _ALL_PARTS),
}


def shape_of(layout: Layout | None) -> Shape:
    """The layout by name; without one, a single file system."""
    if layout is None or not (layout.dedicated_image_fs or layout.dedicated_container_fs):
        return Shape.SINGLE
    if not layout.dedicated_image_fs:
        return Shape.UNSPLIT
    return Shape.SPLIT if layout.dedicated_container_fs else Shape.DEDICATED_IMAGE_FS


def reclaim_steps(layout: Layout | None) -> dict[str, tuple[ReclaimStep, ...]]:
    """File system signal to the steps that may help it, in order. [kubelet-eviction 7]"""
    return _by_signal(_RECLAIM[_tabled(layout)])


def parts_measured(layout: Layout | None) -> dict[str, tuple[DiskPart, ...]]:
    """File system signal to the parts of a pod's usage that count for it. [kubelet-eviction 8.4]"""
    return _by_signal(_MEASURED[_tabled(layout)])


def same_disk(layout: Layout, signal: str) -> tuple[str, ...]:
    """The signals that tell the same of the same file system, itself included."""
    image = "image" if layout.dedicated_image_fs else "node"
    disks = ("node", image, "container" if layout.dedicated_container_fs else image)
    for column in zip(NODEFS, IMAGEFS, CONTAINERFS, strict=True):
        if signal in column:
            mine = disks[column.index(signal)]
            return tuple(name for name, disk in zip(column, disks, strict=True) if disk == mine)
    return (signal,)


def with_allocatable(thresholds: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """The thresholds and, for each hard one of memory, a copy for the allocatable signal.

    [kubelet-eviction 3.3 step 6]
    """
    kept = tuple(thresholds)
    copies = tuple(
        msgspec.structs.replace(threshold, signal=ALLOCATABLE_MEMORY_AVAILABLE)
        for threshold in kept
        if threshold.signal == MEMORY_AVAILABLE and threshold.hard
    )
    return kept + copies


class Derived(Struct, frozen=True, kw_only=True):
    """Thresholds for one layout.

    `inert`: slots of containerfs without a source, in which the kubelet leaves an entry that is
    never met. `configured`: the user had given such signals, which is worth a warning.
    """

    thresholds: tuple[Threshold, ...]
    inert: int = 0
    configured: bool = False


def with_containerfs(thresholds: tuple[Threshold, ...], layout: Layout | None) -> Derived:
    """Write the containerfs thresholds, hard and soft of both signals, over what the user gave.

    They are copies of those of the file system where writable layers lie. [kubelet-eviction 3.4]
    """
    shape = shape_of(layout)
    configured = any(threshold.signal in CONTAINERFS for threshold in thresholds)
    if shape is Shape.UNSPLIT:
        return Derived(thresholds=thresholds, configured=configured)
    sources = IMAGEFS if shape is Shape.DEDICATED_IMAGE_FS else NODEFS
    slots = {
        (target, hard): _copy(thresholds, source, target, hard=hard)
        for source, target in zip(sources, CONTAINERFS, strict=True)
        for hard in (True, False)
    }
    kept: list[Threshold] = []
    written = set()
    for threshold in thresholds:
        slot = (threshold.signal, threshold.hard)
        if slot not in slots:
            kept.append(threshold)
        elif slot not in written and (derived := slots[slot]) is not None:
            kept.append(derived)
            written.add(slot)
    appended = [
        derived for slot, derived in slots.items() if derived is not None and slot not in written
    ]
    return Derived(
        thresholds=(*kept, *appended),
        inert=sum(derived is None for derived in slots.values()),
        configured=configured,
    )


def _copy(
    thresholds: tuple[Threshold, ...], source: str, target: str, *, hard: bool
) -> Threshold | None:
    """The last source of a kind, under the target's name."""
    found = [item for item in thresholds if item.signal == source and item.hard is hard]
    return msgspec.structs.replace(found[-1], signal=target) if found else None


def _tabled(layout: Layout | None) -> Shape:
    shape = shape_of(layout)
    return Shape.SINGLE if shape is Shape.UNSPLIT else shape


def _by_signal(rows: tuple[tuple[_T, ...], ...]) -> dict[str, tuple[_T, ...]]:
    return {
        signal: row
        for signals, row in zip((NODEFS, IMAGEFS, CONTAINERFS), rows, strict=True)
        for signal in signals
    }
