"""One control group as a workload: its folders, its processes, its life, and signals to it.

All functions here read and write small files of the kernel and block for microseconds to
milliseconds; the runtime calls them away from the event loop. A group or process that has gone is
an empty answer; what makes no sense, or is refused, is a `HostError`.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from evictd.core.errors import HostError
from evictd.runtimes.hierarchies import Hierarchies, each_once, is_folder, text
from evictd.runtimes.interface import Whereabouts, life_uid
from evictd.shell.kernel_text import lines, process_id, process_stat, whole_number

PROCESSES_MAX = 50_000
"""Processes of one group that are looked at; a group with more is a fork bomb and is killed
whole."""
HELD_MAX = 200
"""Processes that are held by descriptors at once: a process has a thousand of those at least."""


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
        return folder if folder is not None and is_folder(folder) else None

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
            file = Path(place) / "cgroup.procs"
            words = (text(file) or "").split()
            found |= {process_id(word, file) for word in words[:PROCESSES_MAX]}
    return found


def oldest(process_ids: set[int], proc: Path) -> Process | None:
    """The process that has lived longest, None when none can be seen."""
    seen = (_process(number, proc) for number in process_ids if number)
    return min((process for process in seen if process is not None), default=None)


def uid(group: Group, first: Process, proc: Path) -> str | None:
    """The life of a group: made anew or filled anew, it is another one. None when it has gone.

    Inodes and ticks begin again with each boot, so that the boot counts too.
    """
    try:
        inode = group.folders[0].stat().st_ino
    except OSError:
        return None
    boot = (text(proc / "sys/kernel/random/boot_id") or "").strip()
    return life_uid(group.path, f"{boot}|{inode}|{first.start_ticks}")


def started(first: Process, proc: Path) -> datetime | None:
    """When the oldest process began; None where the kernel does not tell."""
    for line in lines(text(proc / "stat") or ""):
        name, _, digits = line.partition(" ")
        if name == "btime":
            booted = whole_number(digits.strip(), f"{proc}/stat: btime")
            seconds = booted + first.start_ticks // os.sysconf("SC_CLK_TCK")
            return _moment(seconds, proc)
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
    that a number that was given to another process meanwhile is never hit. Raises `HostError` where
    the machine refuses one, after all others have been signalled.
    """
    inside = sorted(process_ids(group) - {0})
    parts = [inside[begin : begin + HELD_MAX] for begin in range(0, len(inside), HELD_MAX)]
    refusals = [refusal for part in parts for refusal in _sent(group, part, number)]
    if refusals:
        raise HostError(refusals[0])


def kill(group: Group) -> None:
    """SIGKILL to everything: by the kernel in one step where it can, and to each that is left."""
    if group.unified is not None:
        # An older kernel, or the group has just gone: then the signals below do it.
        with suppress(OSError):
            (group.unified / "cgroup.kill").write_text("1")
    send(group, signal.SIGKILL)


def _sent(group: Group, processes: Sequence[int], number: signal.Signals) -> Iterator[str]:
    """Why each is left that the machine does not let us signal."""
    with ExitStack() as held:
        descriptors = {}
        for process in processes:
            try:
                descriptors[process] = os.pidfd_open(process)
            except ProcessLookupError:
                continue
            except OSError as error:
                yield f"process {process} cannot be held: {error.strerror}"
                continue
            held.callback(os.close, descriptors[process])
        still_inside = process_ids(group)
        for process in still_inside & descriptors.keys():
            try:
                signal.pidfd_send_signal(descriptors[process], number)
            except ProcessLookupError:
                continue
            except OSError as error:
                yield f"process {process} cannot be signalled: {error.strerror}"


def _process(number: int, proc: Path) -> Process | None:
    place = proc / str(number) / "stat"
    found = text(place)
    if found is None:
        return None
    return Process(start_ticks=process_stat(found, place).start_ticks, id=number)


def _moment(seconds: int, proc: Path) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise HostError(f"{proc}/stat: btime tells of no time: {error}") from error


def _name(folder: Path | None) -> str | None:
    return None if folder is None else str(folder)
