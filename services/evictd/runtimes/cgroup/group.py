"""One control group as a workload: its folders, its processes, its life, and signals to it.

All functions here read and write small files of the kernel and block for microseconds to
milliseconds; the runtime calls them away from the event loop. A group or process that has gone is
an empty answer.
"""

import os
import signal
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from evictd.runtimes.hierarchies import Hierarchies, each_once, text
from evictd.runtimes.interface import Whereabouts, life_uid

PROCESSES_MAX = 50_000
"""Processes of one group that are looked at; a group with more is a fork bomb and is killed
whole."""


class Process(Struct, frozen=True, kw_only=True, order=True):
    """`start_ticks` since boot first, so that the smallest is the oldest."""

    start_ticks: int
    id: int


class Group(Struct, frozen=True, kw_only=True):
    """The folders of one path in each hierarchy that has it."""

    path: str
    memory: Path | None = None
    pids: Path | None = None
    unified: Path | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """Each folder once."""
        return each_once(self.memory, self.pids, self.unified)


def find(hierarchies: Hierarchies, path: str) -> Group:
    """The group of a path; without folders when it is in no hierarchy."""

    def below(root: Path | None) -> Path | None:
        folder = None if root is None else root / path.strip("/")
        return folder if folder is not None and folder.is_dir() else None

    return Group(
        path=path,
        memory=below(hierarchies.memory),
        pids=below(hierarchies.pids),
        unified=below(hierarchies.unified),
    )


def process_ids(group: Group) -> set[int]:
    """Everything in the group and beneath it, in any hierarchy. 0: not visible from here."""
    found: set[int] = set()
    for folder in group.folders:
        for place, _, _ in os.walk(folder):
            words = (text(Path(place) / "cgroup.procs") or "").split()
            found |= {int(word) for word in words[:PROCESSES_MAX]}
    return found


def oldest(process_ids: set[int], proc: Path) -> Process | None:
    """The process that has lived longest, None when none can be seen."""
    seen = (_process(number, proc) for number in process_ids if number)
    return min((process for process in seen if process is not None), default=None)


def uid(group: Group, first: Process, proc: Path) -> str:
    """The life of a group: made anew or filled anew, it is another one.

    Inodes and ticks begin again with each boot, so that the boot counts too.
    """
    inode = group.folders[0].stat().st_ino
    boot = (text(proc / "sys/kernel/random/boot_id") or "").strip()
    return life_uid(group.path, f"{boot}|{inode}|{first.start_ticks}")


def started(first: Process, proc: Path) -> datetime | None:
    """When the oldest process began."""
    for line in (text(proc / "stat") or "").splitlines():
        if line.startswith("btime "):
            seconds = int(line.split()[1]) + first.start_ticks / os.sysconf("SC_CLK_TCK")
            return datetime.fromtimestamp(int(seconds), UTC)
    return None


def whereabouts(group: Group, first: Process) -> Whereabouts:
    """Where it can be measured."""
    return Whereabouts(
        memory_cgroup=_name(group.memory),
        pids_cgroup=_name(group.pids),
        unified_cgroup=_name(group.unified),
        main_process_id=first.id,
    )


def send(group: Group, number: signal.Signals) -> None:
    """A signal to each process in the group now.

    A process is held by a descriptor and its membership is read again before it is signalled, so
    that a number that was given to another process meanwhile is never hit.
    """
    held = _hold(process_ids(group))
    try:
        still_inside = process_ids(group)
        for process, descriptor in held.items():
            if process in still_inside:
                _signal(descriptor, number)
    finally:
        for descriptor in held.values():
            os.close(descriptor)


def kill(group: Group) -> None:
    """SIGKILL to everything: by the kernel in one step where it can, and to each that is left."""
    if group.unified is not None:
        # An older kernel, or the group has just gone: then the signals below do it.
        with suppress(OSError):
            (group.unified / "cgroup.kill").write_text("1")
    send(group, signal.SIGKILL)


def _hold(process_ids: set[int]) -> dict[int, int]:
    held = {}
    for process in process_ids - {0}:
        try:
            held[process] = os.pidfd_open(process)
        except ProcessLookupError:
            continue
    return held


def _signal(descriptor: int, number: signal.Signals) -> None:
    try:
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return


def _process(number: int, proc: Path) -> Process | None:
    """Field 22 of `stat`, counted after the name, which may hold blanks and brackets."""
    line = text(proc / str(number) / "stat")
    if line is None:
        return None
    fields = line.rpartition(")")[2].split()
    return Process(start_ticks=int(fields[19]), id=number)


def _name(folder: Path | None) -> str | None:
    return None if folder is None else str(folder)
