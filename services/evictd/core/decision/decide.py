"""The evictor's step for one node: what to reclaim, who goes next and how, and who is let off.

[kubelet-eviction 4: 12 to 21] [design, laws 1, 4, 7 and 8]
"""

from typing import assert_never

from msgspec import structs

from evictd.core.decision import (
    companions,
    endings,
    forgetting,
    interruption,
    looks,
    recall,
    reclaim,
    restore,
    standing,
    wishing,
)
from evictd.core.decision.inputs import (
    Answered,
    Fallen,
    Given,
    Gone,
    Judged,
    Ordered,
    Recalled,
    Seen,
    Wished,
)
from evictd.core.decision.plan import Plan, Step, with_returns
from evictd.core.effects import Retract, Tick
from evictd.core.moments import Now
from evictd.core.rules import Rules
from evictd_schemas import topics


def decide(rules: Rules, plan: Plan, given: Given | Tick, now: Now) -> Step:
    """One step of one node; at most one pressure victim a pass. [design, law 1]"""
    plan, effects = _taken(rules, plan, given, now)
    if isinstance(given, Tick | Seen | Answered | Gone):
        return plan, effects
    plan, more = _with_wishes(rules, plan, given, now)
    return standing.written(plan, (*effects, *more), now)


def _taken(rules: Rules, plan: Plan, given: Given | Tick, now: Now) -> Step:
    match given:
        case Judged():
            return looks.judged(rules, plan, given, now)
        case Answered():
            return endings.answered(rules, plan, given, now)
        case Ordered():
            return _ordered(rules, plan, given, now)
        case Seen():
            return endings.seen(plan, given), ()
        case Wished(topic=topic, wish=wish):
            return wishing.taken(plan, topic, wish), ()
        case Recalled():
            return recall.recalled(rules, plan, given, now)
        case Tick():
            return interruption.ticked(rules, plan, now)
        case Fallen(namespace=namespace, name=name, stopped=stopped):
            pod = (namespace, name)
            return with_returns(plan, restore.fallen(rules, plan.returns, pod, stopped, now))
        case Gone():
            return _gone(rules, plan)
        case _:
            assert_never(given)


def _ordered(rules: Rules, plan: Plan, given: Ordered, now: Now) -> Step:
    """What the responder says of an order of ours."""
    if given.name == forgetting.ORDER_NAME:  # the record tells, once it is gone
        return plan, forgetting.stale(rules, plan.returns, given.status)
    if given.name == restore.ORDER_NAME:
        return with_returns(plan, restore.answered(rules, plan.returns, given.status, now))
    return interruption.reclaimed(rules, plan, given.status, now)


def _with_wishes(rules: Rules, plan: Plan, given: Given | Tick, now: Now) -> Step:
    """What people wish is done as far as it takes no look, and answered."""
    returns, forgot = forgetting.forgotten(rules, plan.returns, wishing.given_up(plan, now))
    returns, held = restore.held_back(rules, returns, wishing.wanted(plan, now), now)
    plan = structs.replace(plan, returns=returns)
    looked = isinstance(given, Judged) and not given.listed
    plan, told = wishing.answered(rules, plan, now, looked=looked)
    return plan, (*forgot, *held, *told)


def _gone(rules: Rules, plan: Plan) -> Step:
    """Everything of the node is taken off the bus. [contract 2]"""
    mine = (*(Retract(topic=own.topic) for own in plan.own), *companions.retractions(plan))
    order = () if plan.reclaiming is None else (reclaim.retraction(rules),)
    returns = plan.returns
    orders = (*restore.retraction(rules, returns), *forgetting.retraction(rules, returns))
    return Plan(), (*mine, *order, *orders, Retract(topic=topics.DECISION.at(rules.node)))
