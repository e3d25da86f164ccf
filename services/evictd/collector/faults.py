"""The collector's events.

A source that failed, protection that is less than asked for, a kill by the kernel. [contract 3,
Event] Each is told once per change of state, never once per look.
"""

from collections.abc import Collection, Mapping
from datetime import datetime

from evictd.collector.composition import names
from evictd.collector.kernel_kills import Kill
from evictd.collector.sources.workloads import Measured
from evictd.core.effects import Emit
from evictd.core.events import emit
from evictd.core.wording import name_text
from evictd_schemas import SignalReading
from evictd_schemas.topics import Role

PROBLEMS_MAX = 100
"""Sentences told at a time; a machine with more of them needs to hear the first hundred."""

NO_STALL_FIGURES = (
    "the kernel gives no stall figures for the node's memory, so that rules on psi.memory are"
    " never met; boot with psi=1, or let memory and stalls be of one scope"
)
NO_MEMORY_ACCOUNTING = (
    "the kernel accounts no memory to workloads, so that their usage is a sum over processes;"
    " boot with cgroup_enable=memory"
)
NO_GROUPS = (
    "the runtime gives workloads no control groups of their own, so that their usage is a sum over"
    " processes; engines without root give them on cgroup v2 only"
)


def newly_failed(
    before: Mapping[str, str], failures: Mapping[str, str], node: str, time: datetime
) -> tuple[Emit, ...]:
    """`SourceFailed` for each source that answered before and does not now."""
    return tuple(
        emit(
            node=node,
            worker=Role.COLLECTOR,
            reason="SourceFailed",
            message=f"{name} cannot be read: {reason}",
            time=time,
            about=name,
            transition=time.isoformat(),
            figures={"source": name, "cause": reason},
        )
        for name, reason in failures.items()
        if name not in before
    )


def newly_degraded(
    before: Collection[str], problems: Collection[str], node: str, time: datetime
) -> tuple[Emit, ...]:
    """`ProtectionDegraded` for each sentence that was not true before."""
    return tuple(
        emit(
            node=node,
            worker=Role.COLLECTOR,
            reason="ProtectionDegraded",
            message=sentence,
            time=time,
            about=sentence,
            transition=time.isoformat(),
        )
        for sentence in problems
        if sentence not in before
    )


def shortcomings(
    stalls: Mapping[str, SignalReading] | None, measured: Collection[Measured], *, accounted: bool
) -> tuple[str, ...]:
    """What this machine cannot tell although nothing has failed.

    `stalls`: what its source said, None where it has not answered. `accounted`: the kernel keeps
    an account of memory.
    """
    found = []
    if stalls is not None and not any(name.startswith("psi.memory.") for name in stalls):
        found.append(NO_STALL_FIGURES)
    figures = [look.pod.stats.memory for look in measured if look.pod.stats is not None]
    if figures and all(memory is not None and memory.estimated for memory in figures):
        found.append(NO_GROUPS if accounted else NO_MEMORY_ACCOUNTING)
    return tuple(found)


def system_oom(kill: Kill, node: str, boot_id: str | None, time: datetime) -> Emit:
    """`SystemOOM`: how many the kernel killed and whom, as far as that can be known."""
    known = kill.victims[0] if len(kill.victims) == 1 else None
    return emit(
        node=node,
        worker=Role.COLLECTOR,
        reason="SystemOOM",
        message=f"the kernel killed {_processes(kill.count)} for want of memory{_whom(kill)}",
        time=time,
        about=node,
        transition=f"{boot_id}:{kill.total}",
        subject=None if known is None else name_text(known),
        figures={
            "killed": kill.count,
            "victims": [
                {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
                for pod in kill.victims
            ],
        },
    )


def _processes(count: int) -> str:
    return "a process" if count == 1 else f"{count} processes"


def _whom(kill: Kill) -> str:
    if kill.victims:
        return f" in {names(kill.victims)}"
    if kill.gone:
        return f"; in none that still runs, perhaps in {names(kill.gone)}, gone since"
    return ", in no workload that is known"
