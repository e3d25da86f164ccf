"""`pid.available`: how many more threads the machine, or the workloads' parent group, may start.

Threads are counted, not processes: the budget is theirs. [kubelet-eviction 2.2]
"""

from pathlib import Path

from evictd.collector.sources import files, groups
from evictd.core.errors import HostError
from evictd.runtimes.hierarchies import Hierarchies
from evictd.shell.kernel_text import whole_number
from evictd_schemas import SignalReading

PIDS = "pid.available"


def read(proc: Path, hierarchies: Hierarchies, scope: str | None) -> dict[str, SignalReading]:
    """The budget with the smaller share left, of the machine and, where configured, the group."""
    budgets = [machine_budget(proc)]
    if scope is not None:
        budgets += group_budget(hierarchies, scope)
    return {PIDS: min(budgets, key=lambda budget: budget.available / budget.capacity)}


def machine_budget(proc: Path) -> SignalReading:
    """Both kernel limits hold, so the smaller counts. Raises `HostError` where neither is there."""
    limits = (
        files.amount(proc / "sys/kernel/pid_max"),
        files.amount(proc / "sys/kernel/threads-max"),
    )
    known = [limit for limit in limits if limit]
    if not known:
        raise HostError(f"{proc}/sys/kernel has neither pid_max nor threads-max")
    return _budget(min(known), thread_count(files.required(proc / "loadavg")))


def thread_count(loadavg: str) -> int:
    """The number after the slash in the fourth field."""
    words = loadavg.split()
    _, _, total = words[3].partition("/") if len(words) > 3 else ("", "", "")
    return whole_number(total, "loadavg")


def group_budget(hierarchies: Hierarchies, scope: str) -> list[SignalReading]:
    """Of `pids.max`; none where that is unlimited. Raises `HostError` for a group that is gone."""
    folder = groups.folder(hierarchies.pids, scope)
    used = None if folder is None else files.amount(folder / "pids.current")
    if folder is None or used is None:
        raise HostError(f"sources.pids.cgroup: no pids group {scope}")
    limit = files.limit(folder / "pids.max")
    return [] if not limit else [_budget(limit, used)]


def _budget(capacity: int, used: int) -> SignalReading:
    return SignalReading(available=max(0, capacity - used), capacity=capacity)
