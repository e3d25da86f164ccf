"""What one pod uses of a resource, from its statistics. [kubelet-eviction 8.2]

Absent statistics are None, which is not zero; an absent figure inside statistics counts as zero.
"""

from collections.abc import Collection, Iterator

from evictd.core.signals.layouts import DiskPart
from evictd_schemas import FileSystemStatistics, Pod, PodStatistics, Volume, VolumeStatistics

_LOCAL_KINDS = frozenset({"hostPath", "configMap", "gitRepo"})


def memory_bytes(statistics: PodStatistics) -> int:
    """The working set of the pod."""
    return 0 if statistics.memory is None else statistics.memory.working_set_bytes or 0


def freed_bytes(statistics: PodStatistics) -> int:
    """What a stop would give back: anonymous memory, shared memory and swap.

    The working set where the source does not tell these apart. [design, profile host]
    """
    memory = statistics.memory
    if memory is None or memory.rss_bytes is None:
        return memory_bytes(statistics)
    return memory.rss_bytes + (memory.shmem_bytes or 0) + (memory.swap_bytes or 0)


def held_bytes(statistics: PodStatistics | None) -> int | None:
    """The memory that there has to be room for when it comes again.

    Its working set, and what was swapped out: short memory makes the one smaller by the other. None
    where the working set is not known.
    """
    memory = None if statistics is None else statistics.memory
    if memory is None or memory.working_set_bytes is None:
        return None
    return memory.working_set_bytes + (memory.swap_bytes or 0)


def held_processes(statistics: PodStatistics | None) -> int | None:
    """The process ids that there have to be for it then; None where nothing is known of them."""
    processes = None if statistics is None else statistics.process_stats
    return None if processes is None else processes.process_count


def process_count(statistics: PodStatistics) -> int:
    """The process ids of the pod."""
    if statistics.process_stats is None:
        return 0
    return statistics.process_stats.process_count or 0


def disk_bytes(pod: Pod, statistics: PodStatistics, parts: Collection[DiskPart]) -> int:
    """Bytes in the measured parts."""
    return sum(part.used_bytes or 0 for part in _measured(pod, statistics, parts))


def disk_inodes(pod: Pod, statistics: PodStatistics, parts: Collection[DiskPart]) -> int:
    """Inodes in the measured parts."""
    return sum(part.inodes_used or 0 for part in _measured(pod, statistics, parts))


def local_volumes(pod: Pod) -> tuple[str, ...]:
    """Names of the volumes that lie on the node's own disk."""
    return tuple(volume.name for volume in pod.volumes if _local(volume))


def _local(volume: Volume) -> bool:
    return volume.kind in _LOCAL_KINDS or (volume.kind == "emptyDir" and not volume.medium)


def _measured(
    pod: Pod, statistics: PodStatistics, parts: Collection[DiskPart]
) -> Iterator[FileSystemStatistics | VolumeStatistics]:
    """All containers of the statistics whatever their names; of volumes the first of a name."""
    for container in statistics.containers:
        if DiskPart.ROOT in parts and container.rootfs is not None:
            yield container.rootfs
        if DiskPart.LOGS in parts and container.logs is not None:
            yield container.logs
    if DiskPart.LOCAL_VOLUMES in parts:
        for name in local_volumes(pod):
            first = next((entry for entry in statistics.volume if entry.name == name), None)
            if first is not None:
                yield first
