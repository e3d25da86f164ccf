"""A full disk on a plain host: whom its growth gives away, who was stopped for it already, and what
people are told when nobody is. It asks for nothing itself. [design, profile host: disk and inodes]
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec import structs

from evictd.core.decision import growth
from evictd.core.decision.candidates import may_go
from evictd.core.decision.growth import Growth, Loss
from evictd.core.decision.plan import Plan
from evictd.core.decision.scene import Scene
from evictd.core.effects import Figures
from evictd.core.moments import elapsed_seconds, moment
from evictd.core.protocol.vocabulary import Status
from evictd.core.rules import Rules
from evictd.core.signals.amounts import rounded_text
from evictd.core.signals.layouts import CONTAINERFS, IMAGEFS, NODEFS
from evictd.core.signals.names import DISK, condition_of, resource_of
from evictd.core.wording import name_text
from evictd_schemas import Layout, RankedPod, Stopped, ThresholdStatus

COUNT_SECONDS = 30.0
"""How long a count of what is on the disk is waited for after a crossing, before nobody is said to
be filling it: a machine of usual size is counted in a second or two."""


GROWING_MAX = 5
"""Of those that grow so many are named, the fastest first."""


def spares(rules: Rules, signal: str) -> bool:
    """Whether only the one workload that is filling the disk may be stopped for this signal."""
    return rules.profile.stop_one_growing_writer and resource_of(signal) in DISK


def chosen(scene: Scene, plan: Plan, signal: str, candidates: Collection[str]) -> str | None:
    """The one that may be stopped; nobody where one was stopped for this crossing already."""
    if stopped_already(scene, plan, signal) is not None:
        return None
    lost = _loss(plan, signal)
    return None if lost is None else lost.writer(candidates)


def stopped_already(scene: Scene, plan: Plan, signal: str) -> str | None:
    """Whom this crossing has cost already, as `namespace/name`.

    Signals of one file system are one crossing. After a restart of the evictor the record of what
    is down tells it.
    """
    signals = same_disk(scene.layout, signal)
    asked = next((pod for name, pod in plan.relieved.items() if name in signals), None)
    if asked is not None:
        return name_text(asked)
    return next(
        (
            name
            for name, absent in plan.returns.absent.items()
            if absent.stopped.signal in signals and _in_this_crossing(scene, absent.stopped, signal)
        ),
        None,
    )


def same_disk(layout: Layout, signal: str) -> tuple[str, ...]:
    """The signals that tell the same of the same file system, itself included."""
    image = "image" if layout.dedicated_image_fs else "node"
    disks = ("node", image, "container" if layout.dedicated_container_fs else image)
    for column in zip(NODEFS, IMAGEFS, CONTAINERFS, strict=True):
        if signal in column:
            mine = disks[column.index(signal)]
            return tuple(name for name, disk in zip(column, disks, strict=True) if disk == mine)
    return (signal,)


def one_a_disk(
    rules: Rules, layout: Layout, thresholds: Iterable[ThresholdStatus]
) -> tuple[ThresholdStatus, ...]:
    """Without those that say of a file system what an earlier one says. [field case F4]"""
    kept: list[ThresholdStatus] = []
    for threshold in thresholds:
        said = same_disk(layout, threshold.signal) if spares(rules, threshold.signal) else ()
        if not any(
            earlier.signal in said for earlier in kept if earlier.signal != threshold.signal
        ):
            kept.append(threshold)
    return tuple(kept)


def uncounted(scene: Scene, plan: Plan, acting: ThresholdStatus) -> bool:
    """Whether what workloads hold has not been counted since the line was crossed, and may be."""
    first, observed = acting.first_observed, scene.newest.pressure.observed
    if plan.writing is None or first is None:
        return False
    since = elapsed_seconds(first, observed or moment(scene.newest.observation))
    return since < COUNT_SECONDS and not growth.counted_since(plan.writing, first)


def why_nobody(
    scene: Scene, plan: Plan, acting: ThresholdStatus, ranking: Sequence[RankedPod]
) -> str:
    """Why no row of this order is the victim."""
    if not ranking:
        return "there is no pod to evict"
    signal = acting.signal
    if not spares(scene.rules, signal) or not may_go(ranking):
        return "nobody may be evicted"
    if (stopped := stopped_already(scene, plan, signal)) is not None:
        return f"{stopped} was stopped for it already; a stop frees no space"
    lost = _loss(plan, signal)
    if lost is None or lost.amount <= 0:
        return "nobody is seen to fill it; a stop frees no space"
    whole, unknown = (rounded_text(signal, part) for part in (lost.amount, lost.unattributed))
    return (
        f"nobody's growth explains the {whole} lost in {lost.seconds:g} s,"
        f" of which {unknown} are in no known layer or log"
    )


def told(plan: Plan, signal: str, ranking: Sequence[RankedPod]) -> tuple[RankedPod, ...]:
    """The rows with the rate at which each writes to that disk."""
    lost = _loss(plan, signal)
    if lost is None:
        return tuple(ranking)
    return tuple(
        structs.replace(row, why=f"{row.why}; {_rate(signal, lost.grown[row.pod.uid])}")
        if row.pod.uid in lost.grown
        else row
        for row in ranking
    )


def figures(scene: Scene, plan: Plan, signal: str, ranking: Sequence[RankedPod]) -> Figures:
    """What is known of a full disk: who grows, and how much is in no known layer or log."""
    lost = None if not spares(scene.rules, signal) else _loss(plan, signal)
    reading = scene.newest.observation.signals.get(signal)
    found: Figures = {}
    if lost is not None:
        growing = sorted(lost.grown.items(), key=lambda item: -item[1].per_second)
        names = {row.pod.uid: name_text(row.pod) for row in ranking}
        found = {
            "lost": lost.amount,
            "lostSeconds": lost.seconds,
            "lostUnattributed": lost.unattributed,
            "growing": [
                {
                    "pod": names.get(uid, uid),
                    "grown": growth.amount,
                    "seconds": growth.seconds,
                    "perSecond": round(growth.per_second, 1),
                }
                for uid, growth in growing[:GROWING_MAX]
            ],
        }
    if plan.writing is not None and plan.writing.tracks and reading is not None:
        held = growth.held_amount(plan.writing, signal)
        used = (reading.capacity or 0) - reading.available
        found |= {"used": used, "unattributed": max(0, used - held)}
    return found


def _loss(plan: Plan, signal: str) -> Loss | None:
    return None if plan.writing is None else growth.loss(plan.writing, signal)


def _rate(signal: str, grown: Growth) -> str:
    amount = rounded_text(signal, grown.amount)
    return f"wrote {amount} in {grown.seconds:.0f} s ({rounded_text(signal, grown.per_second)}/s)"


def _in_this_crossing(scene: Scene, stopped: Stopped, signal: str) -> bool:
    """Stopped since the condition began that its signal raises."""
    kind = condition_of(signal)
    return any(
        condition.type == kind
        and condition.status == Status.TRUE
        and stopped.time >= condition.last_transition_time.replace(microsecond=0)
        for condition in scene.newest.pressure.conditions
    )
