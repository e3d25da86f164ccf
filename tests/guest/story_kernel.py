"""What the guest's kernel must have, or its other stories would prove nothing."""

from __future__ import annotations

from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
CAP_SYS_RESOURCE = 24


def test_control_groups_are_v2_alone_with_every_controller() -> None:
    """No hierarchy of v1 is mounted, and children of the root get all four."""
    mounted = {line.split()[2] for line in Path("/proc/mounts").read_text().splitlines()}
    assert "cgroup2" in mounted
    assert "cgroup" not in mounted
    given = (CGROUPS / "cgroup.subtree_control").read_text().split()
    assert {"cpu", "io", "memory", "pids"} <= set(given)


def test_root_has_the_right_to_short_windows_of_stall() -> None:
    """CAP_SYS_RESOURCE, which containers and some hosts withhold."""
    status = Path("/proc/self/status").read_text().splitlines()
    (effective,) = (line.split()[1] for line in status if line.startswith("CapEff:"))
    assert int(effective, 16) & 1 << CAP_SYS_RESOURCE
