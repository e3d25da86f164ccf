"""What each workload occupies on disk: its writable layer and its logs. [kubelet-eviction 2.2]

Counting means to walk through folders, so that this source is asked seldom and never waited for;
the figures carry the time at which they were taken.
"""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct, structs

from evictd.core.wording import name_text
from evictd.runtimes import Workload
from evictd.runtimes.hierarchies import is_folder
from evictd_schemas import ContainerStatistics, FileSystemStatistics, Pod, PodStatistics

ENTRIES_MAX = 200_000
"""Entries of one writable layer that are counted, about a second's work; a larger one has no
figure, since part of one would mislead."""
BLOCK_BYTES = 512
"""The unit of `st_blocks`."""


class Occupied(Struct, frozen=True, kw_only=True):
    """Of one workload; None where it has no such place here, or that could not be counted."""

    layer: FileSystemStatistics | None = None
    logs: FileSystemStatistics | None = None
    problem: str | None = None


def measure(workload: Workload, time: datetime) -> Occupied | None:
    """What one workload occupies, None where it has no place on disk; blocks for long."""
    where = workload.whereabouts
    if where.writable_layer is None and where.log_file is None:
        return None
    return _occupied(workload, time)


def tree(folder: Path, time: datetime) -> FileSystemStatistics | None:
    """Bytes on disk and inodes of a folder and all beneath it; None beyond `ENTRIES_MAX`."""
    used = entries = 0
    links: set[int] = set()
    for entry in _entries(folder):
        try:
            figures = entry.stat(follow_symlinks=False)
        except OSError:  # removed since it was listed
            continue
        if figures.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
            if figures.st_ino in links:
                continue
            links.add(figures.st_ino)
        entries += 1
        used += figures.st_blocks * BLOCK_BYTES
        if entries > ENTRIES_MAX:
            return None
    return FileSystemStatistics(time=time, used_bytes=used, inodes_used=entries)


def log_files(file: Path, time: datetime) -> FileSystemStatistics | None:
    """A log with its rotated predecessors, which are named after it; None where there is none."""
    used = count = 0
    for sibling in _siblings(file):
        try:
            used += sibling.stat().st_blocks * BLOCK_BYTES
        except OSError:  # rotated since it was listed
            continue
        count += 1
    return FileSystemStatistics(time=time, used_bytes=used, inodes_used=count) if count else None


def with_storage(pod: Pod, storage: Mapping[str, Occupied]) -> Pod:
    """The pod with what it occupies added to the statistics of its one container."""
    occupied = storage.get(pod.uid)
    if occupied is None or (occupied.layer is None and occupied.logs is None):
        return pod
    statistics = pod.stats or PodStatistics()
    if len(statistics.containers) > 1:
        return pod
    container = next(iter(statistics.containers), ContainerStatistics(name=pod.name))
    container = structs.replace(container, rootfs=occupied.layer, logs=occupied.logs)
    whole = structs.replace(
        statistics, containers=(container,), ephemeral_storage=_sum(occupied.layer, occupied.logs)
    )
    return structs.replace(pod, stats=whole)


def _occupied(workload: Workload, time: datetime) -> Occupied:
    where, problem, layer = workload.whereabouts, None, None
    if where.writable_layer is not None and is_folder(Path(where.writable_layer)):
        layer = tree(Path(where.writable_layer), time)
        if layer is None:
            name = name_text(workload.pod)
            problem = f"the writable layer of {name} has over {ENTRIES_MAX} entries: not counted"
    logs = None if where.log_file is None else log_files(Path(where.log_file), time)
    return Occupied(layer=layer, logs=logs, problem=problem)


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    waiting = [os.fspath(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    yield entry
        except OSError:  # removed since it was listed, or not ours to read
            continue


def _siblings(file: Path) -> list[Path]:
    if not file.is_absolute() or not file.name:
        return []
    try:
        return [path for path in file.parent.iterdir() if path.name.startswith(file.name)]
    except (OSError, ValueError):  # ValueError: no folder can be called that
        return []


def _sum(*parts: FileSystemStatistics | None) -> FileSystemStatistics:
    known = [part for part in parts if part is not None]
    return FileSystemStatistics(
        time=known[0].time,
        used_bytes=sum(part.used_bytes or 0 for part in known),
        inodes_used=sum(part.inodes_used or 0 for part in known),
    )
