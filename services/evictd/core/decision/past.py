"""What is remembered of who was evicted lately: by name, since each life has another uid.

Values, and how they outlive a restart; `loops` says what they mean. [design, laws 5 and 11]
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from evictd.core.moments import Now, past_boot_seconds
from evictd.core.wording import name_text
from evictd_schemas import PastEvictions, PodReference

LATELY_SECONDS = 3_600.0
"""Evictions of one name within that time are counted together: who comes back by itself is passed
over for ten minutes, and the third time is noticed all the same."""
TIMES_TOLD_MAX = 20
"""Evictions of one name that a Decision carries: the pause is the longest after a few."""


class End(Struct, frozen=True, kw_only=True):
    """One eviction on the worker's own clock, and as its end was told: so after a restart too."""

    boot_seconds: float
    time: datetime


class Past(Struct, frozen=True, kw_only=True):
    """How one name was evicted, oldest first. `pod`: the life that went last."""

    pod: PodReference
    ends: tuple[End, ...]


History: TypeAlias = Mapping[str, Past]
"""By `namespace/name`, the one that was evicted last at the end."""


def lately(history: History, name: str, now: Now) -> tuple[End, ...]:
    """The evictions of that name within the last hour."""
    past = history.get(name)
    return () if past is None else _recent(past.ends, now)


def written(history: History, now: Now) -> tuple[PastEvictions, ...]:
    """The same for a Decision, which is all that a restarted evictor has."""
    return tuple(
        PastEvictions(pod=past.pod, times=tuple(end.time for end in past.ends[-TIMES_TOLD_MAX:]))
        for name, past in history.items()
        if lately(history, name, now)
    )


def recalled(history: History, told: Iterable[PastEvictions], now: Now) -> History:
    """What an earlier life of ours had counted, and after it what was counted since."""
    before = {name_text(past.pod): past for past in (_past(one, now) for one in told) if past.ends}
    since = {name: _joined(before.get(name), past) for name, past in history.items()}
    return {**before, **since}


def _past(told: PastEvictions, now: Now) -> Past:
    ends = tuple(
        End(boot_seconds=past_boot_seconds(time, now), time=min(time, now.utc))
        for time in told.times
    )
    return Past(pod=told.pod, ends=_recent(ends, now))


def _joined(earlier: Past | None, past: Past) -> Past:
    """The same end may have been answered to both lives of ours."""
    if earlier is None:
        return past
    if earlier.pod.uid == past.pod.uid:
        return earlier
    return Past(pod=past.pod, ends=(*earlier.ends, *past.ends))


def _recent(ends: tuple[End, ...], now: Now) -> tuple[End, ...]:
    return tuple(end for end in ends if end.boot_seconds > now.boot_seconds - LATELY_SECONDS)
