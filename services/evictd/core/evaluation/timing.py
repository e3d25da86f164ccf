"""Time in the evaluation: since when a threshold is met, when it is due, how long it stays.

Moments are those of observations; `elapsed_seconds` says what lies between two. [kubelet-eviction
4: 9 to 12, 5]
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from evictd.core.moments import elapsed_seconds, rebooted
from evictd.core.signals.thresholds import Threshold
from evictd_schemas import Moment, SignalReading

K = TypeVar("K")


def first_observed(met: Iterable[K], last: Mapping[K, Moment], now: Moment) -> dict[K, Moment]:
    """Since when each met threshold is met; those not met are forgotten. [4: 9]"""
    return {key: last.get(key, now) for key in met}


def due(
    thresholds: Iterable[Threshold],
    key: Callable[[Threshold], K],
    observed: Mapping[K, Moment],
    now: Moment,
) -> tuple[Threshold, ...]:
    """The met thresholds whose grace is over; exactly at the grace counts. [4: 11]"""
    return tuple(
        threshold
        for threshold in thresholds
        if key(threshold) in observed
        and elapsed_seconds(observed[key(threshold)], now) >= threshold.wait_seconds
    )


def last_observed(
    conditions: Collection[K], last: Mapping[K, Moment], now: Moment
) -> dict[K, Moment]:
    """When each condition was last observed; others keep their old time. [4: 10]

    A time that an earlier boot's clock gave and that is still to come cannot be waited for: such a
    condition was last observed now.
    """
    kept = {key: now if _to_come(moment, now) else moment for key, moment in last.items()}
    return {**kept, **dict.fromkeys(conditions, now)}


def _to_come(moment: Moment, now: Moment) -> bool:
    return rebooted(moment, now) and moment.time > now.time


def observed_since(
    last: Mapping[K, Moment], transition_seconds: float, now: Moment
) -> tuple[K, ...]:
    """The conditions still reported; at exactly the transition period they are gone. [4: 10]"""
    return tuple(
        condition
        for condition, moment in last.items()
        if elapsed_seconds(moment, now) < transition_seconds
    )


def updated(reading: SignalReading | None, last: SignalReading | None) -> bool:
    """Whether a reading is newer than that of the last pass.

    Without a time it always is; a last one without a time is earlier than any. [4: 12]
    """
    if reading is None:
        return False
    return last is None or _newer(reading.time, last.time)


def _newer(time: datetime | None, last_time: datetime | None) -> bool:
    return time is None or last_time is None or time > last_time
