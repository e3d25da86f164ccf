"""When to look again, as pure functions. [contract 3, Pressure: nextObservationSeconds]

Durations in seconds of boot time. Nothing here knows a clock, a source or the bus.
"""

from msgspec import Struct

from evictd.core.observations import stale_seconds
from evictd_schemas import Pressure, SignalReading

LOOK_AFTER_GAP_SECONDS = 0.25
"""After a gap one pass at most only observes, so that the next look must come soon. [contract 3]"""
HINT_SECONDS = 1.0
"""A runtime's hint is answered by a look within this: starting containers come in dozens."""
FALL_SHARE = 0.1
"""Memory that falls by a tenth between two looks is looked at: near a line that is soon enough."""
FALL_CAPACITY_SHARE = 1 / 256
"""And by so much of the capacity at least, or else a full machine would be looked at for noise."""
FILL_BYTES_PER_SECOND = 2 << 30
"""As fast as processes touch fresh memory: measured are one to three gibibytes a second."""
GLANCE_SECONDS_MIN = 0.1
GLANCE_SECONDS_MAX = 1.0
"""A glance takes a third of a millisecond: at the shortest period 0.3 % of one core."""


class Rhythm(Struct, frozen=True, kw_only=True):
    """The longest and the shortest time between two looks."""

    interval_seconds: float = 10.0
    minimum_seconds: float = 0.1


def is_gap(elapsed: float | None, rhythm: Rhythm) -> bool:
    """Whether so much time has passed since the last look that nobody may say what was between."""
    return elapsed is not None and elapsed > stale_seconds(rhythm.interval_seconds)


def after_look_seconds(elapsed: float | None, rhythm: Rhythm) -> float:
    """How long to wait after a look that came `elapsed` after the one before it (None: first)."""
    if is_gap(elapsed, rhythm):
        return max(rhythm.minimum_seconds, LOOK_AFTER_GAP_SECONDS)
    return max(rhythm.minimum_seconds, rhythm.interval_seconds)


def after_pressure_seconds(latest: Pressure, rhythm: Rhythm) -> float:
    """How long after the last look to look again, now that it was judged.

    Near a line the evaluator wishes it sooner.
    """
    wish = latest.next_observation_seconds
    wished = rhythm.interval_seconds if wish is None else min(rhythm.interval_seconds, wish)
    return max(rhythm.minimum_seconds, wished)


def glance_seconds(memory: SignalReading | None) -> float:
    """How long until the next glance at memory alone: as long as a tenth of it takes to fill."""
    if memory is None:
        return GLANCE_SECONDS_MAX
    seconds = float(memory.available) * FALL_SHARE / FILL_BYTES_PER_SECOND
    return min(GLANCE_SECONDS_MAX, max(GLANCE_SECONDS_MIN, seconds))


def has_fallen(looked: SignalReading, glanced: SignalReading) -> bool:
    """Whether so much memory went since the last look that a whole look is worth while.

    In any view that both have, since the collector does not know which one the profile takes.
    """
    least = float(looked.capacity) * FALL_CAPACITY_SHARE
    falls = (
        (view, view - glanced.views[name])
        for name, view in looked.views.items()
        if name in glanced.views
    )
    return any(fall >= max(least, view * FALL_SHARE) for view, fall in falls)
