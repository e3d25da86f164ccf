"""The lab itself: an engine and a cgroup that the other lab tests can believe in."""

from __future__ import annotations

import subprocess
from typing import Any


def test_the_engine_runs_containers_below_its_capped_cgroup(docker_engine: Any) -> None:
    """A container's cgroup path names the lab's own cgroup, and the image holds Python."""
    printed = docker_engine.docker(
        "run", "--rm", "--network=none", docker_engine.image, "cat", "/proc/self/cgroup"
    )
    assert f"/{docker_engine.cgroup}/" in printed


def test_a_capped_cgroup_is_a_machine_of_its_own(capped_cgroup: Any) -> None:
    """A process put into a child is seen from the top, and ends with the cgroup."""
    with subprocess.Popen(["sleep", "60"]) as process:
        capped_cgroup.child("workload").add(process.pid)
        assert process.pid in capped_cgroup.processes()
        capped_cgroup.end_processes()
        assert process.wait(timeout=5) == -9
