"""One pass over one observation: what is met, since when, what is due, which conditions hold.

It publishes nothing; `step` keeps the result and `report` writes it down. [kubelet-eviction 4: 7 to
12]
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from evictd.core.evaluation.slope import Foresight, Trail, continued, foreseen
from evictd.core.evaluation.timing import (
    due,
    first_observed,
    last_observed,
    observed_since,
    updated,
)
from evictd.core.evaluation.watch import Watch, key_of
from evictd.core.moments import elapsed_seconds, in_utc, moment, rebooted
from evictd.core.observations import gap
from evictd.core.rules import Rules
from evictd.core.signals.layouts import with_containerfs
from evictd.core.signals.names import STALL_SIGNALS, ConditionType, conditions_of
from evictd.core.signals.thresholds import Judge, Readings, Threshold, merged
from evictd_schemas import Layout, Moment, Observation, SignalReading


class Judgement(Struct, frozen=True, kw_only=True):
    """The outcome of one pass.

    `shown`: every threshold that is published, `met` and `due` keys of thresholds. `foreseen`: by
    key, why a soft one is due before its grace has ended. `slept`: there was a gap, so that this
    pass only observes and nothing is due yet. Never twice in a row where a line that nobody waits
    for was met the first time.
    """

    shown: tuple[Threshold, ...]
    readings: dict[str, SignalReading]
    met: frozenset[str] = frozenset()
    met_with_reclaim: frozenset[str] = frozenset()
    due: tuple[str, ...] = ()
    fresh_signals: frozenset[str] = frozenset()
    first_observed: dict[str, Moment] = {}
    last_observed: dict[ConditionType, Moment] = {}
    reported: frozenset[ConditionType] = frozenset()
    trail: Trail = {}
    foreseen: dict[str, Foresight] = {}
    slept: bool = False


def judge_of(rules: Rules) -> Judge:
    """How this node's profile measures."""
    return Judge(single_precision=rules.profile.single_precision_percentages)


def judge(rules: Rules, watch: Watch, observation: Observation) -> Judgement:
    """Judge an observation by what was known before it.

    The pass that decides the layout still judges the list as configured; derived thresholds are
    shown in it and count from the next. [3.4]
    """
    now = moment(observation)
    readings = readings_of(rules, observation)
    shown = thresholds_shown(rules, watch, observation)
    listed = rules.thresholds if watch.first_pass else shown
    gapped = watch.last is not None and gap(watch.last, observation)
    slept = gapped and not _only_observed(watch, listed)
    known, unresolved = _carried(listed, watch, now, gapped=gapped)
    measure = judge_of(rules)
    met = measure.met(listed, readings)
    if unresolved:
        met = merged(met, measure.met(unresolved, readings, reclaim=True))
    observed = first_observed([key_of(threshold) for threshold in met], known, now)
    trail = _trail(rules, watch, observation, listed, gapped=gapped)
    rests = {item: item.wait_seconds - elapsed_seconds(observed[key_of(item)], now) for item in met}
    hastened = _foreseen(rules, listed, rests, readings, trail)
    over = {key_of(item) for item in due(met, key_of, observed, now)} | hastened.keys()
    conditions = last_observed(
        conditions_of([threshold.signal for threshold in met]), watch.last_observed, now
    )
    return Judgement(
        shown=shown,
        readings=readings,
        met=frozenset(observed),
        met_with_reclaim=_keys(measure.met(shown, readings, reclaim=True)),
        due=() if slept else tuple(key for item in met if (key := key_of(item)) in over),
        fresh_signals=_fresh(readings, watch) - (STALL_SIGNALS if gapped else frozenset()),
        first_observed=observed,
        last_observed=conditions,
        reported=frozenset(observed_since(conditions, rules.transition_seconds, now)),
        trail=trail,
        foreseen=hastened,
        slept=slept,
    )


def judge_again(rules: Rules, watch: Watch, observation: Observation) -> Judgement:
    """The re-check of the same pass after a reclaim.

    All thresholds anew, with and without minimum reclaim; conditions, first-observed times and what
    is unresolved stay. [4: 17, 7]
    """
    readings = readings_of(rules, observation)
    shown = thresholds_shown(rules, watch, observation)
    measure = judge_of(rules)
    reported = observed_since(
        watch.last_observed, rules.transition_seconds, moment(watch.judged or observation)
    )
    return Judgement(
        shown=shown,
        readings=readings,
        met=_keys(measure.met(shown, readings)),
        met_with_reclaim=_keys(measure.met(shown, readings, reclaim=True)),
        due=watch.unresolved,
        fresh_signals=_fresh(readings, watch),
        first_observed=watch.first_observed,
        last_observed=watch.last_observed,
        reported=frozenset(reported),
        trail=watch.trail,
    )


def thresholds_shown(rules: Rules, watch: Watch, observation: Observation) -> tuple[Threshold, ...]:
    """Every configured and derived threshold. [3.4]"""
    if watch.layout is not None and not watch.derived:
        return rules.thresholds
    layout = watch.layout or observation.layout
    if layout is None or layout.error is not None:
        return rules.thresholds
    return with_containerfs(rules.thresholds, layout).thresholds


def readings_of(rules: Rules, observation: Observation) -> dict[str, SignalReading]:
    """The signals as this profile reads them, each with a time."""
    view = rules.profile.memory_view
    return {
        signal: msgspec.structs.replace(
            reading,
            available=reading.available
            if view is None
            else reading.views.get(view, reading.available),
            time=in_utc(reading.time or observation.time),
        )
        for signal, reading in observation.signals.items()
    }


def unsupported(rules: Rules, layout: Layout) -> bool:
    """A split layout without separate collection of its disks.

    The pass that finds it ends, later ones only report conditions. [2.3]
    """
    return layout.dedicated_container_fs and not rules.separate_disk_gc


def _only_observed(watch: Watch, thresholds: tuple[Threshold, ...]) -> bool:
    """Whether a line that nobody waits for was met in the last pass, and not due because of a gap.

    A machine that stalls again and again would else be observed only, for as long as it does.
    [contract 3, Observation: one pass at most]
    """
    met = watch.first_observed.keys() - set(watch.unresolved)
    return any(item.wait_seconds <= 0 and key_of(item) in met for item in thresholds)


def _carried(
    thresholds: tuple[Threshold, ...], watch: Watch, now: Moment, *, gapped: bool
) -> tuple[Mapping[str, Moment], tuple[Threshold, ...]]:
    """First-observed times and unresolved thresholds that still count.

    A new boot starts them again, a gap those that have to be met for a time. [contract 3,
    Observation]
    """
    if watch.last is not None and rebooted(moment(watch.last), now):
        return {}, ()
    unresolved = tuple(item for item in thresholds if key_of(item) in watch.unresolved)
    if not gapped:
        return watch.first_observed, unresolved
    waiting = {key_of(item) for item in thresholds if item.wait_seconds > 0}
    kept = {key: since for key, since in watch.first_observed.items() if key not in waiting}
    return kept, tuple(item for item in unresolved if key_of(item) not in waiting)


def _trail(
    rules: Rules,
    watch: Watch,
    observation: Observation,
    thresholds: tuple[Threshold, ...],
    *,
    gapped: bool,
) -> Trail:
    """What the signals read lately; none where the slope does not count."""
    if not rules.profile.slope_cuts_grace:
        return {}
    now = moment(observation)
    anew = gapped or (watch.last is not None and rebooted(moment(watch.last), now))
    earlier = {} if anew else watch.trail
    return continued(earlier, thresholds, readings_of(rules, observation), now)


def _foreseen(
    rules: Rules,
    listed: tuple[Threshold, ...],
    rests: Mapping[Threshold, float],
    readings: Readings,
    trail: Trail,
) -> dict[str, Foresight]:
    """The met soft thresholds that are not waited for.

    `rests`: what is left of each grace, in seconds.
    """
    found = {
        key_of(soft): foreseen(
            judge_of(rules),
            soft,
            listed,
            readings=readings,
            samples=trail.get(soft.signal, ()),
            rest_seconds=rest_seconds,
        )
        for soft, rest_seconds in rests.items()
    }
    return {key: foresight for key, foresight in found.items() if foresight is not None}


def _fresh(readings: Readings, watch: Watch) -> frozenset[str]:
    last = {} if watch.judged is None else watch.judged.signals
    return frozenset(
        signal for signal, reading in readings.items() if updated(reading, last.get(signal))
    )


def _keys(thresholds: tuple[Threshold, ...]) -> frozenset[str]:
    return frozenset(key_of(threshold) for threshold in thresholds)
