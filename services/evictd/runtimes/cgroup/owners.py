"""Which control groups are somebody else's: an engine's, a running systemd's, evictd's own.

What is here is never stopped, however it is configured. [design, law 9]
"""

import re
from pathlib import Path

from evictd.runtimes.hierarchies import is_folder

ENGINES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("docker", re.compile(r"docker(-.*)?|buildkit.*|moby")),
    ("podman", re.compile(r"podman.*|libpod.*|conmon.*")),
    ("containerd", re.compile(r"containerd.*|cri-containerd.*|nerdctl.*|.*:cri-containerd:.*")),
    ("kubelet", re.compile(r"kubepods.*|kubelet.*|crio.*|k3s.*|besteffort|burstable")),
    ("machined", re.compile(r"machine(\.slice)?|lxc.*|libvirt.*|qemu.*|garden|ecs")),
    ("systemd", re.compile(r"(system|user|init)(-.*)?\.(slice|scope)|user@.*|systemd.*")),
)
"""Owner and the names of the groups in which it keeps what is its own."""
UNIT_SUFFIXES = (".service", ".scope", ".slice", ".mount", ".socket", ".swap")
DEPTH_MAX = 4
"""Levels below a group that are searched for an owner's group; engines nest no deeper."""


def owner_of(path: str, *, systemd_runs: bool) -> str | None:
    """Who owns a group by its path below the hierarchies, None when nobody known does."""
    for name in path.strip("/").split("/"):
        if systemd_runs and name.endswith(UNIT_SUFFIXES):
            return "systemd"
        for owner, names in ENGINES:
            if names.fullmatch(name):
                return owner
    return None


def owner_inside(folder: Path, *, systemd_runs: bool) -> str | None:
    """Who keeps a group of its own beneath this one."""
    level = [folder]
    for _ in range(DEPTH_MAX):
        level = [below for at in level for below in subgroups(at)]
        for below in level:
            if (owner := owner_of(below.name, systemd_runs=systemd_runs)) is not None:
                return owner
    return None


def subgroups(folder: Path) -> list[Path]:
    """The groups directly below, none when the folder is not there."""
    try:
        return sorted(entry for entry in folder.iterdir() if is_folder(entry))
    except OSError:
        return []


def systemd_runs(run_path: Path) -> bool:
    """Whether systemd manages this machine now, by the folder that only it makes."""
    return is_folder(run_path / "systemd" / "system")
