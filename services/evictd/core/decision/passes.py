"""One pass: local storage limits, then the most urgent shortage: wait, reclaim, or one victim.

[kubelet-eviction 4: 13 to 21; 7; 10] [design, laws 7 and 8]
"""

from collections.abc import Sequence
from itertools import takewhile

from msgspec import structs

from evictd.core.decision import (
    enforcement,
    failures,
    filling,
    loops,
    occurrences,
    reclaim,
    report,
)
from evictd.core.decision.candidates import Verdict, may_go, victim
from evictd.core.decision.choice import choose
from evictd.core.decision.message import pressure_reason
from evictd.core.decision.plan import OwnRequest, Plan, Reclaiming, Step
from evictd.core.decision.report import Action
from evictd.core.decision.requests import pressure_request, publication
from evictd.core.decision.scene import Scene
from evictd.core.decision.shortage import acting_threshold, by_urgency, hard
from evictd.core.decision.together import Unit
from evictd.core.decision.waiting import wait_reason
from evictd.core.effects import WakeAt
from evictd.core.node_conditions import holding
from evictd.core.pods import critical, reference
from evictd.core.rules import Mode
from evictd.core.signals.names import resource_of
from evictd.core.ways import ACTION, Way
from evictd.core.wording import below, name_text
from evictd_schemas import RankedPod, ThresholdStatus

NAMED_MAX = 3
"""Of those that are skipped; the order itself has all."""


def run(scene: Scene, plan: Plan) -> Step:
    """Limits first: a pod over one of its own ends the pass."""
    over = enforcement.offenders(scene, plan)
    acting = acting_threshold(scene.fresh)
    if over and (acting is None or scene.rules.mode is not Mode.OBSERVE):
        return enforcement.enforce(scene, plan, over)
    if acting is None:
        return idle(scene, plan)
    if scene.rankable:
        acting, reason = _acted_on(scene, plan)
        if reason is not None:
            return _wait(scene, plan, acting, reason)
        plan, told = occurrences.threshold_met(scene.rules, plan, scene.given, acting, scene.now)
        plan, effects = _relieve_unless_new(scene, plan, acting)
    else:
        plan, told = occurrences.threshold_met(scene.rules, plan, scene.given, acting, scene.now)
        plan, effects = _wait(scene, plan, acting, "no ranking for a split layout without its gate")
    return plan, (*told, *effects)


def _acted_on(scene: Scene, plan: Plan) -> tuple[ThresholdStatus, str | None]:
    """The most urgent shortage for which nothing is under way yet.

    Else the most urgent one, and what it waits for. Where the profile goes on, one that nothing can
    relieve gives way to the next. [design, law 7: a hard line is not held by a soft one]
    """
    waits = [
        (threshold, wait_reason(scene, plan, threshold))
        for threshold in filling.one_a_disk(scene.rules, scene.layout, scene.fresh)
        if resource_of(threshold.signal) is not None
    ]
    free = [threshold for threshold, reason in waits if reason is None]
    if not free:
        return waits[0]
    if not scene.rules.profile.goes_on_to_next_shortage:
        return free[0], None
    return next((item for item in free if _can_be_relieved(scene, plan, item)), free[0]), None


def _can_be_relieved(scene: Scene, plan: Plan, acting: ThresholdStatus) -> bool:
    """Something can be given back, or somebody may go, and not only after a warning."""
    if plan.warned.get(acting.signal, 0.0) > scene.now.boot_seconds:
        return False
    return bool(_steps(scene, plan, acting)) or victim(ranked(scene, plan, acting)) is not None


def idle(scene: Scene, plan: Plan) -> Step:
    """Nothing is due, or nothing is newer than what was acted on."""
    pressure = scene.given.pressure
    busy = holding(pressure) or any(not own.withdrawn for own in plan.own)
    ranking: tuple[RankedPod, ...] = ()
    met = acting_threshold(by_urgency(item for item in pressure.thresholds if item.met))
    if met is not None and scene.rankable:
        ranking = ranked(scene, plan, met)
    plan, publish = report.decided(
        scene.rules,
        plan,
        scene.given,
        scene.now,
        action=Action.WAIT if busy else Action.NONE,
        reason=report.waiting_reason(pressure),
        signal=None if met is None else met.signal,
        is_hard=None if met is None else hard(met),
        ranking=ranking,
    )
    return plan, (publish,)


def ranked(scene: Scene, plan: Plan, acting: ThresholdStatus) -> tuple[RankedPod, ...]:
    """The whole order for a threshold, with the verdicts of now."""
    return choose(scene, plan, acting).ranking


def evict(scene: Scene, plan: Plan, acting: ThresholdStatus) -> Step:
    """Ask for the first that may go. [kubelet-eviction 4: 19 to 21]"""
    choice = choose(scene, plan, acting)
    ranking, row = choice.ranking, victim(choice.ranking)
    if row is None:
        if may_go(ranking) and filling.uncounted(scene, plan, acting):
            reason = f"{below(acting)}: counting what fills it"
            return _decided(scene, plan, acting, Action.WAIT, reason=reason, ranking=ranking)
        why = filling.why_nobody(scene, plan, acting, ranking)
        return _nothing_left(scene, plan, acting, ranking, why)
    pod = next(pod for pod in scene.active_pods if pod.uid == row.pod.uid)
    reason = f"{below(acting)}: {name_text(pod)} {row.why}{_spared_text(scene, acting, ranking)}"
    plan = structs.replace(plan, exhausted=_without(plan.exhausted, acting.signal))
    if scene.rules.mode is Mode.OBSERVE:
        reason = f"{reason}; mode is observe"
        return _decided(scene, plan, acting, Action.EVICT, reason=reason, ranking=ranking)
    asked = _request(scene, plan, choice.unit, acting)
    standing = plan.request(asked.topic)
    if standing is not None and _enough(standing, asked):
        return _wait(scene, plan, acting, f"{name_text(pod)} is asked to go already")
    asked = structs.replace(asked, tightened=standing is not None and not standing.hard)
    failed = failures.taken_again(plan.failed, choice.unit)
    plan = structs.replace(plan.with_request(asked), failed=failed)
    if filling.spares(scene.rules, acting.signal):
        plan = structs.replace(plan, relieved={**plan.relieved, acting.signal: asked.pod})
    plan, effects = _decided(scene, plan, acting, Action.EVICT, reason=reason, ranking=ranking)
    return plan, (publication(asked), *effects)


def _relieve_unless_new(scene: Scene, plan: Plan, acting: ThresholdStatus) -> Step:
    """A line that was crossed already when acting began has been told of first."""
    rest_seconds = plan.warned.get(acting.signal, 0.0) - scene.now.boot_seconds
    if rest_seconds <= 0:
        return _relieve(scene, plan, acting)
    reason = f"{below(acting)} already when acting began: acting in {rest_seconds:.0f} s"
    return _wait(scene, plan, acting, reason)


def _relieve(scene: Scene, plan: Plan, acting: ThresholdStatus) -> Step:
    """Reclaim first where there is something to reclaim. [kubelet-eviction 4: 17]

    Where the mode is not `act` the order only asks what would be taken. [design, law 8]
    """
    steps = _steps(scene, plan, acting)
    if not steps:
        return evict(scene, plan, acting)
    placed = reclaim.order(scene.rules, acting.signal, steps, scene.given)
    deadline = scene.now.boot_seconds + reclaim.RECLAIM_SECONDS
    under_way = Reclaiming(
        order_uid=placed.uid,
        signal=acting.signal,
        dry_run=placed.dry_run,
        sequence=scene.given.pressure.sequence,
        deadline_boot_seconds=deadline,
        given=scene.given,
        fresh=scene.fresh,
    )
    plan = structs.replace(plan, reclaiming=under_way)
    first = reclaim.first_text(steps, scene.rules.mode)
    plan, effects = _decided(
        scene,
        plan,
        acting,
        Action.RECLAIM,
        reason=f"{below(acting)}: {first}",
        ranking=ranked(scene, plan, acting),
        order=placed.uid,
    )
    out = (reclaim.publication(scene.rules, placed), WakeAt(boot_seconds=deadline))
    return plan, (*out, *effects)


def _steps(scene: Scene, plan: Plan, acting: ThresholdStatus) -> tuple[str, ...]:
    """What can be given back now; nothing for a while after a pass that found nobody to evict.

    What would be given back is asked once a crossing: nothing comes of it that the next look shows.
    """
    if scene.rules.mode is not Mode.ACT and reclaim.rehearsed(plan.reclaimed, acting.signal):
        return ()
    tried = plan.exhausted.get(acting.signal)
    pause_seconds = scene.rules.profile.reclaim_pause_seconds
    if tried is not None and scene.now.boot_seconds - tried < pause_seconds:
        return ()
    steps = reclaim.steps_for(scene.rules, scene.layout, acting.signal)
    return reclaim.worthwhile(steps, plan.fruitless.get(acting.signal, {}), scene.now)


def _wait(scene: Scene, plan: Plan, acting: ThresholdStatus, reason: str) -> Step:
    ranking = ranked(scene, plan, acting) if scene.rankable else ()
    return _decided(scene, plan, acting, Action.WAIT, reason=reason, ranking=ranking)


def _decided(
    scene: Scene,
    plan: Plan,
    acting: ThresholdStatus,
    action: Action,
    *,
    reason: str,
    ranking: Sequence[RankedPod],
    order: str | None = None,
) -> Step:
    """Written down and published, about one shortage."""
    plan, publish = report.decided(
        scene.rules,
        plan,
        scene.given,
        scene.now,
        action=action,
        reason=reason,
        signal=acting.signal,
        is_hard=hard(acting),
        ranking=ranking,
        order=order,
    )
    return plan, (publish,)


def _nothing_left(
    scene: Scene,
    plan: Plan,
    acting: ThresholdStatus,
    ranking: Sequence[RankedPod],
    why: str,
) -> Step:
    """Said once a state, not once a pass."""
    known = acting.signal in plan.exhausted
    exhausted = {**plan.exhausted, acting.signal: scene.now.boot_seconds}
    plan = structs.replace(plan, exhausted=exhausted)
    plan, effects = _wait(scene, plan, acting, f"{below(acting)}, and {why}")
    if known:
        return plan, effects
    event = occurrences.nothing_left(
        scene.rules,
        scene.given,
        acting,
        ranking,
        why=why,
        known=filling.figures(scene, plan, acting.signal),
        now=scene.now,
    )
    return plan, (event, *effects)


def _spared_text(scene: Scene, acting: ThresholdStatus, ranking: Sequence[RankedPod]) -> str:
    """Who would have gone first and is protected: owners look for them there. [field case D1]"""
    if filling.spares(scene.rules, acting.signal):
        return ""
    protected = {pod.uid for pod in scene.active_pods if pod.protected or critical(pod)}
    before = takewhile(lambda row: row.verdict != Verdict.VICTIM, ranking)
    names = [name_text(row.pod) for row in before if row.pod.uid in protected]
    if not names:
        return ""
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"; skipped before it, since protected: {', '.join(names[:NAMED_MAX])}{more}"


def _request(scene: Scene, plan: Plan, unit: Unit, acting: ThresholdStatus) -> OwnRequest:
    """For the first of the unit; the others follow it."""
    pod, *companions = unit
    resource = resource_of(acting.signal)
    assert resource is not None  # noqa: S101 - an acting threshold has a resource
    reason = pressure_reason(acting.signal, resource, scene.fresh, pod)
    if (grown := filling.growth_seen(scene, plan, acting.signal, pod)) is not None:
        message = f"{reason.message}{filling.sentence(acting.signal, pod, grown)} "
        reason = structs.replace(reason, message=message)
    if loops.restarted_in_vain(plan.history, pod, scene.now):
        annotations = {**reason.annotations, ACTION: Way.STOP}
        reason = structs.replace(reason, annotations=annotations)
    following = tuple(reference(companion) for companion in companions)
    return pressure_request(
        scene.rules, pod, reason, hard=hard(acting), now=scene.now, following=following
    )


def _enough(standing: OwnRequest, asked: OwnRequest) -> bool:
    return not standing.withdrawn and (standing.hard or not asked.hard)


def _without(marks: dict[str, float], signal: str) -> dict[str, float]:
    return {name: when for name, when in marks.items() if name != signal}
