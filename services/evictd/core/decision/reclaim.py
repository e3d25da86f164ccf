"""Giving something back before anybody is evicted: which steps, the order, and its re-check.

[kubelet-eviction 7] [contract 3, Order]
"""

from collections.abc import Iterable
from uuid import NAMESPACE_URL, uuid5

from evictd.core.decision.inputs import Judged
from evictd.core.decision.plan import Reclaiming
from evictd.core.effects import Publish, Retract
from evictd.core.moments import same_boot
from evictd.core.orders import OrderKind, OrderState
from evictd.core.rules import Mode, Rules
from evictd.core.signals import percentages, quantities
from evictd.core.signals.layouts import reclaim_steps
from evictd.core.signals.names import DISK, resource_of
from evictd_schemas import Layout, Order, OrderStatus, ThresholdStatus, topics

ORDER_NAME = "reclaim"
"""One order at a time, so that a newer one replaces it."""
RECLAIM_SECONDS = 60.0
"""How long the responder may take: a disk that fills up is not waited for longer."""
RECHECK_SECONDS = 30.0
"""How long a look after the reclaim is waited for: three times the usual interval."""


def steps_for(rules: Rules, layout: Layout, signal: str) -> tuple[str, ...]:
    """What can be given back for this signal, in order."""
    if rules.reclaim_steps is not None:
        return rules.reclaim_steps if resource_of(signal) in DISK else ()
    return reclaim_steps(layout).get(signal, ())


def order(rules: Rules, signal: str, steps: tuple[str, ...], given: Judged) -> Order:
    """The order of this pass; the same pass makes the same order."""
    pressure = given.pressure
    identity = f"{rules.node}|{signal}|{pressure.epoch}|{pressure.sequence}"
    until = None if rules.reclaim_steps is None else _target(pressure.thresholds, signal)
    return Order(
        uid=str(uuid5(NAMESPACE_URL, identity)),
        kind=OrderKind.RECLAIM,
        signal=signal,
        steps=steps,
        until_available=until,
        dry_run=rules.mode is not Mode.ACT,
        deadline_seconds=RECLAIM_SECONDS,
    )


def order_topic(rules: Rules) -> str:
    """Where our order stands."""
    return topics.ORDER.at(rules.node, name=ORDER_NAME)


def publication(rules: Rules, placed: Order) -> Publish:
    """The order as it goes out."""
    return Publish(topic=order_topic(rules), message=placed)


def retraction(rules: Rules) -> Retract:
    """The order is over."""
    return Retract(topic=order_topic(rules))


def over(status: OrderStatus) -> bool:
    """The responder does nothing more, whether it did anything or not."""
    return status.state != OrderState.RUNNING


def looked_again(reclaiming: Reclaiming, given: Judged) -> bool:
    """Whether this Pressure is of an observation taken after everything was given back.

    One of the very moment of the end counts. [contract 3, Order]
    """
    outcome = reclaiming.outcome
    if outcome is None or outcome.state != OrderState.FINISHED:
        return False
    if given.pressure.sequence <= reclaiming.sequence:
        return False
    finished, observed = outcome.finished, given.pressure.observed
    if finished is None or observed is None or not same_boot(finished, observed):
        return True
    return (observed.uptime_seconds or 0.0) >= (finished.uptime_seconds or 0.0)


def cleared(given: Judged) -> bool:
    """Nothing is met any more: all thresholds, with their minimum reclaim, whatever their grace.

    [kubelet-eviction 7]
    """
    return not any(item.met_with_minimum_reclaim for item in given.pressure.thresholds)


def _target(thresholds: Iterable[ThresholdStatus], signal: str) -> int | None:
    """The amount at which all met thresholds of the signal are resolved."""
    wanted = [
        threshold.quantity + _minimum_reclaim(threshold)
        for threshold in thresholds
        if threshold.signal == signal and threshold.met and threshold.quantity is not None
    ]
    return max(wanted, default=None)


def _minimum_reclaim(threshold: ThresholdStatus) -> int:
    text = threshold.minimum_reclaim
    if text is None:
        return 0
    if text.endswith("%"):
        return int(percentages.parse(text).fraction * (threshold.capacity or 0))
    return quantities.parse(text).value or 0
