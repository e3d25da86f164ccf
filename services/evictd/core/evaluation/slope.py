"""How fast a signal falls, and whether its hard line comes before the grace of its soft one ends.

A grace is there for a dip to pass. Where the signal falls straight through to the hard line, the
end of the grace is never reached, and what could still go gently would go hard. A fall is believed
only when two steps in a row tell it, and only as far as the slower of them. [field case B13]
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise

import msgspec
from msgspec import Struct

from evictd.core.moments import elapsed_seconds
from evictd.core.signals.thresholds import Judge, Readings, Threshold
from evictd_schemas import Moment, Number, SignalReading

STEPS = 2
"""Steps that have to tell the fall: three observations without a gap between them."""
SAMPLES_MAX = STEPS + 2
"""One more, because the newest is too young to count while it is less than a step away."""
STEP_SECONDS_MIN = 1.0
"""Over less than this a single allocation looks like a slope."""
STEP_SECONDS_MAX = 30.0
"""Over more than this, three of the usual intervals, a slope says nothing of now."""


class Sample(Struct, frozen=True, kw_only=True):
    """What a signal read, and when. `time` is the reading's own: the same one is no news."""

    at: Moment
    available: Number
    time: datetime | None = None


Trail = dict[str, tuple[Sample, ...]]
"""The newest samples of each signal that has both kinds of line, oldest first."""


class Foresight(Struct, frozen=True, kw_only=True):
    """Why a soft line's grace is cut short.

    In how many seconds, falling by so much a second, the hard line comes; `rest_seconds` of the
    grace would still be left now.
    """

    hard: Threshold
    fall_per_second: float
    seconds: float
    rest_seconds: float


def continued(
    trail: Mapping[str, tuple[Sample, ...]],
    thresholds: Iterable[Threshold],
    readings: Readings,
    now: Moment,
) -> Trail:
    """The trail with one observation more; after a gap or a new boot `trail` is empty."""
    lines = tuple(thresholds)
    hard = {line.signal for line in lines if line.hard}
    return {
        line.signal: _longer(trail.get(line.signal, ()), readings[line.signal], now)
        for line in lines
        if not line.hard and line.signal in hard and line.signal in readings
    }


def fall_per_second(samples: tuple[Sample, ...]) -> float | None:
    """The slower of the last two falls; None where it does not fall or too little is known."""
    steps = list(pairwise(samples))
    if steps and _seconds(steps[-1]) < STEP_SECONDS_MIN:
        before, newest = steps.pop()
        if newest.available > before.available:
            return None
    if len(steps) < STEPS:
        return None
    slower = min(
        (before.available - after.available) / _seconds((before, after))
        for before, after in steps[-STEPS:]
    )
    return slower if slower > 0 else None


def foreseen(
    measure: Judge,
    soft: Threshold,
    lines: Iterable[Threshold],
    *,
    readings: Readings,
    samples: tuple[Sample, ...],
    rest_seconds: float,
) -> Foresight | None:
    """The first hard line of the same signal that comes before the grace of a met soft one ends.

    What else that line asks for is taken as it is now.
    """
    fall = fall_per_second(samples)
    if soft.hard or fall is None:
        return None
    reading = readings[soft.signal]
    coming = (
        Foresight(hard=line, fall_per_second=fall, seconds=seconds, rest_seconds=rest_seconds)
        for line, distance in _distances(measure, soft, lines, readings, reading)
        if (seconds := distance / fall + line.sustained_seconds) < rest_seconds
    )
    return min(coming, key=lambda found: found.seconds, default=None)


def _distances(
    measure: Judge,
    soft: Threshold,
    lines: Iterable[Threshold],
    readings: Readings,
    reading: SignalReading,
) -> Iterator[tuple[Threshold, float]]:
    """How far the signal is above each hard line that it alone keeps from being met."""
    for line in lines:
        if not line.hard or line.signal != soft.signal:
            continue
        quantity = float(measure.absolute(line.value, reading.capacity))
        below = msgspec.structs.replace(reading, available=quantity - 1)
        if measure.meets(line, {**readings, line.signal: below}, reclaim=False):
            yield line, max(0.0, reading.available - quantity)


def _longer(samples: tuple[Sample, ...], reading: SignalReading, now: Moment) -> tuple[Sample, ...]:
    """With one more sample, in the place of the newest where that was no whole step away."""
    if samples and reading.time is not None and samples[-1].time == reading.time:
        return samples
    sample = Sample(at=now, available=reading.available, time=reading.time)
    if len(samples) > 1 and _seconds((samples[-2], samples[-1])) < STEP_SECONDS_MIN:
        samples = samples[:-1]
    if samples and not 0 < _seconds((samples[-1], sample)) <= STEP_SECONDS_MAX:
        return (sample,)
    return (*samples, sample)[-SAMPLES_MAX:]


def _seconds(step: tuple[Sample, Sample]) -> float:
    return elapsed_seconds(step[0].at, step[1].at)
