"""A pass that a reclaim has interrupted: how it goes on once something was given back, or was not.

It knows no step and no order, `reclaim` does. [kubelet-eviction 7]
"""

from msgspec import structs

from evictd.core.decision import (
    consent,
    filling,
    growth,
    occurrences,
    passes,
    reclaim,
    report,
)
from evictd.core.decision.inputs import Judged
from evictd.core.decision.plan import Plan, Reclaiming, Step
from evictd.core.decision.report import Action
from evictd.core.decision.scene import Scene, scene
from evictd.core.decision.shortage import acting_threshold, by_urgency, observation_times
from evictd.core.effects import Emit, WakeAt
from evictd.core.moments import Now
from evictd.core.orders import OrderState
from evictd.core.rules import Mode, Rules
from evictd_schemas import Layout, OrderStatus, ReclaimOutcome, StepOutcome


def judged(rules: Rules, plan: Plan, under_way: Reclaiming, given: Judged, now: Now) -> Step:
    """A Pressure that comes before the reclaim is over, or is the look that it waits for."""
    if reclaim.looked_again(under_way, given):
        return _rechecked(rules, plan, under_way, given, now)
    return _amid_reclaim(rules, plan, under_way, given, now)


def abandoned(rules: Rules, plan: Plan) -> Step:
    """Without a rehearsal where acting has begun meanwhile: it gives nothing back, and nobody goes
    before something real did."""
    under_way = plan.reclaiming
    if under_way is None or not under_way.dry_run or rules.mode is not Mode.ACT:
        return plan, ()
    return structs.replace(plan, reclaiming=None), (reclaim.retraction(rules),)


def reclaimed(rules: Rules, plan: Plan, status: OrderStatus | None, now: Now) -> Step:
    """What the responder says of the order to give something back."""
    under_way = plan.reclaiming
    if status is None or under_way is None or status.order_uid != under_way.order_uid:
        return plan, ()
    if under_way.outcome is not None or not reclaim.over(status):
        return plan, ()
    rules = _in_force(rules, plan, under_way)
    plan, dropped = abandoned(rules, plan)
    if dropped:
        return plan, dropped
    deadline = now.boot_seconds + reclaim.RECHECK_SECONDS
    under_way = structs.replace(under_way, outcome=status, deadline_boot_seconds=deadline)
    plan = _with_outcome(rules, structs.replace(plan, reclaiming=under_way), status, now)
    latest = under_way.latest
    if status.state != OrderState.FINISHED:
        plan, effects = _not_cleared(rules, plan, under_way, latest, now)
        if not status.steps:
            return plan, effects
        told = occurrences.reclaim_rehearsed(rules, under_way.signal, status, now)
        return plan, (told, *effects)
    if latest is not None and reclaim.looked_again(under_way, latest):
        return _rechecked(rules, plan, under_way, latest, now)
    return plan, (WakeAt(boot_seconds=deadline),)


def ticked(rules: Rules, plan: Plan, now: Now) -> Step:
    """No word of the reclaim by its deadline: it has not cleared anything."""
    under_way = plan.reclaiming
    if under_way is None:
        return plan, ()
    if now.boot_seconds < under_way.deadline_boot_seconds:
        return plan, (WakeAt(boot_seconds=under_way.deadline_boot_seconds),)
    rules = _in_force(rules, plan, under_way)
    plan, dropped = abandoned(rules, plan)
    if dropped:
        return plan, dropped
    if under_way.outcome is None:
        why = f"no responder answered within {reclaim.RECLAIM_SECONDS:g} s"
        plan = _with_reclaimed(plan, under_way, now, error=why)
    return _not_cleared(rules, plan, under_way, under_way.latest, now)


def _amid_reclaim(rules: Rules, plan: Plan, under_way: Reclaiming, given: Judged, now: Now) -> Step:
    """While something is being given back, only shortages that no reclaim can help are acted on.

    They do not wait. The rest is left for the re-check.
    """
    plan = structs.replace(plan, reclaiming=structs.replace(under_way, latest=given))
    view = scene(rules, given, plan.layout or Layout(), plan.judged, now)
    urgent = tuple(
        threshold
        for threshold in view.fresh
        if not reclaim.steps_for(rules, view.layout, threshold.signal)
    )
    if acting_threshold(urgent) is None:
        return plan, ()
    times = observation_times(given.pressure)
    used = {item.signal: times[item.signal] for item in urgent if item.signal in times}
    plan = structs.replace(plan, judged={**plan.judged, **used})
    return passes.run(structs.replace(view, fresh=urgent), plan)


def _rechecked(rules: Rules, plan: Plan, under_way: Reclaiming, given: Judged, now: Now) -> Step:
    """The pass goes on where the reclaim interrupted it. [kubelet-eviction 7]"""
    enough = reclaim.cleared(rules, under_way.signal, given)
    effects: tuple[Emit, ...] = ()
    if under_way.outcome is not None:
        event = occurrences.reclaim_finished(
            rules, under_way.signal, under_way.outcome, enough=enough, now=now
        )
        effects = (event,)
    if not enough:
        plan, more = _not_cleared(rules, plan, under_way, given, now)
        return plan, (*effects, *more)
    plan = structs.replace(plan, reclaiming=None)
    plan, publish = report.decided(
        rules,
        plan,
        given,
        now,
        action=Action.WAIT,
        reason=f"reclaiming was enough for {under_way.signal}",
        signal=under_way.signal,
    )
    return plan, (reclaim.retraction(rules), *effects, publish)


def _not_cleared(
    rules: Rules, plan: Plan, under_way: Reclaiming, newest: Judged | None, now: Now
) -> Step:
    """Reclaiming did not help, or nobody said that it did: the pass goes on to evict."""
    plan = structs.replace(plan, reclaiming=None)
    over = (reclaim.retraction(rules),)
    interrupted = under_way.given or newest
    if filling.spares(rules, under_way.signal):
        interrupted = newest or interrupted  # who is growing is seen in what came since
    if interrupted is None:
        return plan, over
    due = (item for item in interrupted.pressure.thresholds if item.due)
    view = Scene(
        rules=rules,
        given=interrupted,
        newest=newest or interrupted,
        layout=plan.layout or Layout(),
        fresh=under_way.fresh or by_urgency(due),
        now=now,
    )
    acting = acting_threshold(item for item in view.fresh if item.signal == under_way.signal)
    if acting is None:
        return plan, over
    plan, effects = passes.evict(view, plan, acting)
    return plan, (*over, *effects)


def _with_outcome(rules: Rules, plan: Plan, status: OrderStatus, now: Now) -> Plan:
    """What came back is no growth undone, and what gave nothing is not tried again at once.

    The kubelet reclaims in each pass.
    """
    under_way = plan.reclaiming
    if under_way is None:
        return plan
    why = None if status.steps else status.message or None
    plan = _with_reclaimed(plan, under_way, now, steps=status.steps, error=why)
    if rules.reclaim_steps is None or under_way.dry_run:
        return plan
    signal = under_way.signal
    tried = {**plan.fruitless.get(signal, {}), **reclaim.fruitless(status.steps, now)}
    writing = plan.writing and growth.reclaimed(plan.writing, status.steps)
    fruitless = {**plan.fruitless, signal: tried}
    return structs.replace(plan, fruitless=fruitless, writing=writing)


def _with_reclaimed(
    plan: Plan,
    under_way: Reclaiming,
    now: Now,
    *,
    steps: tuple[StepOutcome, ...] = (),
    error: str | None = None,
) -> Plan:
    """Written down for people, as long as the shortage lasts."""
    outcome = ReclaimOutcome(
        signal=under_way.signal,
        time=now.utc,
        dry_run=under_way.dry_run,
        steps=steps,
        error=error,
    )
    return structs.replace(plan, reclaimed={**plan.reclaimed, under_way.signal: outcome})


def _in_force(rules: Rules, plan: Plan, under_way: Reclaiming) -> Rules:
    """The rules with the mode of the pass that goes on."""
    given = under_way.latest or under_way.given
    return rules if given is None else consent.in_force(rules, plan, given)
