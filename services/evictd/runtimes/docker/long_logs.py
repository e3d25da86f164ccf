"""Logs of running containers that have grown too long: emptied in place.

Only files of the engine's own `json-file` driver, where it says that they are, below its folder.
What the log held is lost. Its rotated predecessors are the engine's to delete, and stay.
"""

import os
import stat
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath

from evictd.core.errors import PeerError
from evictd.runtimes.docker import naming
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.inspection import Inspected
from evictd.runtimes.docker.sweep import Piece
from evictd.runtimes.reclaims import LongLogs as Settings
from evictd.shell.blocking import RunBlocking

DRIVER = "json-file"
"""Written with O_APPEND, so that the engine goes on at the new end of an emptied file."""
BLOCK_BYTES = 512
"""The unit of `st_blocks`."""
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LongLogs:
    """The step."""

    def __init__(self, engine: Engine, settings: Settings, run_blocking: RunBlocking) -> None:
        self._engine = engine
        self._settings = settings
        self._run_blocking = run_blocking

    async def offered(self, stopped: Collection[str] | None) -> Sequence[Piece]:
        """The longest first. Raises `PeerError` too where the engine's folder is not seen."""
        del stopped
        root = (await self._engine.information()).docker_root_dir
        if not await self._run_blocking(partial(os.path.isdir, root)):
            raise PeerError(f"the engine's folder {root} is not to be seen from here")
        summaries = await self._engine.containers()
        names = naming.names(summaries)
        found: list[Piece] = []
        for summary in summaries:
            name = names[summary.id]
            if summary.state != "running" or self._settings.kept.holds(
                f"{name.namespace}/{name.name}", name.name
            ):
                continue
            container = await self._engine.inspect(summary.id)
            if container is None or not _is_ours(container):
                continue
            size = await self._run_blocking(partial(log_bytes, root, container.log_path))
            if size is not None and size > self._settings.above_bytes:
                piece = f"{name.namespace}/{name.name}"
                found.append(Piece(name=piece, key=container.log_path, listed_bytes=size))
        return sorted(found, key=lambda piece: -piece.listed_bytes)

    async def take(self, piece: Piece) -> Sequence[Piece]:
        """Empty it."""
        root = (await self._engine.information()).docker_root_dir
        emptied = await self._run_blocking(partial(empty, root, piece.key))
        return (piece,) if emptied else ()


def log_bytes(root: str, log: str) -> int | None:
    """What a log occupies; None where it is no plain file below the root, or not to be seen."""
    opened = _opened(root, log)
    if opened is None:
        return None
    try:
        return os.fstat(opened).st_blocks * BLOCK_BYTES
    finally:
        os.close(opened)


def empty(root: str, log: str) -> bool:
    """Cut it to nothing, whoever has it open; False where it is not what it has to be."""
    opened = _opened(root, log)
    if opened is None:
        return False
    try:
        os.ftruncate(opened, 0)
    except OSError:
        return False
    finally:
        os.close(opened)
    return True


def _is_ours(container: Inspected) -> bool:
    logging = container.host_config.log_config
    return logging is not None and logging.type == DRIVER and bool(container.log_path)


def _opened(root: str, log: str) -> int | None:
    """Folder by folder from the root, so that no link on the way leads elsewhere."""
    base, path = PurePosixPath(root), PurePosixPath(log)
    if not root.startswith("/") or base not in path.parents or ".." in path.parts:
        return None
    *folders, name = path.relative_to(base).parts
    held: list[int] = []
    try:
        held.append(os.open(root, FOLDER))
        for folder in folders:
            held.append(os.open(folder, FOLDER, dir_fd=held[-1]))
        opened = os.open(name, FILE, dir_fd=held[-1])
    except OSError:  # not there, a link, or in another machine's file system
        return None
    finally:
        for folder_descriptor in held:
            os.close(folder_descriptor)
    figures = os.fstat(opened)
    if stat.S_ISREG(figures.st_mode) and figures.st_nlink == 1:
        return opened
    with suppress(OSError):
        os.close(opened)
    return None
