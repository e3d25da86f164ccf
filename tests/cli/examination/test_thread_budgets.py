"""Budgets of threads that are smaller than the machine's, read from a tree of files."""

from pathlib import Path

import pytest

from evictd.cli.checkup.kernel import ThreadBudget
from evictd.cli.examination import kernel
from evictd_schemas.sources import PidSource, Sources

LIMITS = {
    "kubepods": "1000\n",
    "kubepods/one": "50\n",
    "docker": "max\n",
    "large": "4194304\n",
}


@pytest.mark.parametrize("watched", [False, True])
def test_that_of_a_group_right_below_the_root_is_told(tmp_path: Path, *, watched: bool) -> None:
    """All that runs in it is cut short together; a workload's own limit is its own affair."""
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "sys/kernel/pid_max").write_text("32768\n")
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (tmp_path / "cgroup.procs").touch()
    for group, limit in LIMITS.items():
        (tmp_path / group).mkdir()
        (tmp_path / group / "pids.max").write_text(limit)
    pids = PidSource(cgroup="/kubepods" if watched else None)
    sources = Sources(proc_path=str(tmp_path), cgroup_path=str(tmp_path), pids=pids)
    found = kernel.cgroups(sources, tmp_path).thread_budgets
    assert found == (ThreadBudget(group="/kubepods", threads=1000, watched=watched),)
