"""Who was killed by the kernel: counters of two looks compared. Pure. [contract 3, SystemOOM]"""

from collections.abc import Sequence

from msgspec import Struct, structs

from evictd.collector.sources.workloads import Measured
from evictd_schemas import Pod


class Tally(Struct, frozen=True, kw_only=True):
    """The machine's count and each workload's, as they were when the machine's last changed."""

    machine: int | None = None
    groups: dict[str, int] = {}
    pods: tuple[Pod, ...] = ()
    unexplained: bool = False
    """The machine's has risen since, and by no figure of a workload: those may have been late."""


class Kill(Struct, frozen=True, kw_only=True):
    """The kernel killed `count` processes. `victims`: workloads whose own counter rose.

    `gone`: where none rose, those that ended since the last look; perhaps it was one of them.
    """

    count: int
    total: int
    victims: tuple[Pod, ...] = ()
    gone: tuple[Pod, ...] = ()


def compare(
    before: Tally, machine: int | None, measured: Sequence[Measured]
) -> tuple[Tally, Kill | None]:
    """What happened between two looks. The first look only takes the counts.

    A kill of which nothing says whom it hit is told by the next look.
    """
    groups = {look.pod.uid: look.kill_count for look in measured if look.kill_count is not None}
    pods = tuple(look.pod for look in measured)
    if before.machine is None or machine is None or machine <= before.machine:
        known = {uid: before.groups.get(uid, count) for uid, count in groups.items()}
        held = machine if machine is not None else before.machine
        return Tally(machine=held, groups=known, pods=pods), None
    victims = tuple(pod for pod in pods if groups.get(pod.uid, 0) > before.groups.get(pod.uid, 0))
    present = {pod.uid for pod in pods}
    gone = () if victims else tuple(pod for pod in before.pods if pod.uid not in present)
    if not (victims or gone or before.unexplained):
        return structs.replace(before, unexplained=True), None
    kill = Kill(count=machine - before.machine, total=machine, victims=victims, gone=gone)
    return Tally(machine=machine, groups=groups, pods=pods), kill
