"""What put one pod before another in the order, as a sentence for each comparison of `ranking`.

It ranks nothing: it looks for the first comparison in which two neighbours differ. [design, law 12]
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from evictd.core.decision import ranking
from evictd.core.decision.ranking import Comparator, Place, comparators
from evictd.core.rules import Rules
from evictd.core.signals.amounts import measured_text, rounded_text
from evictd.core.signals.names import DISK, resource_of
from evictd.core.wording import name_text

Saying = Callable[[str, Place, Place], str]
"""Signal, who goes earlier, who goes later: why, in a sentence about the first."""


def between(rules: Rules, signal: str, places: Sequence[Place]) -> Iterator[str]:
    """Of each two neighbours, what put the first before the second."""
    resource = resource_of(signal)
    if resource is None:
        return
    applied = comparators(rules.profile, resource)
    for earlier, later in pairwise(places):
        yield _decided(applied, signal, earlier, later)


def _decided(applied: Sequence[Comparator], signal: str, earlier: Place, later: Place) -> str:
    """The first comparison in which they differ."""
    for by in applied:
        if by(earlier) != by(later):
            return _SAYINGS[by](signal, earlier, later)
    return f"nothing that counts tells {_name(earlier)} from {_name(later)}; the list has it first"


def _say_exceeding(signal: str, earlier: Place, later: Place) -> str:
    if earlier.usage is None or later.usage is None:
        return _say_unmeasured(earlier, later)
    asked = rounded_text(signal, earlier.request or 0)
    return f"{_name(earlier)} uses more than the {asked} it asked for, {_name(later)} does not"


def _say_priority(_signal: str, earlier: Place, later: Place) -> str:
    return (
        f"priority {earlier.priority} of {_name(earlier)} is lower than"
        f" {later.priority} of {_name(later)}"
    )


def _say_excess(signal: str, earlier: Place, later: Place) -> str:
    if earlier.usage is None:
        return _say_unmeasured(earlier, later)
    one, other = (rounded_text(signal, item.excess or 0) for item in (earlier, later))
    return f"usage less request is {one} for {_name(earlier)}, {other} for {_name(later)}"


def _say_count(_signal: str, earlier: Place, later: Place) -> str:
    if earlier.usage is None:
        return _say_unmeasured(earlier, later)
    return f"{_name(earlier)} has {earlier.usage} processes, {_name(later)} {later.usage or 0}"


def _say_statistics(_signal: str, earlier: Place, later: Place) -> str:
    return f"{_name(earlier)} is measured, {_name(later)} is not"


def _say_freed(signal: str, earlier: Place, later: Place) -> str:
    one, other = (measured_text(signal, item.freed or 0) for item in (earlier, later))
    if resource_of(signal) in DISK:  # a stop frees nothing of it
        return f"{_name(earlier)} holds {one}, {_name(later)} {other}"
    return f"a stop of {_name(earlier)} would give back {one}, of {_name(later)} {other}"


def _say_youth(_signal: str, earlier: Place, later: Place) -> str:
    return f"{_name(earlier)} was started later than {_name(later)}"


def _say_unmeasured(earlier: Place, later: Place) -> str:
    unknown = earlier if earlier.usage is None else later
    return f"{_name(unknown)} has no statistics"


def _name(place: Place) -> str:
    return name_text(place.pod)


_SAYINGS: Mapping[Comparator, Saying] = {
    ranking.by_exceeding: _say_exceeding,
    ranking.by_priority: _say_priority,
    ranking.by_excess: _say_excess,
    ranking.by_count: _say_count,
    ranking.by_having_statistics: _say_statistics,
    ranking.by_freed: _say_freed,
    ranking.by_youth: _say_youth,
}
