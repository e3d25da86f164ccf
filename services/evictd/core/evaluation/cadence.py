"""How soon the collector should look again: the nearer a line, the sooner.

[contract 3, Pressure]
"""

from collections.abc import Iterable, Iterator

from evictd.core.evaluation.watch import Watch
from evictd.core.moments import elapsed_seconds, moment
from evictd_schemas import Moment, Number, Observation, ThresholdStatus

SOONEST_SECONDS = 0.25
"""A look takes some milliseconds; more than four in a second would cost what it is to save."""
PATIENT_SECONDS = 1.0
"""Between two looks while a line stays crossed and what could be done has been asked for."""
URGENT_SECONDS = 60.0
"""For so long after a line was crossed the soonest look is asked for."""
NEAR_RATIO = 1.1
"""Within a tenth above the line it is near, whatever the slope says."""
LOOKS_TO_LINE = 2
"""So many looks before the line would be crossed at the present slope."""


def next_observation_seconds(
    watch: Watch,
    observation: Observation,
    statuses: Iterable[ThresholdStatus],
) -> float | None:
    """Seconds until the next look at latest; None where nothing presses or tells an interval."""
    now = moment(observation)
    wishes = [seconds for status in statuses for seconds in _wishes(watch, status, now)]
    if observation.interval_seconds is not None:
        wishes.append(observation.interval_seconds)
    return max(SOONEST_SECONDS, round(min(wishes), 3)) if wishes else None


def _wishes(watch: Watch, status: ThresholdStatus, now: Moment) -> Iterator[float]:
    """What one threshold asks for."""
    if status.available is None or status.quantity is None:
        return
    if status.met:
        yield _while_met(status, now)
        return
    distance = status.available - status.quantity
    if 0 <= status.available < status.quantity * NEAR_RATIO:
        yield PATIENT_SECONDS
    fall = _fall_per_second(watch, status.signal, status.available, now)
    if fall is not None:
        yield distance / fall / LOOKS_TO_LINE


def _while_met(status: ThresholdStatus, now: Moment) -> float:
    """Until the grace is over; then often, at first very often."""
    age_seconds = 0.0
    if status.first_observed is not None:
        age_seconds = elapsed_seconds(status.first_observed, now)
    rest_seconds = status.grace_period_seconds - age_seconds
    if rest_seconds > 0:
        return rest_seconds
    urgent = age_seconds < status.grace_period_seconds + URGENT_SECONDS
    return SOONEST_SECONDS if urgent else PATIENT_SECONDS


def _fall_per_second(watch: Watch, signal: str, available: Number, now: Moment) -> float | None:
    """How fast the signal fell since the last pass; None where it did not, or nobody can tell."""
    last = None if watch.judged is None else watch.judged.signals.get(signal)
    if watch.judged is None or last is None or last.available <= available:
        return None
    seconds = elapsed_seconds(moment(watch.judged), now)
    return float(last.available - available) / seconds if seconds > 0 else None
