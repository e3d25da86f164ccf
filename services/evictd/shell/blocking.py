"""Blocking work leaves the event loop through one injected function.

Threads in production, inline in tests on virtual time, where nothing real may run.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

import anyio
from anyio import to_thread

from evictd.core.errors import HostError

START_SECONDS = 5.0
"""For a thread to be had. A machine that is out of process ids starts none, and an idle one of ours
is free again sooner."""
PAUSE_SECONDS = 0.02
"""Between two tries to start one."""

T = TypeVar("T")


class RunBlocking(Protocol):
    """Run a function that may block and give its result."""

    async def __call__(self, function: Callable[[], T]) -> T: ...


async def in_thread(function: Callable[[], T]) -> T:
    """In a worker thread; when the waiter is cancelled the thread is left to end by itself.

    Raises `HostError` where none can be started for `START_SECONDS`, besides what the function
    raises.
    """
    begun = False

    def work() -> T:
        nonlocal begun
        begun = True
        return function()

    give_up_seconds = anyio.current_time() + START_SECONDS
    while True:
        try:
            return await to_thread.run_sync(work, abandon_on_cancel=True)
        except RuntimeError as error:
            if begun:
                raise
            if anyio.current_time() >= give_up_seconds:
                raise HostError(f"no thread can be started: {error}") from error
        await anyio.sleep(PAUSE_SECONDS)


async def inline(function: Callable[[], T]) -> T:
    """Here and now, for virtual time."""
    return function()
