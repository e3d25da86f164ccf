"""A file of ours that outlives us: read as a whole, replaced as a whole, by one at a time.

It does not know what is in it. A file that is damaged or too long is as good as none.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import anyio
import structlog

from evictd.core.errors import HostError
from evictd.shell import whole_file
from evictd.shell.blocking import RunBlocking

FILE_BYTES_MAX = 4 << 20
"""Several times what the most that anybody remembers here takes."""

T = TypeVar("T")
log = structlog.get_logger(__name__)


class KeptFile:
    """Without a path nothing is kept. `complaint`: what is told of a disk that takes nothing."""

    def __init__(self, path: Path | None, run_blocking: RunBlocking, complaint: str) -> None:
        self._path = path
        self._run_blocking = run_blocking
        self._complaint = complaint
        self._turn = anyio.Lock()
        self._problem = ""

    async def read(self, understood: Callable[[bytes], T | None], seconds: float) -> T | None:
        """What its content means, None where there is nothing to trust, or not in time.

        `understood` runs beside the loop and may raise `ValueError`.
        """
        with anyio.move_on_after(seconds), suppress(HostError):
            async with self._turn:
                return await self._run_blocking(lambda: self._read(understood))
        return None

    async def write(self, content: Callable[[], bytes], seconds: float) -> None:
        """Whole or not at all. A disk that takes nothing leaves what was there; told once."""
        problem = "it was not written in time"
        with anyio.move_on_after(seconds):
            async with self._turn:
                problem = await self._written(content)
        if problem and problem != self._problem:
            log.warning(self._complaint, path=str(self._path), problem=problem)
        self._problem = problem

    async def _written(self, content: Callable[[], bytes]) -> str:
        try:
            return await self._run_blocking(lambda: self._write(content))
        except HostError as error:
            return str(error)

    def _read(self, understood: Callable[[bytes], T | None]) -> T | None:
        """Blocks."""
        if self._path is None:
            return None
        try:
            with self._path.open("rb") as file:
                return understood(file.read(FILE_BYTES_MAX))
        except (OSError, ValueError, RecursionError):  # msgspec's errors are such too
            return None

    def _write(self, content: Callable[[], bytes]) -> str:
        """Blocks. What is wrong, empty where nothing is."""
        if self._path is None:
            return ""
        try:
            whole_file.replace(self._path, content())
        except OSError as error:
            return error.strerror or str(error)
        return ""
