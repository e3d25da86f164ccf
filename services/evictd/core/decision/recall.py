"""Taking up what an earlier life of the evictor has left on the bus: its only memory.

What was decided since the start goes before it. [design, law 5]
"""

from msgspec import structs

from evictd.core.decision import failures, filling, past, reclaim, standing
from evictd.core.decision.inputs import Recalled
from evictd.core.decision.plan import Plan, Reclaiming, Step
from evictd.core.decision.requests import recovered
from evictd.core.decision.upkeep import of_another_mode, without
from evictd.core.effects import WakeAt
from evictd.core.moments import Now
from evictd.core.rules import Mode, Rules
from evictd_schemas import Decision, PodReference


def recalled(rules: Rules, plan: Plan, given: Recalled, now: Now) -> Step:
    """Our own requests, and all that our last Decision tells."""
    known = {own.topic for own in plan.own}
    found = [recovered(retained, now) for retained in given.requests]
    own = tuple(item for item in found if item is not None and item.topic not in known)
    plan = structs.replace(plan, own=(*plan.own, *own))
    plan, unwanted = without(plan, lambda item: of_another_mode(rules, item))
    decision = given.decision if plan.decision is None else None
    went = {**_asked(rules, plan), **_relieved(rules, decision), **plan.relieved}
    plan = structs.replace(plan, relieved=went)
    if decision is None:
        return plan, unwanted
    plan, told = standing.remembered(rules, _resumed(plan, decision, now), decision, now)
    if rules.profile.failed_victim_moves_on:
        lately = {**failures.fallen(plan.returns, now), **plan.victims}
        plan = structs.replace(plan, victims=lately)
    if plan.reclaiming is not None:
        told = (*told, WakeAt(boot_seconds=plan.reclaiming.deadline_boot_seconds))
    return plan, (*unwanted, *told)


def _relieved(rules: Rules, decision: Decision | None) -> dict[str, PodReference]:
    """Who had gone only in a rehearsal stands for no crossing once that is over."""
    if decision is None:
        return {}
    rehearsed = decision.mode == Mode.DRY_RUN and rules.mode is not Mode.DRY_RUN
    return {} if rehearsed else decision.relieved


def _asked(rules: Rules, plan: Plan) -> dict[str, PodReference]:
    """Who stands for a crossing by its request: it may be newer than our last Decision.

    Of a group it is the one whom the others follow.
    """
    return {
        own.signal: own.pod
        for own in sorted(plan.own, key=lambda own: bool(own.following))
        if filling.spares(rules, own.signal) and not own.withdrawn
    }


def _resumed(plan: Plan, decision: Decision, now: Now) -> Plan:
    failed = failures.recalled(decision.passed_over, now)
    under_way = None
    if decision.order is not None and decision.signal is not None:
        under_way = Reclaiming(
            order_uid=decision.order,
            signal=decision.signal,
            dry_run=decision.mode != Mode.ACT,
            sequence=decision.sequence,
            deadline_boot_seconds=now.boot_seconds + reclaim.RECLAIM_SECONDS,
        )
    return structs.replace(
        plan,
        judged=decision.judged,
        failed={**failed, **plan.failed},
        history=past.recalled(plan.history, decision.evictions, now),
        reclaiming=plan.reclaiming or under_way,
        reclaimed={**{one.signal: one for one in decision.reclaims}, **plan.reclaimed},
        decision=decision,
    )
