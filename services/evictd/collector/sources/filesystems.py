"""Bytes and inodes of the file systems, and which of them are one. [kubelet-eviction 2.1, 2.3]

A file system is told by its device in the table of mounts, not by `st_dev`, which differs between
subvolumes that share their space. A hung mount blocks its reader and nobody else: each file system
is a source of its own.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from evictd.collector.sources import files
from evictd.core.errors import HostError
from evictd.core.observations import AMOUNT_MAX
from evictd.core.signals.disks import CONTAINERFS, IMAGEFS, NODEFS
from evictd.shell.kernel_text import lines
from evictd_schemas import Layout, SignalReading


class FileSystem(Struct, frozen=True, kw_only=True):
    """One file system now. `inodes` 0: it does not number them in advance, as btrfs."""

    device: str
    available_bytes: int
    capacity_bytes: int
    inodes_free: int
    inodes: int


def read(folder: str, proc: Path) -> FileSystem:
    """Ask the file system under a folder; blocks for as long as that does not answer.

    Raises `HostError` where there is no such folder, for a file system without blocks, and for one
    that claims more than there can be.
    """
    try:
        figures = os.statvfs(folder)
        place = os.path.realpath(folder)
        number = Path(folder).stat().st_dev
    except OSError as error:
        raise HostError(f"{folder}: {error.strerror}") from error
    except ValueError as error:  # it cannot be the name of any
        raise HostError(f"{folder!r}: {error}") from error
    capacity_bytes = figures.f_blocks * figures.f_frsize
    if capacity_bytes <= 0:
        raise HostError(f"{folder} is on a file system without blocks")
    if max(capacity_bytes, figures.f_files) > AMOUNT_MAX:
        claimed = f"{capacity_bytes} bytes and {figures.f_files} inodes"
        raise HostError(f"{folder} is on a file system that claims {claimed}")
    mounts = files.text(proc / "self/mountinfo") or ""
    return FileSystem(
        device=device(mounts, place) or f"{os.major(number)}:{os.minor(number)}",
        available_bytes=min(figures.f_bavail, figures.f_blocks) * figures.f_frsize,
        capacity_bytes=capacity_bytes,
        inodes_free=min(figures.f_ffree, figures.f_files),
        inodes=figures.f_files,
    )


def mounted_devices(places: Mapping[str, str], proc: Path) -> dict[str, str]:
    """Name to device by the table of mounts, without touching a file system that may hang."""
    mounts = files.text(proc / "self/mountinfo") or ""
    found = {name: device(mounts, os.path.normpath(place)) for name, place in places.items()}
    return {name: number for name, number in found.items() if number is not None}


def device(mountinfo: str, place: str) -> str | None:
    """`major:minor` of the mount that holds a path: the deepest, of equals the last mounted."""
    deepest, found = -1, None
    for line in lines(mountinfo):
        words = line.split(" ")
        if len(words) < 5:
            continue
        point = _unescaped(words[4])
        if _holds(point, place) and len(point) >= deepest:
            deepest, found = len(point), words[2]
    return found


def signals(name: str, system: FileSystem) -> dict[str, SignalReading]:
    """Of one file system; no inode signal where inodes are not numbered."""
    readings = {
        f"{name}.available": SignalReading(
            available=system.available_bytes, capacity=system.capacity_bytes
        )
    }
    if system.inodes > 0:
        readings[f"{name}.inodesFree"] = SignalReading(
            available=system.inodes_free, capacity=system.inodes
        )
    return readings


def layout(devices: Mapping[str, str]) -> Layout:
    """Which have a device to themselves; an error until each has answered once. [2.3]"""
    missing = [name for name in (NODEFS, IMAGEFS, CONTAINERFS) if name not in devices]
    if missing:
        return Layout(error=f"no answer from {', '.join(missing)} yet")
    return Layout(
        dedicated_image_fs=devices[IMAGEFS] != devices[NODEFS],
        dedicated_container_fs=devices[IMAGEFS] != devices[CONTAINERFS],
    )


def _holds(point: str, place: str) -> bool:
    return point in ("/", place) or place.startswith(point + "/")


def _unescaped(point: str) -> str:
    """Blanks and the like are octal in the table. [proc(5), mountinfo]"""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(code, character)
    return point
