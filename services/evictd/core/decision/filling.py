"""A full disk on a plain host: whom its growth gives away, who was stopped for it already, and what
people are told when nobody is. It asks for nothing itself. [design, profile host: disk and inodes]
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec import structs

from evictd.core.decision import growth
from evictd.core.decision.candidates import may_go
from evictd.core.decision.plan import Plan
from evictd.core.decision.scene import Scene
from evictd.core.effects import Figures
from evictd.core.moments import elapsed_seconds, moment
from evictd.core.protocol.vocabulary import Status
from evictd.core.rules import Rules
from evictd.core.signals.amounts import measured_text
from evictd.core.signals.layouts import same_disk
from evictd.core.signals.names import DISK, condition_of, resource_of
from evictd.core.wording import name_text
from evictd_schemas import Growth, Layout, Loss, Pod, RankedPod, Stopped, ThresholdStatus

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
    lost = loss(scene.layout, plan, signal)
    return None if lost is None else growth.writer(lost, candidates)


def stopped_already(scene: Scene, plan: Plan, signal: str) -> str | None:
    """Whom this crossing has cost already, as `namespace/name`.

    Signals of one file system are one crossing. Where the evictor's own Decision is lost the record
    of what is down tells it.
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
    lost = loss(scene.layout, plan, signal)
    if lost is None or lost.lost <= 0:
        return "nobody is seen to fill it; a stop frees no space"
    return _why_no_writer(lost, signal, ranking)


def loss(layout: Layout, plan: Plan, signal: str) -> Loss | None:
    """What the file system of a signal lost, as far as it is counted."""
    told_under = same_disk(layout, signal)
    return next((one for one in plan.losses if one.signal in told_under), None)


def growth_seen(scene: Scene, plan: Plan, signal: str, pod: Pod) -> Growth | None:
    """What it wrote, where that is why it goes."""
    if not spares(scene.rules, signal):
        return None
    return growth.growth_of(loss(scene.layout, plan, signal), pod.uid)


def sentence(signal: str, pod: Pod, grown: Growth) -> str:
    """Why it is the one, for its request and all that is told of it."""
    return f"Pod {pod.name} {wrote_text(signal, grown)}; {judged_text(signal, grown)}."


def told(lost: Loss | None, signal: str, ranking: Sequence[RankedPod]) -> tuple[RankedPod, ...]:
    """The rows with the rate at which each writes to that disk."""
    return tuple(
        row
        if (grown := growth.growth_of(lost, row.pod.uid)) is None
        else structs.replace(row, why=f"{row.why}; {wrote_text(signal, grown)}")
        for row in ranking
    )


def wrote_text(signal: str, grown: Growth) -> str:
    """How much one wrote, how fast, and how much of it to its logs."""
    amount = measured_text(signal, grown.grown)
    rate = f"wrote {amount} in {grown.seconds:.0f} s ({rate_text(signal, grown.per_second)})"
    if grown.logs <= 0:
        return rate
    part = "all" if grown.logs >= grown.grown else measured_text(signal, grown.logs)
    return f"{rate}, {part} of it to its logs"


def rate_text(signal: str, per_second: float) -> str:
    """A rate for people; what is slower than one of its unit a second is told as that."""
    return f"{'<' if per_second < 1 else ''}{measured_text(signal, max(1, per_second))}/s"


def judged_text(signal: str, grown: Growth) -> str:
    """What its growth means for the file system: the rule that says whether it is worth a stop."""
    lost = measured_text(signal, grown.lost)
    if grown.lost <= 0:
        return "nothing was lost meanwhile"
    if not growth.most_of_it(grown):
        return f"that is less than half of the {lost} lost meanwhile"
    if not growth.matters(grown):
        return f"that explains the {lost} lost meanwhile, but {_slow(signal, grown)}"
    return f"that explains the {lost} lost meanwhile"


def figures(scene: Scene, plan: Plan, signal: str) -> Figures:
    """What is known of a full disk: who grows, and how much is in no known layer or log."""
    lost = loss(scene.layout, plan, signal) if spares(scene.rules, signal) else None
    reading = scene.newest.observation.signals.get(signal)
    found: Figures = {}
    if lost is not None:
        found = {
            "lost": lost.lost,
            "lostSeconds": lost.seconds,
            "lostUnattributed": lost.unattributed,
            "growing": [
                {
                    "pod": name_text(one.pod),
                    "grown": one.grown,
                    "seconds": one.seconds,
                    "perSecond": round(one.per_second, 1),
                }
                for one in lost.growing[:GROWING_MAX]
            ],
        }
    if plan.writing is not None and plan.writing.tracks and reading is not None:
        held = growth.held_amount(plan.writing, signal)
        used = (reading.capacity or 0) - reading.available
        found |= {"used": used, "unattributed": max(0, used - held)}
    return found


def _why_no_writer(lost: Loss, signal: str, ranking: Sequence[RankedPod]) -> str:
    """Of the one that grows fastest; where it explains nothing, of what is not explained."""
    whole, unknown = (measured_text(signal, part) for part in (lost.lost, lost.unattributed))
    fastest = next((one for one in lost.growing if growth.most_of_it(one)), None)
    if fastest is None:
        return (
            f"nobody's growth explains the {whole} lost in {lost.seconds:.0f} s,"
            f" of which {unknown} are in no known layer or log"
        )
    wrote = f"{name_text(fastest.pod)} {wrote_text(signal, fastest)}"
    row = next((row for row in ranking if row.pod.uid == fastest.pod.uid), None)
    if row is None:
        return f"{wrote} and so filled it, but runs no more"
    if not growth.matters(fastest):
        return f"{wrote}: {_slow(signal, fastest)}"
    return f"{wrote} and so fills it, but is not stopped ({row.verdict})"


def _slow(signal: str, grown: Growth) -> str:
    left = measured_text(signal, grown.left)
    return f"the {left} left last for over a day"


def _in_this_crossing(scene: Scene, stopped: Stopped, signal: str) -> bool:
    """Stopped since the condition began that its signal raises."""
    kind = condition_of(signal)
    return any(
        condition.type == kind
        and condition.status == Status.TRUE
        and stopped.time >= condition.last_transition_time.replace(microsecond=0)
        for condition in scene.newest.pressure.conditions
    )
