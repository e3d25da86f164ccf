"""Noticing that one workload is evicted again and again: something starts it again, or we do.

Memory about a workload is keyed by its name, since each start is another uid. [design, law 11] Both
ways may notice one end: it is told under the same id. [contract 3, Event]
"""

from datetime import datetime

from evictd.core.back_off import back_off_seconds
from evictd.core.decision.occurrences import eviction_loop
from evictd.core.decision.past import End, History, Past, lately
from evictd.core.decision.returns import Falls
from evictd.core.effects import Emit
from evictd.core.moments import Now
from evictd.core.rules import Rules
from evictd.core.ways import Way
from evictd.core.wording import name_text
from evictd_schemas import Pod, PodReference, Stopped

LOOP_EVICTIONS = 3
"""From so many on it is a loop: twice may be chance."""
NAMES_MAX = 1_000
"""Names remembered; beyond it the one that was evicted longest ago is forgotten."""


def counted(
    rules: Rules, history: History, pod: PodReference, time: datetime, now: Now
) -> tuple[History, tuple[Emit, ...]]:
    """One more eviction that we had asked for, and `EvictionLoop` if it is one too many.

    `time`: when it ended, as it was told. A life goes once: after a restart its end may be answered
    again.
    """
    name, earlier = name_text(pod), history.get(name_text(pod))
    if earlier is not None and earlier.pod.uid == pod.uid:
        return history, ()
    ends = (*lately(history, name, now), End(boot_seconds=now.boot_seconds, time=time))
    kept = {key: past for key, past in history.items() if key != name and lately(history, key, now)}
    while len(kept) >= NAMES_MAX:
        kept.pop(next(iter(kept)))
    kept[name] = Past(pod=pod, ends=ends)
    return kept, _told(rules, pod, len(ends), ends[0].boot_seconds, now)


def restarted_in_vain(history: History, pod: Pod, now: Now) -> bool:
    """Whether one that is restarted has come back as large twice: the third time is a stop."""
    if pod.action != Way.RESTART:
        return False
    return len(lately(history, name_text(pod), now)) >= LOOP_EVICTIONS - 1


def rest_seconds(history: History, name: str, now: Now) -> float:
    """So long who is back by itself is left alone even by a shortage that finds nobody else.

    It doubles with each time, so that nobody fights with a healer. [field case I1]
    """
    return back_off_seconds(len(lately(history, name, now)))


def fallen(
    rules: Rules, stopped: Stopped, earlier: Falls | None, falls: Falls, now: Now
) -> tuple[Emit, ...]:
    """`EvictionLoop` of one that falls again, however slowly and whoever started it.

    What goes because somebody asked for it, and comes back by somebody's hand, is no loop.
    """
    if earlier is None or falls.told.count <= earlier.told.count:
        return ()
    if stopped.signal is None and not earlier.told.returned:
        return ()
    return _told(rules, falls.told.pod, falls.told.count, falls.first_boot_seconds, now)


def _told(
    rules: Rules, pod: PodReference, evictions: int, first_boot_seconds: float, now: Now
) -> tuple[Emit, ...]:
    if evictions < LOOP_EVICTIONS:
        return ()
    seconds = now.boot_seconds - first_boot_seconds
    return (eviction_loop(rules, pod, evictions, seconds, now),)
