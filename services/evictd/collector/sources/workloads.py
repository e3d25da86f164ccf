"""What each workload uses, read from its control groups and never from the engine.

The engine's statistics take a second each; the kernel's files take microseconds and are the same
figures.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from evictd.collector.sources import cgroup_memory, files, kills
from evictd.collector.sources.meminfo import KIBIBYTE, MEMORY_MAX_BYTES
from evictd.core.errors import HostError
from evictd.core.wording import name_text
from evictd.runtimes import Whereabouts, Workload
from evictd.shell.kernel_text import lines, process_id, whole_number
from evictd_schemas import (
    ContainerStatistics,
    MemoryStatistics,
    Pod,
    PodStatistics,
    ProcessStatistics,
)

PROCESSES_MAX = 20_000
"""Processes looked at where there is no accounting and each must be asked."""


class Measured(Struct, frozen=True, kw_only=True):
    """One workload that is there, and how often the kernel has killed in its group.

    `problem`: why it has no statistics, where the machine refused them.
    """

    pod: Pod
    kill_count: int | None = None
    problem: str | None = None


def measure(workloads: Sequence[Workload], proc: Path) -> tuple[Measured, ...]:
    """All that are still there; what vanished between list and look is dropped quietly."""
    looks = (_measure(workload, proc) for workload in workloads)
    return tuple(look for look in looks if look is not None)


def vanished(whereabouts: Whereabouts, proc: Path) -> bool:
    """Whether its groups are gone and its main process too; unknown places say nothing."""
    folders = _folders(whereabouts)
    if not folders or any(files.is_folder(folder) for folder in folders):
        return False
    process = whereabouts.main_process_id
    return process is not None and not files.is_folder(proc / str(process))


def memory_statistics(whereabouts: Whereabouts, proc: Path) -> MemoryStatistics | None:
    """From the memory group; without accounting, the sum over its processes; else None."""
    if whereabouts.memory_cgroup is not None:
        memory = cgroup_memory.read(Path(whereabouts.memory_cgroup))
        if memory is not None:
            return MemoryStatistics(
                usage_bytes=memory.usage_bytes,
                working_set_bytes=memory.working_set_bytes,
                rss_bytes=memory.anonymous_bytes,
                shmem_bytes=memory.shared_bytes,
                swap_bytes=memory.swap_bytes,
            )
    return summed_memory(process_ids(whereabouts, proc), proc)


def summed_memory(processes: Sequence[int], proc: Path) -> MemoryStatistics | None:
    """Anonymous and swapped bytes of the processes; shared pages would be counted many times."""
    statuses = [
        status
        for process in processes[:PROCESSES_MAX]
        if (status := files.text(proc / str(process) / "status")) is not None
    ]
    if not statuses:
        return None
    anonymous = sum(status_bytes(status, "RssAnon") for status in statuses)
    return MemoryStatistics(
        working_set_bytes=anonymous,
        rss_bytes=anonymous,
        swap_bytes=sum(status_bytes(status, "VmSwap") for status in statuses),
        estimated=True,
    )


def status_bytes(status: str, key: str) -> int:
    """One size of a process; a kernel thread has none. Raises `HostError` for what is no size."""
    for line in lines(status):
        name, _, value = line.partition(":")
        if name == key:
            digits = value.strip().removesuffix(" kB")
            most = MEMORY_MAX_BYTES // KIBIBYTE
            return whole_number(digits, f"status: {key}", most) * KIBIBYTE
    return 0


def process_count(whereabouts: Whereabouts, proc: Path) -> int | None:
    """Threads, of which the budget is made, where the group counts them; else processes."""
    for place in (whereabouts.pids_cgroup, whereabouts.unified_cgroup):
        if place is not None:
            count = files.amount(Path(place) / "pids.current")
            if count is not None:
                return count
    processes = process_ids(whereabouts, proc)
    return len(processes) if processes else None


def process_ids(whereabouts: Whereabouts, proc: Path) -> list[int]:
    """The processes of the group and of all beneath it; else the main one and its children's."""
    for folder in filter(files.is_folder, _folders(whereabouts)):
        found = [
            process
            for place, _, _ in os.walk(folder)
            for process in _processes(Path(place) / "cgroup.procs")
        ]
        if found:
            return found
    main = whereabouts.main_process_id
    return [] if main is None else family(main, proc)


def family(process: int, proc: Path) -> list[int]:
    """A process and all that it has started, and those in turn. [proc(5), children]

    Without a group of its own a workload is known by nothing else.
    """
    found, open_ones = [process], [process]
    while open_ones and len(found) < PROCESSES_MAX:
        threads = proc / str(open_ones.pop()) / "task"
        for thread in files.names(threads):
            children = _processes(threads / thread / "children")
            found += children
            open_ones += children
    return found


def _processes(file: Path) -> list[int]:
    """Those that are named in it."""
    return [process_id(word, file) for word in (files.text(file) or "").split()]


def _measure(workload: Workload, proc: Path) -> Measured | None:
    whereabouts = workload.whereabouts
    pod, group = workload.pod, whereabouts.memory_cgroup
    try:
        if vanished(whereabouts, proc):
            return None
        memory = memory_statistics(whereabouts, proc)
        count = process_count(whereabouts, proc)
        kill_count = None if group is None else kills.group_count(Path(group))
    except HostError as error:
        return Measured(pod=pod, problem=f"{name_text(pod)} has no statistics: {error}")
    return Measured(pod=_with_statistics(pod, memory, count), kill_count=kill_count)


def _with_statistics(pod: Pod, memory: MemoryStatistics | None, processes: int | None) -> Pod:
    """Absent statistics stay absent: they are not zero. [contract 3, Observation]"""
    if memory is None and processes is None:
        return pod
    statistics = structs.replace(
        pod.stats or PodStatistics(),
        memory=memory,
        process_stats=None if processes is None else ProcessStatistics(process_count=processes),
    )
    if not statistics.containers and len(pod.containers) <= 1:
        name = pod.containers[0].name if pod.containers else pod.name
        statistics = structs.replace(
            statistics, containers=(ContainerStatistics(name=name, memory=memory),)
        )
    return structs.replace(pod, stats=statistics)


def _folders(whereabouts: Whereabouts) -> list[Path]:
    places = (
        whereabouts.memory_cgroup,
        whereabouts.pids_cgroup,
        whereabouts.unified_cgroup,
    )
    return [Path(place) for place in dict.fromkeys(places) if place is not None]
