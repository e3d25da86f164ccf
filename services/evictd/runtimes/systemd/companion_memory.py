"""Who went with what was stopped, in a file that outlives us.

A file that is damaged, too long or of another form is as good as none. It starts and stops nothing.
"""

from collections.abc import Mapping
from pathlib import Path

import anyio
import msgspec
import structlog
from msgspec import Struct

from evictd.shell import whole_file
from evictd.shell.blocking import RunBlocking

FILE_NAME = "systemd-companions"
"""In the state folder."""
FILE_BYTES_MAX = 4 << 20
"""As many stopped units as are remembered, with a dozen companions each, have some hundred KiB."""
FILE_SECONDS = 0.5
"""For a small file; a disk that hangs must not hold up a stop."""

log = structlog.get_logger(__name__)


class Stopped(Struct, frozen=True, kw_only=True):
    """The life that was stopped, and the names of who went with it."""

    uid: str = ""
    names: tuple[str, ...] = ()


class CompanionMemory:
    """One file, written by one at a time. Without a path nothing is kept."""

    def __init__(self, path: Path | None, run_blocking: RunBlocking) -> None:
        self._path = path
        self._run_blocking = run_blocking
        self._turn = anyio.Lock()
        self._problem = ""

    async def recalled(self) -> dict[str, Stopped]:
        """By name of the unit that was stopped; nothing where there is nothing to trust."""
        with anyio.move_on_after(FILE_SECONDS):
            async with self._turn:
                return await self._run_blocking(self._read)
        return {}

    async def keep(self, stopped: Mapping[str, Stopped]) -> None:
        """Whole or not at all. A disk that takes nothing leaves what was there; told once."""
        problem = "it was not written in time"
        with anyio.move_on_after(FILE_SECONDS):
            async with self._turn:
                problem = await self._run_blocking(lambda: self._write(stopped))
        if problem and problem != self._problem:
            log.warning("who goes with whom is not kept", path=str(self._path), problem=problem)
        self._problem = problem

    def _read(self) -> dict[str, Stopped]:
        """Blocks."""
        if self._path is None:
            return {}
        try:
            with self._path.open("rb") as file:
                found = file.read(FILE_BYTES_MAX)
            return msgspec.json.decode(found, type=dict[str, Stopped])
        except (OSError, ValueError):  # msgspec's errors are such too
            return {}

    def _write(self, stopped: Mapping[str, Stopped]) -> str:
        """Blocks. What is wrong, empty where nothing is."""
        if self._path is None:
            return ""
        try:
            whole_file.replace(self._path, msgspec.json.encode(stopped))
        except OSError as error:
            return error.strerror or str(error)
        return ""
