"""The folder in which an engine keeps its containers, as a witness of what came and went.

A folder's own time changes with each entry that is made or taken away. The same time of the same
folder says that no container did, also over a restart of the machine and whatever its clock says.
It knows no image.
"""

import os
import time
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

FOLDER_NAME = "containers"
"""Below the engine's data root."""
SETTLED_NANOSECONDS = 10**9
"""A change within the same tick of the kernel's clock would leave the same time; events about it
may still be under way."""


class FolderMark(Struct, frozen=True, kw_only=True):
    """Which folder, and when an entry came or went last."""

    inode: int
    changed_nanoseconds: int


def mark(data_root: str, container_ids: Collection[str]) -> FolderMark | None:
    """As the folder is now; blocks.

    None where it is not in sight, where its entries are not the containers that the engine lists
    (it may be another engine's, and of an empty one nobody could tell), or just after a change.
    """
    folder = Path(data_root) / FOLDER_NAME
    if not folder.is_absolute():
        return None
    try:
        found, names = folder.stat(), os.listdir(folder)  # noqa: PTH208 - the names alone
    except OSError:
        return None
    if not names or set(names) != set(container_ids):
        return None
    if time.time_ns() - found.st_mtime_ns < SETTLED_NANOSECONDS:
        return None
    return FolderMark(inode=found.st_ino, changed_nanoseconds=found.st_mtime_ns)
