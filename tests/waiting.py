"""Waiting, beside a running loop and in real time, for what nobody announces."""

import asyncio
import inspect
from collections.abc import Callable

LOOK_SECONDS = 0.01


async def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Look again until it holds. What has to be awaited is: who looks at files does so in a thread,
    beside the loop."""
    async with asyncio.timeout(seconds):
        while True:
            found = holds()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return
            await asyncio.sleep(LOOK_SECONDS)
