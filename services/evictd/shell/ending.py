"""How things end: a task that is cancelled, and a process that is told to stop."""

import asyncio
import signal
from typing import Any

import anyio


async def cancelled(task: asyncio.Future[Any] | None) -> None:
    """Cancel it and wait for its end, however that is; None: there is none."""
    if task is not None:
        task.cancel()
        await asyncio.wait([task])


async def signalled() -> None:
    """Wait until this process is told to stop, by SIGTERM or by Ctrl-C."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        await anext(aiter(signals))
