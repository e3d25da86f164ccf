"""Being woken by the kernel when memory stalls, where it grants that. [PSI triggers]

A wake-up is a hint to look, never a figure: an unprivileged trigger may fire for stall that
happened before it was registered, and what counts is read afresh.
"""

import asyncio
import os
import select
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from evictd.shell.blocking import RunBlocking

STALL_MICROSECONDS = 150_000
"""Some task waited for memory this long within one window."""
WINDOWS_MICROSECONDS = (1_000_000, 2_000_000)
"""Tried in turn: without CAP_SYS_RESOURCE only multiples of two seconds are accepted."""


class Stalls(Protocol):
    """Wakes the collector at stalls, or never."""

    @property
    def armed(self) -> bool:
        """Whether a trigger is registered now."""
        ...

    async def arm(self, place: Path, wake: Callable[[], None]) -> None:
        """Register a trigger on a pressure file; stays unarmed where that is not granted."""
        ...

    def disarm(self) -> None:
        """Give the trigger back."""
        ...


class KernelStalls:
    """A trigger in an epoll set of its own.

    A trigger tells by POLLPRI, which the event loop does not ask for; the inner set becomes
    readable and is what the loop watches. The flag of a trigger is cleared by each look at it, so
    that being called is the event: the inner set is asked again only for the end of the file.
    """

    def __init__(self, run_blocking: RunBlocking) -> None:
        self._run_blocking = run_blocking
        self._trigger: int | None = None
        self._inner: select.epoll | None = None
        self._wake: Callable[[], None] | None = None

    @property
    def armed(self) -> bool:
        return self._trigger is not None

    async def arm(self, place: Path, wake: Callable[[], None]) -> None:
        if self.armed:
            return
        trigger = await self._run_blocking(lambda: register(place))
        if trigger is None:
            return
        self._trigger, self._wake = trigger, wake
        self._inner = select.epoll()
        try:
            self._inner.register(trigger, select.EPOLLPRI)
        except OSError:  # a file that only looks like the kernel's tells of nothing
            self._inner.close()
            self._inner = None
            self.disarm()
            return
        asyncio.get_running_loop().add_reader(self._inner.fileno(), self._ready)

    def disarm(self) -> None:
        if self._inner is not None:
            asyncio.get_running_loop().remove_reader(self._inner.fileno())
            self._inner.close()
            self._inner = None
        if self._trigger is not None:
            os.close(self._trigger)
            self._trigger = None

    def _ready(self) -> None:
        """The group may be gone: then the set would be readable for ever."""
        if self._inner is None or self._wake is None:
            return
        if any(events & select.EPOLLERR for _, events in self._inner.poll(0)):
            self.disarm()
        else:
            self._wake()


def register(place: Path) -> int | None:
    """A descriptor with a trigger on it, None where the kernel does not grant one.

    Whatever the reason (no such file, no right to it, no memory for it): looks then come by time.
    """
    try:
        descriptor = os.open(place, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    for window in WINDOWS_MICROSECONDS:
        try:
            os.write(descriptor, f"some {STALL_MICROSECONDS} {window}\0".encode())
        except OSError:
            continue
        return descriptor
    os.close(descriptor)
    return None
