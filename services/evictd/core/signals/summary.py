"""The kubelet's Summary document: which signals it holds, and what else is read from it.

[kubelet-eviction 2.1, 2.3, 14.3]
"""

from collections.abc import Iterator
from datetime import datetime

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
    PID_AVAILABLE,
)
from evictd.core.signals.quantities import round_away
from evictd.core.signals.thresholds import Judge, Threshold
from evictd_schemas import FileSystemStatistics, MemoryStatistics, SignalReading, Timestamp

PODS_CONTAINER = "pods"
"""The system container that holds all pods: its memory is the allocatable one."""
NOTIFIER_REFRESH_SECONDS = 10.0
"""Memory notifiers get new thresholds only after more than this. [kubelet-eviction 14.3]"""


class ProcessLimits(Struct, frozen=True, kw_only=True, rename="camel"):
    """`rlimit` of the node; the two counts are spelled in lower case."""

    time: Timestamp | None = None
    maxpid: int | None = None
    curproc: int | None = None


class RuntimeFileSystems(Struct, frozen=True, kw_only=True, rename="camel"):
    """`runtime` of the node."""

    image_fs: FileSystemStatistics | None = None
    container_fs: FileSystemStatistics | None = None


class SystemContainer(Struct, frozen=True, kw_only=True, rename="camel"):
    """One cgroup of the node itself."""

    name: str
    memory: MemoryStatistics | None = None


class NodeSummary(Struct, frozen=True, kw_only=True, rename="camel"):
    """The node's own part; every figure may be missing."""

    memory: MemoryStatistics | None = None
    fs: FileSystemStatistics | None = None
    runtime: RuntimeFileSystems | None = None
    rlimit: ProcessLimits | None = None
    system_containers: tuple[SystemContainer, ...] = ()


class Summary(Struct, frozen=True, kw_only=True, rename="camel"):
    """As much of the document as signals need; pods are looked up elsewhere."""

    node: NodeSummary


def readings(summary: Summary) -> dict[str, SignalReading]:
    """Every signal whose figures are all there; the others have no reading in this pass."""
    return {name: reading for name, reading in _readings(summary.node) if reading is not None}


def has_dedicated_image_fs(
    root_device: str,
    image_device: str,
    image_fs: FileSystemStatistics | None,
    container_fs: FileSystemStatistics | None,
) -> bool:
    """By device; on one device also by figures that tell two file systems apart.

    [kubelet-eviction 2.3]
    """
    return root_device != image_device or _figures(image_fs) != _figures(container_fs)


def notifier_usage_bytes(threshold: Threshold, summary: Summary, judge: Judge) -> int | None:
    """The usage at which the kernel is asked to call; None where a figure is missing.

    The kernel counts file cache as used, the working set does not. [kubelet-eviction 14.3]
    """
    memory = _memory_of(threshold.signal, summary.node)
    if memory is None or memory.usage_bytes is None:
        return None
    if memory.available_bytes is None or memory.working_set_bytes is None:
        return None
    capacity = memory.available_bytes + memory.working_set_bytes
    amount = round_away(judge.absolute(threshold.value, capacity))
    return capacity - amount + memory.usage_bytes - memory.working_set_bytes


def notifier_refresh_due(last_try_seconds: float | None, now_seconds: float) -> bool:
    """Whether the notifiers are armed anew; tries count whether they succeeded or not."""
    if last_try_seconds is None:
        return True
    return now_seconds - last_try_seconds > NOTIFIER_REFRESH_SECONDS


def _readings(node: NodeSummary) -> Iterator[tuple[str, SignalReading | None]]:
    runtime = node.runtime or RuntimeFileSystems()
    yield MEMORY_AVAILABLE, _memory(_memory_of(MEMORY_AVAILABLE, node))
    yield (
        ALLOCATABLE_MEMORY_AVAILABLE,
        _memory(_memory_of(ALLOCATABLE_MEMORY_AVAILABLE, node)),
    )
    yield NODEFS_AVAILABLE, _space(node.fs)
    yield NODEFS_INODES_FREE, _inodes(node.fs)
    yield IMAGEFS_AVAILABLE, _space(runtime.image_fs)
    yield IMAGEFS_INODES_FREE, _inodes(runtime.image_fs)
    yield CONTAINERFS_AVAILABLE, _space(runtime.container_fs)
    yield CONTAINERFS_INODES_FREE, _inodes(runtime.container_fs)
    yield PID_AVAILABLE, _processes(node.rlimit)


def _memory_of(signal: str, node: NodeSummary) -> MemoryStatistics | None:
    """The node's memory, or for the allocatable signal that of the first container named `pods`."""
    if signal != ALLOCATABLE_MEMORY_AVAILABLE:
        return node.memory
    for container in node.system_containers:
        if container.name == PODS_CONTAINER:
            return container.memory
    return None


def _memory(memory: MemoryStatistics | None) -> SignalReading | None:
    if memory is None or memory.available_bytes is None or memory.working_set_bytes is None:
        return None
    capacity = memory.available_bytes + memory.working_set_bytes
    return _reading(memory.available_bytes, capacity, memory.time)


def _space(fs: FileSystemStatistics | None) -> SignalReading | None:
    return None if fs is None else _reading(fs.available_bytes, fs.capacity_bytes, fs.time)


def _inodes(fs: FileSystemStatistics | None) -> SignalReading | None:
    return None if fs is None else _reading(fs.inodes_free, fs.inodes, fs.time)


def _processes(limits: ProcessLimits | None) -> SignalReading | None:
    if limits is None or limits.maxpid is None or limits.curproc is None:
        return None
    return _reading(limits.maxpid - limits.curproc, limits.maxpid, limits.time)


def _reading(
    available: int | None, capacity: int | None, time: datetime | None
) -> SignalReading | None:
    if available is None or capacity is None:
        return None
    return SignalReading(available=available, capacity=capacity, time=time)


def _figures(fs: FileSystemStatistics | None) -> tuple[int | None, ...] | None:
    if fs is None:
        return None
    return (fs.available_bytes, fs.capacity_bytes, fs.inodes_used, fs.inodes_free, fs.inodes)
