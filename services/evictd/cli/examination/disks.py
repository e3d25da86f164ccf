"""The state folder and the engine's data root, as file systems."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evictd.cli.checkup.disks import ImageFacts, StateFacts
from evictd.collector.sources import filesystems
from evictd.core.duty import Duty
from evictd.core.protocol.case import Case
from evictd.runtimes.hierarchies import text
from evictd.shell import journal_reading
from evictd.shell.kernel_text import lines
from evictd_schemas.sources import Sources
from evictd_schemas.topics import Role

STATES: Mapping[Role, type[Any]] = {Role.CONTROLLER: Case, Role.RESPONDER: Duty}
"""Who has a journal, and of what."""


def state(folder: Path, proc: Path) -> StateFacts:
    """Of the folder, or of the nearest one above it that exists."""
    try:
        exists = folder.is_dir()
        there = next(place for place in (folder, *folder.parents) if place.is_dir())
        figures = os.statvfs(there)
    except OSError as error:
        return StateFacts(folder=str(folder), error=error.strerror or str(error))
    writable = os.access(there, os.W_OK | os.X_OK)
    return StateFacts(
        folder=str(folder),
        writable=writable if exists else None,
        may_be_made=writable,
        free_bytes=figures.f_bavail * figures.f_frsize,
        kind=kind(text(proc / "self/mountinfo") or "", os.path.realpath(there)),
        journals=tuple(_unreadable(folder)),
    )


def _unreadable(folder: Path) -> Iterator[str]:
    """Why each journal cannot be read that this user may read."""
    for role, state in STATES.items():
        journal = folder / f"{role}.journal"
        if os.access(journal, os.R_OK) and (why := journal_reading.problem(journal, state)):
            yield why


def kind(mountinfo: str, place: str) -> str:
    """What file system holds a path, "" where the table of mounts does not tell.

    [proc(5), mountinfo: the type follows a lone dash]
    """
    device = filesystems.device(mountinfo, place)
    for line in reversed(lines(mountinfo)):
        before, separator, after = line.partition(" - ")
        words = before.split(" ")
        if separator and len(words) > 4 and words[2] == device and place.startswith(words[4]):
            return after.split(" ")[0]
    return ""


def images(sources: Sources, data_root: str | None) -> ImageFacts:
    """`data_root`: where the engine says that it keeps them; it may be on another machine."""
    settings = sources.file_systems
    mounts = text(Path(sources.proc_path) / "self/mountinfo") or ""
    return ImageFacts(
        data_root=data_root,
        data_device=_device(mounts, data_root),
        nodefs=settings.nodefs,
        nodefs_device=_device(mounts, settings.nodefs),
        imagefs=settings.imagefs,
    )


def _device(mounts: str, place: str | None) -> str | None:
    """None for a folder that cannot be seen from here."""
    try:
        visible = place is not None and Path(place).is_dir()
    except OSError:
        visible = False
    return None if place is None or not visible else filesystems.device(mounts, place)
