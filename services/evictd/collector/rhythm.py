"""When to look again, as pure functions. [contract 3, Pressure: nextObservationSeconds]

Durations in seconds of boot time. Nothing here knows a clock, a source or the bus.
"""

from msgspec import Struct

from evictd.core.moments import elapsed_seconds
from evictd.core.observations import stale_seconds
from evictd_schemas import Pressure

LOOK_AFTER_GAP_SECONDS = 0.25
"""After a gap one pass at most only observes, so that the next look must come soon. [contract 3]"""
HINT_SECONDS = 1.0
"""A runtime's hint is answered by a look within this: starting containers come in dozens."""
LINE_SHARE = 0.5
"""Look again after half of the time that is left until a line would be crossed."""


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


def after_pressure_seconds(before: Pressure | None, latest: Pressure, rhythm: Rhythm) -> float:
    """How long after the last look to look again, now that it was judged.

    The evaluator's wish counts, and the slope between two judgements: the faster a signal falls
    towards a line, the sooner.
    """
    wishes = [rhythm.interval_seconds]
    if latest.next_observation_seconds is not None:
        wishes.append(latest.next_observation_seconds)
    crossing = None if before is None else crossing_seconds(before, latest)
    if crossing is not None:
        wishes.append(crossing * LINE_SHARE)
    return max(rhythm.minimum_seconds, min(wishes))


def crossing_seconds(before: Pressure, latest: Pressure) -> float | None:
    """When the first line would be crossed if every signal went on as between two judgements.

    None where none falls towards its line, or the judgements tell no time between them.
    """
    if before.observed is None or latest.observed is None:
        return None
    elapsed = elapsed_seconds(before.observed, latest.observed)
    if elapsed <= 0:
        return None
    held = {(line.signal, line.value): line.available for line in before.thresholds}
    crossings = []
    for line in latest.thresholds:
        earlier = held.get((line.signal, line.value))
        if earlier is None or line.available is None or line.quantity is None:
            continue
        fall = (earlier - line.available) / elapsed
        if fall > 0 and line.available > line.quantity:
            crossings.append((line.available - line.quantity) / fall)
    return min(crossings, default=None)
