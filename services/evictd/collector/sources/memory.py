"""`memory.available` and `swap.available`, of the machine or of the one group that stands for it.

Two views of the same memory: `working_set` is the kubelet's (active file pages count as used),
`mem_available` is the kernel's own opinion. The profile picks; `available` is the first.
[contract 3, Observation: views] [kubelet-eviction 2.2]
"""

from pathlib import Path

from evictd.collector.sources import cgroup_memory, files, groups, meminfo
from evictd.collector.sources.cgroup_memory import GroupMemory
from evictd.collector.sources.groups import is_machine_root
from evictd.collector.sources.meminfo import MachineMemory
from evictd.core.errors import HostError
from evictd.runtimes.hierarchies import Hierarchies
from evictd_schemas import SignalReading

MEMORY = "memory.available"
SWAP = "swap.available"


def read(proc: Path, hierarchies: Hierarchies, scope: str | None) -> dict[str, SignalReading]:
    """The signals now; `scope` is the group that stands for the node, None for the machine."""
    machine = meminfo.read(proc)
    if scope is None:
        private = meminfo.is_private(proc)
        return machine_signals(machine, None if private else root_working_set_bytes(hierarchies))
    folder = groups.folder(hierarchies.memory, scope)
    if folder is None:
        raise HostError(f"sources.memory.cgroup: no memory group {scope}")
    memory = cgroup_memory.read(folder)
    if memory is None:
        raise HostError(f"{folder} has no memory accounting")
    return group_signals(machine, memory, group_swap_bytes(folder))


def machine_signals(machine: MachineMemory, working_set: int | None) -> dict[str, SignalReading]:
    """Huge pages are in no working set and yet not available. Without one, the kernel's view."""
    views = {"mem_available": machine.available_bytes}
    if working_set is None:
        working_set = machine.used_bytes
    if working_set is not None:
        free = machine.total_bytes - machine.huge_pages_bytes - working_set
        views["working_set"] = max(0, free)
    return {
        MEMORY: _reading(machine.total_bytes, views),
        **swap_signal(machine.swap_free_bytes, machine.swap_total_bytes),
    }


def group_signals(
    machine: MachineMemory, memory: GroupMemory, swap: tuple[int, int] | None
) -> dict[str, SignalReading]:
    """Limit less usage; a group without a limit of its own may take the whole machine.

    `swap` is (free, total) of the group; None where it shares the machine's.
    """
    limit = machine.total_bytes
    if memory.limit_bytes is not None:
        limit = min(limit, memory.limit_bytes)
    views = {
        "working_set": max(0, limit - memory.working_set_bytes),
        "mem_available": max(0, limit - memory.usage_bytes + memory.cache_bytes),
    }
    free, total = swap or (machine.swap_free_bytes, machine.swap_total_bytes)
    return {
        MEMORY: _reading(limit, {name: min(limit, view) for name, view in views.items()}),
        **swap_signal(free, total),
    }


def root_working_set_bytes(hierarchies: Hierarchies) -> int | None:
    """The whole machine's, None where the root group is a container's own or is not there."""
    if hierarchies.memory is None or not is_machine_root(hierarchies.memory):
        return None
    memory = cgroup_memory.read(hierarchies.memory)
    return None if memory is None else memory.working_set_bytes


def group_swap_bytes(folder: Path) -> tuple[int, int] | None:
    """(free, total) where v2 gives the group a swap limit of its own."""
    total = files.limit(folder / "memory.swap.max")
    if total is None:
        return None
    used = files.amount(folder / "memory.swap.current") or 0
    return max(0, total - used), total


def swap_signal(free: int, total: int) -> dict[str, SignalReading]:
    """No signal where there is no swap: that is not swap used up."""
    return {SWAP: SignalReading(available=free, capacity=total)} if total else {}


def _reading(capacity: int, views: dict[str, int]) -> SignalReading:
    available = views.get("working_set", views["mem_available"])
    return SignalReading(available=available, capacity=capacity, views=dict(views))
