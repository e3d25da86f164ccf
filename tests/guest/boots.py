"""What runs in the guest: each boot with its machine and its stories.

A story is a test like any other, written for a machine that has what this one may not. Those of
`tests/lab` that make no difference between kernels run here as they are; what only the guest can
show is in `story_*.py` beside this file.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Boot:
    """One start of the guest. `stories` are words for pytest, run in this order."""

    name: str
    init: str
    memory_mib: int
    stories: tuple[str, ...]
    seconds_max: int
    """Of the whole boot, on a machine that does other things besides."""


PLAIN = Boot(
    name="plain",
    init="/sbin/guest-plain",
    memory_mib=2048,
    stories=(
        "tests/guest/story_kernel.py",
        "tests/lab/test_cgroup_runtime.py::TestCgroupRuntime",
        "tests/lab/test_collector_lab.py",
        "tests/guest/story_figures.py",
        "tests/guest/story_pressure.py",
        "tests/guest/story_docker.py",
    ),
    seconds_max=600,
)
SYSTEMD = Boot(
    name="systemd",
    init="/sbin/init",
    memory_mib=1280,
    stories=(
        "tests/guest/story_systemd.py",
        "tests/guest/story_unit.py",
        "tests/guest/story_podman.py",
        "tests/guest/story_quadlet.py",
    ),
    seconds_max=600,
)
BOOTS = {boot.name: boot for boot in (PLAIN, SYSTEMD)}
