"""The hold in a file: a person keeps a machine as it is also when the broker is the problem.

It only reads; what the file means is a rule of the core. [contract 3, Wish]
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio
import structlog

from evictd.core.errors import HostError
from evictd.core.holds import hold_on, until_text, written
from evictd.shell.blocking import RunBlocking
from evictd.shell.clock import Clock
from evictd.shell.whole_file import changed_time
from evictd_schemas import Wish

FILE_NAME = "hold"
"""In the state folder."""
READ_SECONDS = 0.5
"""A disk that does not give a small file by then must not hold up a stop."""
FILE_BYTES_MAX = 65_536
"""A hundred holds have some ten kilobytes; of a longer file the beginning is read."""
EVERYTHING = ""
"""No workload has this name: only a hold of everything is one of it."""

log = structlog.get_logger(__name__)


class HoldFile:
    """A file that is looked at anew before each stop and start; None: there is none to look at."""

    def __init__(self, path: Path | None, run_blocking: RunBlocking, clock: Clock) -> None:
        self._path = path
        self._run_blocking = run_blocking
        self._clock = clock

    async def keeps(self, name: str, *, hard: bool) -> str | None:
        """Why `namespace/name` is left alone now, None where it is not."""
        utc = self._clock.now().utc
        wish = hold_on(await self._wishes(), name, hard=hard, utc=utc)
        return None if wish is None else f"held {until_text(wish)} by the file {self._path}"

    async def _wishes(self) -> Sequence[Wish]:
        if self._path is None:
            return ()
        with anyio.move_on_after(READ_SECONDS), suppress(HostError):
            return await self._run_blocking(self._read)
        log.warning("the hold file was not read in time", path=str(self._path))
        return ()

    def _read(self) -> Sequence[Wish]:
        """Blocks. A file that is there and not readable was meant to hold something."""
        assert self._path is not None  # noqa: S101 - _wishes has just looked
        try:
            made = changed_time(self._path)
        except OSError:
            return ()
        try:
            with self._path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(FILE_BYTES_MAX)
        except FileNotFoundError:
            return ()
        except OSError as error:
            log.warning("the hold file cannot be read", path=str(self._path), problem=str(error))
            text = ""
        return written(text, made)
