"""Control groups by their path, in the hierarchies that this machine has."""

from pathlib import Path

from evictd.collector.sources import files


def folder(root: Path | None, path: str) -> Path | None:
    """The folder of a group, None where the hierarchy is missing or has no such group.

    Raises `HostError` when one may not look.
    """
    if root is None:
        return None
    place = root / path.strip("/")
    return place if files.is_folder(place) else None


def is_machine_root(root: Path) -> bool:
    """Whether a hierarchy's root is that of the machine, and not of a container's own name space.

    Only the true root of a v1 hierarchy has `release_agent`; only it lacks `cgroup.events` on v2.
    """
    if (root / "cgroup.controllers").exists():
        return not (root / "cgroup.events").exists()
    return (root / "release_agent").exists()
