"""Where the control groups of this machine are: v1 hierarchies, the v2 tree, or both side by side.

On hybrid machines the v1 memory hierarchy holds limit and usage of a group, and the v2 tree has a
group of the same path with its stall figures.
"""

from pathlib import Path

from msgspec import Struct

UNIFIED_FOLDER = "unified"
"""Where systemd's hybrid layout mounts the v2 tree."""


class Hierarchies(Struct, frozen=True, kw_only=True):
    """The root folder of each; None where this machine has none.

    `memory` and `pids` may be the v2 tree itself, where that owns the controller.
    """

    memory: Path | None = None
    pids: Path | None = None
    unified: Path | None = None

    @property
    def memory_is_unified(self) -> bool:
        """Whether memory is accounted in the v2 tree."""
        return self.memory is not None and self.memory == self.unified


def locate(root: Path) -> Hierarchies:
    """Look below the place where control groups are mounted."""
    if (root / "cgroup.controllers").exists():
        unified: Path | None = root
    elif (root / UNIFIED_FOLDER / "cgroup.controllers").exists():
        unified = root / UNIFIED_FOLDER
    else:
        unified = None
    return Hierarchies(
        memory=_controller("memory", root, unified),
        pids=_controller("pids", root, unified),
        unified=unified,
    )


def group(root: Path | None, path: str) -> Path | None:
    """The folder of a group, None where the hierarchy is missing or has no such group."""
    if root is None:
        return None
    folder = root / path.strip("/")
    return folder if folder.is_dir() else None


def is_machine_root(folder: Path) -> bool:
    """Whether a hierarchy's root is that of the machine, and not of a container's own name space.

    Only the true root of a v1 hierarchy has `release_agent`; only it lacks `cgroup.events` on v2.
    """
    if (folder / "cgroup.controllers").exists():
        return not (folder / "cgroup.events").exists()
    return (folder / "release_agent").exists()


def _controller(name: str, root: Path, unified: Path | None) -> Path | None:
    if unified is not None and name in (unified / "cgroup.controllers").read_text().split():
        return unified
    return root / name if (root / name / "cgroup.procs").exists() else None
