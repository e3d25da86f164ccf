"""Ending a task of this process and waiting until it has ended. It knows no task by name."""

import asyncio
from typing import Any


async def cancelled(task: asyncio.Future[Any] | None) -> None:
    """Cancel it and wait for its end, however that is; None: there is none."""
    if task is not None:
        task.cancel()
        await asyncio.wait([task])
