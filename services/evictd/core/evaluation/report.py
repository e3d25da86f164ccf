"""Writing a judgement down: the Pressure message, and an event for each change of a condition.

[contract 3, Pressure, Event]
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from evictd.core.effects import Emit
from evictd.core.evaluation.cadence import SOONEST_SECONDS, next_observation_seconds
from evictd.core.evaluation.judgement import Judgement, judge_of
from evictd.core.evaluation.slope import Foresight
from evictd.core.evaluation.watch import ConditionMemory, Watch, key_of, reclaim_text
from evictd.core.events import emit
from evictd.core.moments import Now, in_utc, moment
from evictd.core.observations import GAP_INTERVALS, sequence_of
from evictd.core.protocol.vocabulary import Status
from evictd.core.rules import Rules
from evictd.core.signals.amounts import reading_text
from evictd.core.signals.names import ConditionType, condition_of
from evictd.core.signals.quantities import round_away
from evictd.core.signals.thresholds import (
    Judge,
    Part,
    Threshold,
    value_text,
)
from evictd.core.wording import below, drawn, kind_text
from evictd_schemas import (
    NodeCondition,
    Observation,
    Pressure,
    SignalReading,
    Term,
    ThresholdStatus,
    topics,
)

NO_OBSERVATION = "NoObservation"
OBSERVATION_STALE = "ObservationStale"
REASONS: dict[ConditionType, tuple[str, str]] = {
    ConditionType.MEMORY: ("NodeHasInsufficientMemory", "NodeHasSufficientMemory"),
    ConditionType.DISK: ("NodeHasDiskPressure", "NodeHasNoDiskPressure"),
    ConditionType.PID: ("NodeHasInsufficientPID", "NodeHasSufficientPID"),
}
"""Reason of a condition that is True, and of one that is False; events bear the same names."""


def pressure_of(
    rules: Rules, watch: Watch, judgement: Judgement, observation: Observation, now: Now
) -> Pressure:
    """The message about one pass. `watch` is the state before it."""
    statuses = tuple(_status(rules, judgement, threshold) for threshold in judgement.shown)
    return Pressure(
        node=rules.node,
        time=now.utc,
        sequence=sequence_of(observation),
        conditions=tuple(
            _condition(
                kind,
                rules,
                watch=watch,
                judgement=judgement,
                statuses=statuses,
                time=in_utc(observation.time),
            )
            for kind in ConditionType
        ),
        thresholds=statuses,
        next_observation_seconds=SOONEST_SECONDS
        if judgement.slept
        else next_observation_seconds(watch, observation, statuses),
        observed=moment(observation),
        interval_seconds=observation.interval_seconds,
    )


def stale_pressure(pressure: Pressure, now: Now) -> Pressure:
    """The same pressure with conditions of which nothing is known any more."""
    interval_seconds = pressure.interval_seconds or 0
    message = f"no observation for more than {GAP_INTERVALS} intervals of {interval_seconds:g} s"
    return msgspec.structs.replace(
        pressure,
        time=now.utc,
        conditions=tuple(
            NodeCondition(
                type=condition.type,
                status=Status.UNKNOWN,
                reason=OBSERVATION_STALE,
                message=message,
                last_transition_time=condition.last_transition_time
                if condition.status == Status.UNKNOWN
                else now.utc,
                last_observed=condition.last_observed,
            )
            for condition in pressure.conditions
        ),
    )


def remembered(watch: Watch, pressure: Pressure) -> dict[ConditionType, ConditionMemory]:
    """The conditions as they are kept after publishing a pressure."""
    kept: dict[ConditionType, ConditionMemory] = {}
    for condition in pressure.conditions:
        if condition.type not in set(ConditionType):
            continue  # written by somebody else, long ago
        kind = ConditionType(condition.type)
        earlier = watch.conditions.get(kind)
        holds = condition.status == Status.TRUE
        if condition.status == Status.UNKNOWN:
            holds = earlier is not None and earlier.pressure
        kept[kind] = ConditionMemory(
            status=condition.status, since=condition.last_transition_time, pressure=holds
        )
    return kept


def condition_events(watch: Watch, pressure: Pressure) -> Iterator[Emit]:
    """One event for each condition that turned from False to True or back.

    Unknown in between does not count, and at first all are taken to be False.
    """
    for condition in pressure.conditions:
        kind = ConditionType(condition.type)
        earlier = watch.conditions.get(kind)
        before = earlier is not None and earlier.pressure
        if condition.status == Status.UNKNOWN or (condition.status == Status.TRUE) is before:
            continue
        yield emit(
            node=pressure.node,
            worker=topics.Role.EVALUATOR,
            reason=condition.reason,
            message=condition.message or f"{condition.type} is over",
            time=pressure.time,
            about=pressure.node,
            transition=condition.last_transition_time.isoformat(),
            figures={"condition": condition.type, "thresholds": list(_figures(pressure, kind))},
        )


def stale_event(pressure: Pressure) -> Emit:
    """Nothing has been observed for three intervals."""
    return emit(
        node=pressure.node,
        worker=topics.Role.EVALUATOR,
        reason=OBSERVATION_STALE,
        message=pressure.conditions[0].message,
        time=pressure.time,
        about=pressure.node,
        transition=str(pressure.sequence),
        figures={"sequence": pressure.sequence, "intervalSeconds": pressure.interval_seconds},
    )


def _figures(pressure: Pressure, kind: ConditionType) -> Iterator[dict[str, object]]:
    for status in pressure.thresholds:
        if condition_of(status.signal) is kind:
            yield {
                "signal": status.signal,
                "value": status.value,
                "available": status.available,
                "met": status.met,
            }


def _condition(
    kind: ConditionType,
    rules: Rules,
    *,
    watch: Watch,
    judgement: Judgement,
    statuses: Iterable[ThresholdStatus],
    time: datetime,
) -> NodeCondition:
    status, reason, message = _verdict(rules, judgement, statuses, kind)
    earlier = watch.conditions.get(kind)
    unchanged = earlier is not None and earlier.status == status
    return NodeCondition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=earlier.since if earlier is not None and unchanged else time,
        last_observed=judgement.last_observed.get(kind),
    )


def _verdict(
    rules: Rules, judgement: Judgement, statuses: Iterable[ThresholdStatus], kind: ConditionType
) -> tuple[str, str, str]:
    """Status, reason and message of one condition."""
    insufficient, sufficient = REASONS[kind]
    if kind in judgement.reported:
        return (
            Status.TRUE,
            insufficient,
            _met_sentence(judgement, statuses, kind) or _lingering(rules),
        )
    seen = any(condition_of(signal) is kind for signal in judgement.readings)
    return (Status.FALSE, sufficient, "") if seen else (Status.UNKNOWN, NO_OBSERVATION, "")


def _met_sentence(
    judgement: Judgement, statuses: Iterable[ThresholdStatus], kind: ConditionType
) -> str:
    """About the first met threshold; one whose grace is cut short comes before others."""
    met = [
        (judgement.foreseen.get(key_of(threshold)), status)
        for threshold, status in zip(judgement.shown, statuses, strict=True)
        if status.met and condition_of(status.signal) is kind
    ]
    for foresight, status in met:
        if foresight is not None:
            return f"{_sentence(status)}; {_hurry(foresight)}"
    return _sentence(met[0][1]) if met else ""


def _hurry(foresight: Foresight) -> str:
    """The figures behind a grace that is cut short."""
    hard = foresight.hard
    fall = reading_text(hard.signal, foresight.fall_per_second)
    return (
        f"it falls by {fall} a second and would be below the hard threshold"
        f" {value_text(hard.value, hard.signal)} in {foresight.seconds:.0f} s:"
        f" the {foresight.rest_seconds:.0f} s left of the grace are not waited for"
    )


def _sentence(status: ThresholdStatus) -> str:
    """What is crossed, or how far above its line it still has to get."""
    if status.quantity is None or (status.available or 0) < status.quantity:
        return below(status)
    return (
        f"{status.signal} is {reading_text(status.signal, status.available or 0)}, not yet beyond"
        f" the {kind_text(status)} threshold {drawn(status)} by the minimum reclaim of"
        f" {status.minimum_reclaim}"
    )


def _lingering(rules: Rules) -> str:
    return (
        "no threshold is met any more; the condition stays until that has lasted"
        f" {rules.transition_seconds:g} s"
    )


def _status(rules: Rules, judgement: Judgement, threshold: Threshold) -> ThresholdStatus:
    key = key_of(threshold)
    reading = judgement.readings.get(threshold.signal)
    measure = judge_of(rules)
    due = key in judgement.due
    return ThresholdStatus(
        signal=threshold.signal,
        operator=threshold.operator,
        value=value_text(threshold.value, threshold.signal),
        grace_period_seconds=threshold.grace_seconds,
        quantity=_quantity(measure, threshold, reading),
        minimum_reclaim=reclaim_text(threshold),
        available=None if reading is None else reading.available,
        capacity=None if reading is None else reading.capacity,
        observation_time=None if reading is None else reading.time,
        met=key in judgement.met,
        met_with_minimum_reclaim=key in judgement.met_with_reclaim,
        due=due,
        fresh=due and threshold.signal in judgement.fresh_signals,
        first_observed=judgement.first_observed.get(key),
        name=threshold.name,
        all_of=_terms(measure, threshold.all_of, judgement),
        any_of=_terms(measure, threshold.any_of, judgement),
    )


def _quantity(measure: Judge, threshold: Threshold, reading: SignalReading | None) -> int | None:
    if reading is None:
        return None
    return round_away(measure.absolute(threshold.value, reading.capacity))


def _terms(
    measure: Judge, parts: tuple[Part, ...], judgement: Judgement
) -> tuple[Term, ...] | None:
    if not parts:
        return None
    return tuple(
        Term(
            signal=part.signal,
            value=value_text(part.value, part.signal),
            available=None
            if (found := judgement.readings.get(part.signal)) is None
            else found.available,
            met=measure.part_met(part, judgement.readings),
        )
        for part in parts
    )
