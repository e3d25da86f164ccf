"""Going on after a restart from the evaluator's own retained Pressure. [design, law 5]"""

import msgspec

from evictd.core.evaluation.report import remembered
from evictd.core.evaluation.watch import ConditionMemory, Watch, key_of, matches
from evictd.core.moments import elapsed_seconds
from evictd.core.observations import sequence_of
from evictd.core.rules import Rules
from evictd.core.signals.layouts import with_containerfs
from evictd.core.signals.names import ConditionType
from evictd.core.signals.thresholds import Threshold, merged
from evictd_schemas import Layout, Moment, Observation, Pressure, SignalReading, ThresholdStatus


def recalled(rules: Rules, watch: Watch, pressure: Pressure) -> Watch:
    """The watch as it was when that Pressure was published; a watch that already judges stays.

    Thresholds that are no longer configured are forgotten. The layout is asked for anew.
    """
    if watch.pressure is not None:
        return watch
    pairs = _pairs(rules, pressure)
    judged = _judged(pressure)
    known = [observation for observation in (watch.last, judged) if observation is not None]
    going_on = msgspec.structs.replace(
        watch,
        last=max(known, key=sequence_of, default=None),
        judged=judged,
        first_observed={
            key_of(threshold): status.first_observed
            for threshold, status in pairs
            if status.first_observed is not None
        },
        last_observed=_last_observed(pressure),
        unresolved=tuple(key_of(threshold) for threshold, status in pairs if status.due),
        pressure=pressure,
    )
    return msgspec.structs.replace(going_on, conditions=_conditions(rules, going_on, pressure))


def _pairs(rules: Rules, pressure: Pressure) -> list[tuple[Threshold, ThresholdStatus]]:
    """Each published threshold that is still configured, or would be derived by some layout."""
    configured = _every(rules)
    return [
        (threshold, status)
        for status in pressure.thresholds
        for threshold in configured
        if matches(threshold, status)
    ]


def _every(rules: Rules) -> tuple[Threshold, ...]:
    every = rules.thresholds
    for dedicated in (False, True):
        derived = with_containerfs(rules.thresholds, Layout(dedicated_image_fs=dedicated))
        every = merged(every, derived.thresholds)
    return every


def _judged(pressure: Pressure) -> Observation | None:
    """As much of the judged observation as the Pressure tells."""
    if pressure.observed is None:
        return None
    return Observation(
        node=pressure.node,
        time=pressure.observed.time,
        sequence=pressure.sequence,
        boot_id=pressure.observed.boot_id,
        uptime_seconds=pressure.observed.uptime_seconds,
        interval_seconds=pressure.interval_seconds,
        signals={
            status.signal: SignalReading(
                available=status.available,
                capacity=status.capacity or 0,
                time=status.observation_time,
            )
            for status in pressure.thresholds
            if status.available is not None
        },
    )


def _last_observed(pressure: Pressure) -> dict[ConditionType, Moment]:
    return {
        ConditionType(condition.type): condition.last_observed
        for condition in pressure.conditions
        if condition.last_observed is not None and condition.type in set(ConditionType)
    }


def _conditions(
    rules: Rules, watch: Watch, pressure: Pressure
) -> dict[ConditionType, ConditionMemory]:
    """What was last said of each condition.

    One that was Unknown counts as True while its last observation lay within the transition period.
    """
    kept = remembered(watch, pressure)
    if pressure.observed is None:
        return kept
    for kind, observed in watch.last_observed.items():
        if elapsed_seconds(observed, pressure.observed) < rules.transition_seconds:
            kept[kind] = msgspec.structs.replace(kept[kind], pressure=True)
    return kept
