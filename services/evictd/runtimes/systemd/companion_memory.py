"""Who went with what was stopped, in a file that outlives us. It starts and stops nothing."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from evictd.runtimes.kept_file import KeptFile
from evictd.shell.blocking import RunBlocking

FILE_NAME = "systemd-companions"
"""In the state folder. The most that is remembered, with a dozen companions each, has some hundred
KiB."""
FILE_SECONDS = 0.5
"""For a small file; a disk that hangs must not hold up a stop."""


class Stopped(Struct, frozen=True, kw_only=True):
    """The life that was stopped, and the names of who went with it."""

    uid: str = ""
    names: tuple[str, ...] = ()


class CompanionMemory:
    """One file. Without a path nothing is kept."""

    def __init__(self, path: Path | None, run_blocking: RunBlocking) -> None:
        self._file = KeptFile(path, run_blocking, "who goes with whom is not kept")

    async def recalled(self) -> dict[str, Stopped]:
        """By name of the unit that was stopped; nothing where there is nothing to trust."""
        return await self._file.read(_understood, FILE_SECONDS) or {}

    async def keep(self, stopped: Mapping[str, Stopped]) -> None:
        """Whole or not at all."""
        await self._file.write(lambda: msgspec.json.encode(stopped), FILE_SECONDS)


def _understood(content: bytes) -> dict[str, Stopped]:
    return msgspec.json.decode(content, type=dict[str, Stopped])
