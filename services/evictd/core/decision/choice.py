"""Who goes next for a shortage: the whole order with its verdicts, and everybody who goes along.

[kubelet-eviction 4: 19] [design, profile host]
"""

from msgspec import Struct

from evictd.core.decision import filling, together
from evictd.core.decision.candidates import Verdict, may_go, rows, with_victim
from evictd.core.decision.plan import Plan
from evictd.core.decision.ranking import rank
from evictd.core.decision.scene import Scene
from evictd.core.decision.shortage import hard
from evictd.core.decision.together import Bonds, Unit
from evictd_schemas import RankedPod, ThresholdStatus


class Choice(Struct, frozen=True, kw_only=True):
    """The order, its `Victim` marked, and the unit that goes with it: the victim first."""

    ranking: tuple[RankedPod, ...]
    unit: Unit = ()


def choose(scene: Scene, plan: Plan, acting: ThresholdStatus) -> Choice:
    """For a threshold, with the verdicts of now.

    A hard shortage that finds nobody takes rather who has failed than nobody at all: a machine
    that dies takes everybody. [design, law 7]
    """
    choice = _choice(scene, plan, acting, nobody_else=False)
    moves_on = hard(acting) and scene.rules.profile.failed_victim_moves_on
    if choice.unit or not moves_on or filling.spares(scene.rules, acting.signal):
        return choice
    last = _choice(scene, plan, acting, nobody_else=True)
    return last if last.unit else choice


def _choice(scene: Scene, plan: Plan, acting: ThresholdStatus, *, nobody_else: bool) -> Choice:
    rules, signal = scene.rules, acting.rank_by or acting.signal
    places = rank(rules.profile, signal, scene.layout, scene.active_pods)
    order = rows(
        rules, plan, signal, places, hard=hard(acting), now=scene.now, nobody_else=nobody_else
    )
    pods = {place.pod.uid: place.pod for place in places}
    known = together.bonds(tuple(pods.values())) if rules.profile.goes_together else Bonds()
    left_behind = frozenset({Verdict.FAILED} if nobody_else else ())
    order = together.bound(known, pods, order, left_behind=left_behind)
    if filling.spares(rules, signal):
        order = filling.told(filling.loss(scene.layout, plan, signal), signal, order)
        writer = filling.chosen(scene, plan, signal, may_go(order))
        unit = () if writer is None else known.unit(pods[writer])
    else:
        unit = together.chosen(known, pods, order)
    return Choice(ranking=with_victim(order, unit[0].uid if unit else None), unit=unit)
