"""What is known of the uses of images, in a file that outlives us.

Ages are kept, not moments, and what has passed since is counted on the kernel's own clock: the rest
of the same boot, or the time since the machine was started. So neither a wrong clock nor a machine
that was off makes an image older. A file that is damaged, too long or of another version is as good
as none. It knows no engine.
"""

from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import msgspec
from msgspec import Raw, Struct

from evictd.runtimes import hierarchies
from evictd.runtimes.docker.container_folder import FolderMark
from evictd.runtimes.docker.image_uses import boot_seconds
from evictd.runtimes.kept_file import KeptFile
from evictd.shell.blocking import RunBlocking

FILE_NAME = "image-uses"
"""In the state folder. The most images that are remembered have one megabyte."""
FORMAT = 1
"""Of the content."""
READ_SECONDS = 10.0
"""For a small file at the beginning, when disks are busy; without it every image is young again."""
WRITE_SECONDS = 0.5
"""A disk that hangs must not hold up an end."""
BOOT_ID = "sys/kernel/random/boot_id"


class LastEvent(Struct, frozen=True, kw_only=True):
    """The event of the engine up to which everything was heard."""

    time_nano: int
    action: str
    container_id: str


class Remembered(Struct, frozen=True, kw_only=True):
    """Seconds for which each image had not been used, and how far that was known.

    `last_event`, and the `folder` of the engine's containers as it was then, tell whether anything
    can have been missed since.
    """

    unused_seconds: dict[str, float]
    last_event: LastEvent | None = None
    folder: FolderMark | None = None


class _Content(Struct, frozen=True, kw_only=True):
    boot_id: str
    boot_seconds: float
    remembered: Remembered


class _File(Struct, frozen=True, kw_only=True):
    """`check` of the content's bytes: one wrong digit would make an image old."""

    format: int
    check: int
    content: Raw


class ImageMemory:
    """One file. `seconds`: since the machine was started. None for a path: nothing is kept."""

    def __init__(
        self,
        path: Path | None,
        proc: Path,
        run_blocking: RunBlocking,
        seconds: Callable[[], float] = boot_seconds,
    ) -> None:
        self._file = KeptFile(path, run_blocking, "uses of images are not kept")
        self._proc = proc
        self._seconds = seconds

    async def recalled(self) -> Remembered | None:
        """With what has passed since added to each age; None where there is nothing to trust."""
        return await self._file.read(self._understood, READ_SECONDS)

    async def keep(self, remembered: Remembered) -> None:
        """Whole or not at all."""
        await self._file.write(lambda: self._written(remembered), WRITE_SECONDS)

    def _understood(self, file: bytes) -> Remembered | None:
        """Blocks, for the name of this boot. Raises `ValueError`."""
        found = msgspec.json.decode(file, type=_File)
        if found.format != FORMAT or crc32(found.content) != found.check:
            return None
        return self._aged(msgspec.json.decode(found.content, type=_Content))

    def _aged(self, content: _Content) -> Remembered:
        passed = self._passed_seconds(content)
        ages = content.remembered.unused_seconds
        older = {image_id: age + passed for image_id, age in ages.items()}
        return msgspec.structs.replace(content.remembered, unused_seconds=older)

    def _passed_seconds(self, content: _Content) -> float:
        """So long at least it is since; nothing where boots cannot be told apart."""
        boot_id = self._boot_id()
        if not boot_id or not content.boot_id:
            return 0.0
        since = content.boot_seconds if content.boot_id == boot_id else 0.0
        return max(0.0, self._seconds() - since)

    def _written(self, remembered: Remembered) -> bytes:
        """Blocks, for the name of this boot."""
        content = msgspec.json.encode(
            _Content(boot_id=self._boot_id(), boot_seconds=self._seconds(), remembered=remembered)
        )
        file = _File(format=FORMAT, check=crc32(content), content=Raw(content))
        return msgspec.json.encode(file)

    def _boot_id(self) -> str:
        return (hierarchies.text(self._proc / BOOT_ID) or "").strip()
