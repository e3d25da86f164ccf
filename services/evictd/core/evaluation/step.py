"""The evaluator's step: one node, one thing that happened, what to publish. [design, law 1]

Durations are between the moments of observations; `now` serves for stamps and for noticing that
none came. [kubelet-eviction 4: 7 to 12] [contract 3, Observation, Pressure]
"""

from typing import assert_never

import msgspec

from evictd.core.effects import Asked, Publish, Retract, Tick, WakeAt
from evictd.core.evaluation.judgement import Judgement, judge, judge_again, readings_of, unsupported
from evictd.core.evaluation.recall import recalled
from evictd.core.evaluation.report import (
    condition_events,
    pressure_of,
    remembered,
    stale_event,
    stale_pressure,
)
from evictd.core.evaluation.watch import Given, Gone, Observed, Recalled, Reclaimed, Watch
from evictd.core.moments import Now, later_in_boot, moment
from evictd.core.observations import GAP_INTERVALS, SILENT_SECONDS, sequence_of
from evictd.core.orders import OrderState
from evictd.core.rules import Rules
from evictd_schemas import Layout, Moment, Observation, OrderStatus, Pressure, topics


def evaluate(rules: Rules, watch: Watch, given: Given, now: Now) -> tuple[Watch, Asked]:
    """Which thresholds are met, due and fresh; which conditions hold; when to look again."""
    match given:
        case Observed(observation=observation, listed=True):
            return _noted(watch, observation, now)
        case Observed(observation=observation):
            return _observed(rules, watch, observation, now)
        case Recalled(pressure=pressure):
            return _recalled(rules, watch, pressure, now)
        case Reclaimed(status=status):
            return _reclaimed(rules, watch, status), ()
        case Gone():
            return forgotten(rules.node)
        case Tick():
            return _ticked(watch, now)
        case _:
            assert_never(given)


def silent(watch: Watch, now: Now) -> bool:
    """Whether a foreign node would be forgotten by now."""
    return (
        watch.received_boot_seconds is not None
        and now.boot_seconds - watch.received_boot_seconds >= SILENT_SECONDS
    )


def forgotten(node: str) -> tuple[Watch, Asked]:
    """Nothing is known of the node any more, and nothing is said of it. [contract 2]"""
    return Watch(), (Retract(topic=topics.PRESSURE.at(node)),)


def _observed(
    rules: Rules, watch: Watch, observation: Observation, now: Now
) -> tuple[Watch, Asked]:
    if watch.pressure is not None and sequence_of(observation) <= watch.pressure.sequence:
        return watch, ()
    noted, asked = _noted(watch, observation, now)
    layout = _layout(watch, observation)
    if layout is not None and watch.layout is None:
        if layout.error is not None:
            return noted, asked
        if unsupported(rules, layout):
            return msgspec.structs.replace(noted, layout=layout, derived=False), asked
        noted = msgspec.structs.replace(noted, layout=layout, derived=True)
    if _is_recheck(rules, watch, observation):
        judgement = judge_again(rules, watch, observation)
        noted = msgspec.structs.replace(noted, reclaimed=None)
    else:
        judgement = judge(rules, watch, observation)
        noted = _after_pass(rules, noted, judgement, observation)
    pressure = pressure_of(rules, watch, judgement, observation, now)
    events = tuple(condition_events(watch, pressure))
    noted = msgspec.structs.replace(
        noted, pressure=pressure, conditions=remembered(watch, pressure)
    )
    publish = Publish(topic=topics.PRESSURE.at(rules.node), message=pressure)
    return noted, (publish, *events, *asked)


def _after_pass(
    rules: Rules, watch: Watch, judgement: Judgement, observation: Observation
) -> Watch:
    """What a pass leaves for the next. [4: 9 to 12]"""
    return msgspec.structs.replace(
        watch,
        judged=msgspec.structs.replace(
            observation, pods=None, signals=readings_of(rules, observation)
        ),
        first_observed=judgement.first_observed,
        last_observed=judgement.last_observed,
        unresolved=judgement.due,
        trail=judgement.trail,
    )


def _noted(watch: Watch, observation: Observation, now: Now) -> tuple[Watch, Asked]:
    """It was seen, and the next one is waited for."""
    noted = msgspec.structs.replace(
        watch,
        last=msgspec.structs.replace(observation, pods=None),
        received_boot_seconds=now.boot_seconds,
        stale=False,
    )
    return noted, (WakeAt(boot_seconds=_wake_boot_seconds(noted, now)),)


def _recalled(rules: Rules, watch: Watch, pressure: Pressure, now: Now) -> tuple[Watch, Asked]:
    """Go on from there; should no observation come, that is noticed as well."""
    going_on = recalled(rules, watch, pressure)
    if going_on.received_boot_seconds is None:
        going_on = msgspec.structs.replace(going_on, received_boot_seconds=now.boot_seconds)
    return going_on, (WakeAt(boot_seconds=_wake_boot_seconds(going_on, now)),)


def _layout(watch: Watch, observation: Observation) -> Layout | None:
    """The layout is asked for once. [kubelet-eviction 2.3]"""
    return watch.layout or observation.layout


def _reclaimed(rules: Rules, watch: Watch, status: OrderStatus) -> Watch:
    """A reclaim has ended; what was observed after it already is no re-check."""
    if (
        rules.profile.recheck_revises_state
        or status.state != OrderState.FINISHED
        or not status.steps
    ):
        return watch
    if status.finished is None or watch.pressure is None or watch.last is None:
        return watch
    if _earlier(status.finished, moment(watch.last)):
        return watch
    return msgspec.structs.replace(watch, reclaimed=status.finished)


def _is_recheck(rules: Rules, watch: Watch, observation: Observation) -> bool:
    """Taken after the reclaim, or at the same moment. [kubelet-eviction 7]"""
    return (
        not rules.profile.recheck_revises_state
        and watch.reclaimed is not None
        and not _earlier(moment(observation), watch.reclaimed)
    )


def _earlier(one: Moment, other: Moment) -> bool:
    later = later_in_boot(one, other)
    return one.time < other.time if later is None else later


def _ticked(watch: Watch, now: Now) -> tuple[Watch, Asked]:
    """Without an observation for three intervals the conditions are Unknown.

    Nothing is gone and nothing withdrawn. [contract 3, Observation]
    """
    if watch.last is None:
        return watch, ()
    if not _is_stale(watch, now) or watch.stale:
        return watch, (WakeAt(boot_seconds=_wake_boot_seconds(watch, now)),)
    aged = msgspec.structs.replace(watch, stale=True)
    wake = WakeAt(boot_seconds=_wake_boot_seconds(aged, now))
    if watch.pressure is None:
        return aged, (wake,)
    pressure = stale_pressure(watch.pressure, now)
    aged = msgspec.structs.replace(aged, pressure=pressure, conditions=remembered(watch, pressure))
    publish = Publish(topic=topics.PRESSURE.at(pressure.node), message=pressure)
    return aged, (publish, stale_event(pressure), wake)


def _is_stale(watch: Watch, now: Now) -> bool:
    stale_boot_seconds = _stale_boot_seconds(watch)
    return stale_boot_seconds is not None and now.boot_seconds >= stale_boot_seconds


def _stale_boot_seconds(watch: Watch) -> float | None:
    """When the newest observation is too old; None for one without an interval, which never is."""
    if watch.last is None or watch.last.interval_seconds is None:
        return None
    if watch.received_boot_seconds is None:
        return None
    return watch.received_boot_seconds + GAP_INTERVALS * watch.last.interval_seconds


def _wake_boot_seconds(watch: Watch, now: Now) -> float:
    """When something has to be noticed without a message: staleness, then silence."""
    stale_boot_seconds = _stale_boot_seconds(watch)
    if stale_boot_seconds is not None and not watch.stale:
        return stale_boot_seconds
    received = watch.received_boot_seconds
    silent_boot_seconds = (now.boot_seconds if received is None else received) + SILENT_SECONDS
    if silent_boot_seconds > now.boot_seconds:
        return silent_boot_seconds
    return now.boot_seconds + SILENT_SECONDS
