"""Blocking work leaves the event loop through one injected function.

Threads in production, inline in tests on virtual time, where nothing real may run.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from anyio import to_thread

T = TypeVar("T")


class RunBlocking(Protocol):
    """Run a function that may block and give its result."""

    async def __call__(self, function: Callable[[], T]) -> T: ...


async def in_thread(function: Callable[[], T]) -> T:
    """In a worker thread; when the waiter is cancelled the thread is left to end by itself."""
    return await to_thread.run_sync(function, abandon_on_cancel=True)


async def inline(function: Callable[[], T]) -> T:
    """Here and now, for virtual time."""
    return function()
