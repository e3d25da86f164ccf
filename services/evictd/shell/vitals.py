"""Signs of life: a file for each worker whose loop goes round, and how late the loop is.

`evictd health` reads the files; nobody opens a port for it. [design, houses and rooms]
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from evictd.shell.clock import Clock
from evictd.shell.inbox import Inbox

BEAT_SECONDS = 1.0
STUCK_SECONDS = 30.0
"""A worker that has been at one batch longer is not alive: no step and no publish takes so long."""
LAG_BEATS = 30
"""The lag that is shown is the worst of so many beats."""
UNWRITTEN = "no sign of life can be written"


class Vitals:
    """Of the workers of this process; `folder` None writes no files.

    A disk that takes no file, or a machine that has no thread to give, is no reason to end: it may
    be what has to be relieved.
    """

    def __init__(
        self, folder: Path | None, inboxes: Mapping[str, Inbox[Any]], clock: Clock
    ) -> None:
        self._folder = folder
        self._inboxes = inboxes
        self._clock = clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="alive")
        self._lags = [0.0] * LAG_BEATS
        self.problem = ""
        """Why the last files were not written, in words that stay the same while it lasts."""

    @property
    def loop_lag_seconds(self) -> float:
        """How late the event loop was, at worst, lately."""
        return max(self._lags)

    def alive(self) -> list[str]:
        """The workers that are waiting or have not been busy with one batch for too long."""
        now_seconds = self._clock.now().boot_seconds
        return [
            name
            for name, inbox in self._inboxes.items()
            if inbox.busy_since is None or now_seconds - inbox.busy_since < STUCK_SECONDS
        ]

    async def beat(self) -> list[str]:
        """Wait one beat, measure, write; gives who is alive."""
        loop = asyncio.get_running_loop()
        due_seconds = loop.time() + BEAT_SECONDS
        await asyncio.sleep(BEAT_SECONDS)
        self._lags = [*self._lags[1:], max(0.0, loop.time() - due_seconds)]
        alive = self.alive()
        if self._folder is not None:
            self.problem = await self._written(self._folder, alive)
        return alive

    async def _written(self, folder: Path, alive: list[str]) -> str:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._write, folder, alive)
        except RuntimeError as error:  # its thread cannot be started; it is tried again
            return f"{UNWRITTEN}: {error}"

    def close(self) -> None:
        """Delete the files: who ended orderly is not silent but gone."""
        if self._folder is not None:
            for name in self._inboxes:
                for kind in ("alive", "fresh"):
                    with suppress(OSError):  # who looks for it finds it old
                        (self._folder / f"{name}.{kind}").unlink(missing_ok=True)
        self._thread.shutdown(wait=False)

    def _write(self, folder: Path, alive: list[str]) -> str:
        """Each file whole or as it was: somebody may read it at any moment. Returns why not."""
        seconds = self._clock.now().boot_seconds
        try:
            # It may go when a person logs out.
            folder.mkdir(mode=0o711, parents=True, exist_ok=True)
            for name in alive:
                fresh = folder / f"{name}.fresh"
                fresh.write_text(f"{seconds:.3f}\n")
                fresh.replace(folder / f"{name}.alive")
        except OSError as error:
            return f"{UNWRITTEN}: {error.strerror}"
        return ""
