"""A Pressure and its view: what becomes of standing requests, who goes, and who comes back.

It knows in which order a node is looked after, and no rule of who goes. [kubelet-eviction 4: 12]
[design, laws 1, 4 and 8]
"""

from msgspec import structs

from evictd.core.decision import companions, consent, interruption, passes, restore, wishing
from evictd.core.decision.inputs import Judged
from evictd.core.decision.plan import Plan, Step, order_of, with_returns
from evictd.core.decision.scene import scene
from evictd.core.decision.shortage import observation_times
from evictd.core.decision.upkeep import keep
from evictd.core.moments import Now
from evictd.core.rules import Mode, Rules
from evictd_schemas import Layout


def judged(rules: Rules, plan: Plan, given: Judged, now: Now) -> Step:
    """Older and repeated Pressures, and listed ones, change nothing."""
    layout = _layout(plan, given)
    if given.listed or layout is None or order_of(given.pressure) <= plan.handled:
        return plan, ()
    is_first_act = _first_act(rules, plan)
    told_to_act, rules = rules.mode is Mode.ACT, consent.in_force(rules, plan, given)
    handled = order_of(given.pressure)
    plan = structs.replace(plan, handled=handled, layout=layout, told_to_act=told_to_act)
    plan, kept = keep(rules, plan, given, layout, now)
    plan, led = companions.lead(rules, plan, given, now)
    plan, dropped = interruption.abandoned(rules, plan)
    under_way = plan.reclaiming
    if is_first_act:
        plan = _warned(rules, plan, given, now)
    if under_way is None:
        looked_at = scene(rules, given, layout, plan.judged, now)
        plan = structs.replace(plan, judged=observation_times(given.pressure))
        plan, effects = passes.run(looked_at, plan)
    else:
        plan, effects = interruption.judged(rules, plan, under_way, given, now)
    plan, returned = with_returns(plan, _returned(rules, plan, given, now))
    return plan, (*kept, *led, *dropped, *effects, *returned)


def _returned(rules: Rules, plan: Plan, given: Judged, now: Now) -> restore.Step:
    """Nobody comes back while anybody has to go or something is given back."""
    busy = plan.reclaiming is not None or any(
        not own.withdrawn and not own.gone for own in plan.own
    )
    return restore.restore(
        rules,
        plan.returns,
        given,
        now,
        busy=busy,
        leaving=plan.leaving.values(),
        wanted=wishing.wanted(plan, now),
    )


def _first_act(rules: Rules, plan: Plan) -> bool:
    """Whether this node was not acted on before, as far as anybody knows.

    [design, profile host: lines]
    """
    if not rules.profile.warns_before_first_act or rules.mode is not Mode.ACT or plan.told_to_act:
        return False
    return plan.decision is None or plan.decision.mode != Mode.ACT


def _warned(rules: Rules, plan: Plan, given: Judged, now: Now) -> Plan:
    until = now.boot_seconds + rules.profile.hard_grace_seconds
    due = {item.signal: until for item in given.pressure.thresholds if item.due}
    return structs.replace(plan, warned=due)


def _layout(plan: Plan, given: Judged) -> Layout | None:
    """The layout of the view, or the last one that could be told; None: it never could."""
    layout = given.observation.layout
    if layout is None:
        return plan.layout or Layout()
    return plan.layout if layout.error is not None else layout
