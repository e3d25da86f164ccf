"""Giving something back before anybody is evicted: which steps, the order, and its re-check.

[kubelet-eviction 7] [contract 3, Order]
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from uuid import NAMESPACE_URL, uuid5

from evictd.core.decision.inputs import Judged
from evictd.core.decision.plan import Reclaiming
from evictd.core.effects import Publish, Retract
from evictd.core.moments import Now, same_boot
from evictd.core.orders import OrderKind, OrderState
from evictd.core.rules import Mode, Rules
from evictd.core.signals import percentages, quantities
from evictd.core.signals.amounts import rounded_text
from evictd.core.signals.layouts import NODEFS, reclaim_steps
from evictd.core.signals.names import DISK, NODEFS_AVAILABLE, Resource, resource_of
from evictd_schemas import (
    Layout,
    Order,
    OrderStatus,
    ReclaimOutcome,
    StepOutcome,
    ThresholdStatus,
    topics,
)

ORDER_NAME = "reclaim"
"""One order at a time, so that a newer one replaces it."""
RECLAIM_SECONDS = 60.0
"""How long the responder may take: a disk that fills up is not waited for longer."""
RECHECK_SECONDS = 30.0
"""How long a look after the reclaim is waited for: three times the usual interval."""


FRUITLESS_SECONDS = 600.0
"""A step that gave nothing back is not repeated for so long while its signal is short: images fall
out of use within hours, not within looks."""


def steps_for(rules: Rules, layout: Layout, signal: str) -> tuple[str, ...]:
    """What can be given back for this signal, in order.

    All that a plain host gives back is an engine's, and none of it lies on a nodefs beside that.
    """
    if rules.reclaim_steps is None:
        return reclaim_steps(layout).get(signal, ())
    elsewhere = layout.dedicated_image_fs and signal in NODEFS
    return () if elsewhere or resource_of(signal) not in DISK else rules.reclaim_steps


def worthwhile(steps: Sequence[str], fruitless: Mapping[str, float], now: Now) -> tuple[str, ...]:
    """Without those that gave nothing back for this signal lately."""
    return tuple(
        step
        for step in steps
        if step not in fruitless or now.boot_seconds - fruitless[step] >= FRUITLESS_SECONDS
    )


def fruitless(outcomes: Iterable[StepOutcome], now: Now) -> dict[str, float]:
    """The steps of an order that gave nothing back, and when.

    What the file system says counts, not what the engine has deleted.
    """
    return {
        step.step: now.boot_seconds
        for step in outcomes
        if step.freed_bytes <= 0 and step.freed_inodes <= 0
    }


def unit_of(signal: str) -> Callable[[StepOutcome], int]:
    """What counts of a step for this signal: bytes or inodes."""
    inodes = resource_of(signal) is Resource.INODES
    return (lambda step: step.freed_inodes) if inodes else (lambda step: step.freed_bytes)


def freed_text(signal: str, outcomes: Sequence[StepOutcome]) -> str:
    """What came back in all, and from which of several steps."""
    freed = unit_of(signal)
    whole = rounded_text(signal, sum(freed(step) for step in outcomes))
    gave = [f"{step.step} {rounded_text(signal, freed(step))}" for step in outcomes if freed(step)]
    nothing = [step.step for step in outcomes if not freed(step)]
    if not gave or len(outcomes) == 1:
        return f"{whole} came back"
    rest = f"; nothing from {' and '.join(nothing)}" if nothing else ""
    return f"{whole} came back ({', '.join(gave)}{rest})"


def rehearsed_text(outcomes: Sequence[StepOutcome]) -> str:
    """What the steps of a dry run would take, for people."""
    took = [f"{step.step} {taken_text(step)}" for step in outcomes if step.taken_total]
    nothing = [step.step for step in outcomes if not step.taken_total and not step.error]
    errors = [f"{step.step}: {step.error}" for step in outcomes if step.error]
    rest = f", nothing from {' and '.join(nothing)}" if took and nothing else ""
    failed = f" ({'; '.join(errors)})" if errors else ""
    return f"a reclaim would take {', '.join(took) or 'nothing'}{rest}{failed}"


def taken_text(step: StepOutcome) -> str:
    """How many pieces, and how much they hold by the runtime's own figures."""
    return f"{step.taken_total} ({rounded_text(NODEFS_AVAILABLE, step.listed_bytes)})"


def first_text(steps: Sequence[str], mode: Mode) -> str:
    """What is done before anybody goes, or would be."""
    named = " and ".join(steps)
    if mode is Mode.ACT:
        return f"reclaiming {named} first"
    return f"{named} would be reclaimed first; mode is {mode}"


def rehearsed(reclaimed: Mapping[str, ReclaimOutcome], signal: str) -> bool:
    """Whether it was asked in this crossing what would be taken."""
    return signal in reclaimed and reclaimed[signal].dry_run


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


def cleared(rules: Rules, signal: str, given: Judged) -> bool:
    """Nothing is met any more: all thresholds, with their minimum reclaim, whatever their grace.

    [kubelet-eviction 7] On a plain host those of the signal: nobody is stopped for a disk that is
    empty again because memory is short besides.
    """
    return not any(
        item.met_with_minimum_reclaim
        for item in given.pressure.thresholds
        if rules.reclaim_steps is None or item.signal == signal
    )


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
