"""What a file system has left, asked at once: a reclaim is measured by it and by nothing else."""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

import anyio
from msgspec import Struct

from evictd.core.errors import HostError
from evictd.core.observations import AMOUNT_MAX
from evictd.core.signals.disks import place_of
from evictd.core.signals.names import Resource, resource_of
from evictd.shell.blocking import RunBlocking, in_thread
from evictd_schemas import Number

MEASURE_SECONDS = 2.0
"""A file system that hangs longer tells nothing; its reader is left behind."""


class Room(Struct, frozen=True, kw_only=True):
    """Bytes and inodes that are free."""

    bytes: int
    inodes: int

    def of(self, signal: str | None) -> int:
        """In the unit of a signal."""
        return self.inodes if resource_of(signal or "") is Resource.INODES else self.bytes

    def holds(self, signal: str | None, until_available: Number | None) -> bool:
        """Whether as much is available as was asked for."""
        return until_available is not None and self.of(signal) >= until_available


class Disks:
    """The file systems of this machine by the folders that the configuration names."""

    def __init__(self, places: Mapping[str, str], run_blocking: RunBlocking = in_thread) -> None:
        self._places = dict(places)
        self._run_blocking = run_blocking
        self._asked: set[str] = set()
        """Places of which a thread awaits an answer, for whoever asked first."""

    async def room(self, signal: str | None) -> Room | None:
        """On the file system that the signal is about; None where that cannot be told."""
        place = place_of(self._places, signal or "")
        if place is None or place in self._asked:
            return None
        with anyio.move_on_after(MEASURE_SECONDS), suppress(HostError):
            return await self._run_blocking(partial(self._measured, place))
        return None

    def _measured(self, place: str) -> Room | None:
        """In a thread that is left behind where the file system hangs, and then is the only one."""
        self._asked.add(place)
        try:
            return measured(place)
        finally:
            self._asked.discard(place)


def measured(place: str) -> Room | None:
    """Ask the file system under a folder; blocks for as long as it does not answer.

    None also for one that claims more than there can be: what it says of its room is not true.
    """
    try:
        figures = os.statvfs(place)
    except OSError:
        return None
    if max(figures.f_blocks * figures.f_frsize, figures.f_files) > AMOUNT_MAX:
        return None
    return Room(
        bytes=min(figures.f_bavail, figures.f_blocks) * figures.f_frsize,
        inodes=min(figures.f_ffree, figures.f_files),
    )
