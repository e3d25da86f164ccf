"""Where the control groups of this machine are mounted: v1 hierarchies, the v2 tree, or both.

On hybrid machines the v1 hierarchies account memory and processes, and the v2 tree beside them has
a group of the same path with its stall figures and `cgroup.kill`.
"""

import errno
from pathlib import Path

from msgspec import Struct

from evictd.shell.kernel_text import whole_number

LIMIT_MAX = 1 << 62
"""A limit above it is none: kernels write 2^63 less a page, engines 2^64 - 1.
[kubelet-eviction 2.2]"""


class Hierarchies(Struct, frozen=True, kw_only=True):
    """The root folder of each; None where this machine has none. On v2 all three are one."""

    memory: Path | None = None
    pids: Path | None = None
    unified: Path | None = None

    @property
    def roots(self) -> tuple[Path, ...]:
        """Each root once."""
        return each_once(self.memory, self.pids, self.unified)


def each_once(*folders: Path | None) -> tuple[Path, ...]:
    """Those that are there; one folder may serve for several."""
    return tuple(dict.fromkeys(folder for folder in folders if folder is not None))


def locate(root: Path) -> Hierarchies:
    """Look below the folder in which control groups are mounted."""
    candidates = (root, root / "unified")
    unified = next((at for at in candidates if is_there(at / "cgroup.controllers")), None)
    return Hierarchies(
        memory=_controller("memory", root, unified),
        pids=_controller("pids", root, unified),
        unified=unified,
    )


def _controller(name: str, root: Path, unified: Path | None) -> Path | None:
    if unified is not None and name in (text(unified / "cgroup.controllers") or "").split():
        return unified
    return root / name if is_there(root / name / "cgroup.procs") else None


def is_there(path: Path) -> bool:
    """Whether there is such a file or folder; one that cannot be looked at is as good as none."""
    try:
        return path.exists()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """The same of a folder."""
    try:
        return path.is_dir()
    except OSError:
        return False


def content(path: Path) -> str:
    """A file of the kernel, whatever this user's language. Raises `OSError`.

    Names in it are as others gave them: a workload may call itself what is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except ValueError as error:  # somebody gave us a path that no file can have
        raise FileNotFoundError(errno.ENOENT, str(error), str(path)) from error


def text(path: Path) -> str | None:
    """The same, None when it is not there (any more) or cannot be read now."""
    try:
        return content(path)
    except OSError:
        return None


def limit_bytes(group: Path, *names: str) -> int | None:
    """The first of these files that is there, None where it says "no limit" or is missing.

    Raises `HostError` naming the file that says neither that nor a number.
    """
    for name in names:
        if (found := text(group / name)) is not None:
            word = found.strip()
            return None if word == "max" else bounded_bytes(whole_number(word, group / name))
    return None


def bounded_bytes(amount: int) -> int | None:
    """An amount that is a limit; None for zero and for every way to write "no limit"."""
    return amount if 0 < amount <= LIMIT_MAX else None
