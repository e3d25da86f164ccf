"""Which thresholds a pass is about: the fresh ones, in order of priority.

[kubelet-eviction 4: 12, 15; 6]
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from evictd.core.signals.names import resource_of, urgency
from evictd_schemas import Pressure, ThresholdStatus


def observation_times(pressure: Pressure) -> dict[str, datetime]:
    """What a pass on this Pressure uses up."""
    return {
        threshold.signal: threshold.observation_time
        for threshold in pressure.thresholds
        if threshold.observation_time is not None
    }


def fresh_thresholds(
    pressure: Pressure, judged: Mapping[str, datetime]
) -> tuple[ThresholdStatus, ...]:
    """Due, and backed by newer statistics than the last pass, the most urgent first.

    [kubelet-eviction 4: 12] [contract 3, Pressure: judged]
    """
    return by_urgency(threshold for threshold in pressure.thresholds if _fresh(threshold, judged))


def acting_threshold(fresh: Iterable[ThresholdStatus]) -> ThresholdStatus | None:
    """The first with a resource; its signal decides on reclaim, ranking and grace."""
    return next((threshold for threshold in fresh if resource_of(threshold.signal)), None)


def by_urgency(thresholds: Iterable[ThresholdStatus]) -> tuple[ThresholdStatus, ...]:
    """By `urgency` of the signal; inside each hard before soft, then as configured."""
    return tuple(sorted(thresholds, key=lambda item: (urgency(item.signal), not hard(item))))


def hard(threshold: ThresholdStatus) -> bool:
    """It is hard exactly when the grace is zero. [kubelet-eviction 3.3]"""
    return threshold.grace_period_seconds == 0


def _fresh(threshold: ThresholdStatus, judged: Mapping[str, datetime]) -> bool:
    if not threshold.due or threshold.available is None:
        return False
    last, time = judged.get(threshold.signal), threshold.observation_time
    return last is None or time is None or time > last
