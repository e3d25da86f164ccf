"""The table of signals: what each belongs to, and which of them the kubelet knows.

[kubelet-eviction 2] [contract 3, Observation: signals]
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Resource(StrEnum):
    """What a shortage is of; its ranking and its word in messages."""

    MEMORY = "memory"
    EPHEMERAL_STORAGE = "ephemeral-storage"
    INODES = "inodes"
    PIDS = "pids"


class ConditionType(StrEnum):
    """The conditions of a node, in the order in which they are published."""

    MEMORY = "MemoryPressure"
    DISK = "DiskPressure"
    PID = "PIDPressure"


class Signal(Struct, frozen=True, kw_only=True):
    """`resource` and `condition` None: shown, never acted on. `upstream`: the kubelet has it."""

    resource: Resource | None = None
    condition: ConditionType | None = None
    upstream: bool = True


MEMORY_AVAILABLE = "memory.available"
ALLOCATABLE_MEMORY_AVAILABLE = "allocatableMemory.available"
NODEFS_AVAILABLE = "nodefs.available"
NODEFS_INODES_FREE = "nodefs.inodesFree"
IMAGEFS_AVAILABLE = "imagefs.available"
IMAGEFS_INODES_FREE = "imagefs.inodesFree"
CONTAINERFS_AVAILABLE = "containerfs.available"
CONTAINERFS_INODES_FREE = "containerfs.inodesFree"
PID_AVAILABLE = "pid.available"
SWAP_AVAILABLE = "swap.available"
PSI_MEMORY_SOME = "psi.memory.some.avg10"
PSI_MEMORY_FULL = "psi.memory.full.avg10"
PSI_IO_FULL = "psi.io.full.avg10"

_MEMORY = Signal(resource=Resource.MEMORY, condition=ConditionType.MEMORY)
_BYTES = Signal(resource=Resource.EPHEMERAL_STORAGE, condition=ConditionType.DISK)
_INODES = Signal(resource=Resource.INODES, condition=ConditionType.DISK)
_PIDS = Signal(resource=Resource.PIDS, condition=ConditionType.PID)
_OWN_MEMORY = Signal(resource=Resource.MEMORY, condition=ConditionType.MEMORY, upstream=False)
_SHOWN = Signal(upstream=False)

SIGNALS: Mapping[str, Signal] = {
    MEMORY_AVAILABLE: _MEMORY,
    ALLOCATABLE_MEMORY_AVAILABLE: _MEMORY,
    NODEFS_AVAILABLE: _BYTES,
    NODEFS_INODES_FREE: _INODES,
    IMAGEFS_AVAILABLE: _BYTES,
    IMAGEFS_INODES_FREE: _INODES,
    CONTAINERFS_AVAILABLE: _BYTES,
    CONTAINERFS_INODES_FREE: _INODES,
    PID_AVAILABLE: _PIDS,
    SWAP_AVAILABLE: _OWN_MEMORY,
    PSI_MEMORY_SOME: _OWN_MEMORY,
    PSI_MEMORY_FULL: _OWN_MEMORY,
    PSI_IO_FULL: _SHOWN,
}
"""Every signal that evictd knows. Names are case-sensitive."""

KUBELET_SIGNALS = frozenset(name for name, signal in SIGNALS.items() if signal.upstream)
BYTES = frozenset({Resource.MEMORY, Resource.EPHEMERAL_STORAGE})
"""What is measured in bytes; the rest is counted."""
DISK = frozenset({Resource.EPHEMERAL_STORAGE, Resource.INODES})
"""What a file system runs out of."""
STALL_SIGNALS = frozenset({PSI_MEMORY_SOME, PSI_MEMORY_FULL, PSI_IO_FULL})
"""Averages over the last seconds: after a gap they tell of the time before it."""


def resource_of(signal: str) -> Resource | None:
    """What the signal is a shortage of; None for one that is never acted on."""
    known = SIGNALS.get(signal)
    return None if known is None else known.resource


def urgency(signal: str) -> int:
    """Memory first, then the other known signals, then unknown ones. [kubelet-eviction 6]"""
    if resource_of(signal) is Resource.MEMORY:
        return 0
    return 1 if signal in SIGNALS else 2


def in_bytes(signal: str) -> bool:
    """Whether its amounts are bytes; the others are counts or, for stalls, per cent."""
    return signal not in STALL_SIGNALS and resource_of(signal) in BYTES


def condition_of(signal: str) -> ConditionType | None:
    """The condition it raises, if any."""
    known = SIGNALS.get(signal)
    return None if known is None else known.condition


def conditions_of(signals: list[str]) -> tuple[ConditionType, ...]:
    """The conditions that these signals raise, each once."""
    raised = {condition_of(signal) for signal in signals}
    return tuple(condition for condition in ConditionType if condition in raised)
