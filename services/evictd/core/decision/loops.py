"""Noticing that one workload is evicted again and again: something starts it again, or we do.

Memory about a workload is keyed by its name, since each start is another uid. [design, law 11] Both
ways may notice one end: it is told under the same id. [contract 3, Event]
"""

from collections.abc import Mapping
from typing import TypeAlias

from evictd.core.back_off import back_off_seconds
from evictd.core.decision.occurrences import eviction_loop
from evictd.core.decision.returns import Falls
from evictd.core.effects import Emit
from evictd.core.moments import Now
from evictd.core.rules import Rules
from evictd.core.ways import Way
from evictd.core.wording import name_text
from evictd_schemas import Pod, PodReference

LOOP_SECONDS = 3_600.0
"""Evictions of one name within that time are counted together: who comes back by itself is passed
over for ten minutes, and the third time is noticed all the same."""
LOOP_EVICTIONS = 3
"""From so many on it is a loop: twice may be chance."""
NAMES_MAX = 1_000
"""Names remembered; beyond it the one that was evicted longest ago is forgotten."""

Times: TypeAlias = tuple[float, ...]
History: TypeAlias = Mapping[str, Times]
"""`namespace/name` to the boot times of its evictions."""


def counted(
    rules: Rules, history: History, pod: PodReference, now: Now
) -> tuple[dict[str, Times], tuple[Emit, ...]]:
    """One more eviction that we had asked for, and `EvictionLoop` if it is one too many."""
    name, since = name_text(pod), now.boot_seconds - LOOP_SECONDS
    times = (*(time for time in history.get(name, ()) if time > since), now.boot_seconds)
    kept = {key: value for key, value in history.items() if key != name and value[-1] > since}
    while len(kept) >= NAMES_MAX:
        kept.pop(next(iter(kept)))
    kept[name] = times
    return kept, _told(rules, pod, len(times), times[0], now)


def restarted_in_vain(history: History, pod: Pod, now: Now) -> bool:
    """Whether one that is restarted has come back as large twice: the third time is a stop."""
    if pod.action != Way.RESTART:
        return False
    return _lately(history, name_text(pod), now) >= LOOP_EVICTIONS - 1


def rest_seconds(history: History, name: str, now: Now) -> float:
    """So long who is back by itself is left alone even by a shortage that finds nobody else.

    It doubles with each time, so that nobody fights with a healer. [field case I1]
    """
    return back_off_seconds(_lately(history, name, now))


def fallen(
    rules: Rules, pod: PodReference, earlier: Falls | None, falls: Falls, now: Now
) -> tuple[Emit, ...]:
    """`EvictionLoop` of our own making: what we brought back falls again, however slowly."""
    again = earlier is not None and earlier.returned and falls.count > earlier.count
    return _told(rules, pod, falls.count, falls.first_boot_seconds, now) if again else ()


def _lately(history: History, name: str, now: Now) -> int:
    return sum(time > now.boot_seconds - LOOP_SECONDS for time in history.get(name, ()))


def _told(
    rules: Rules, pod: PodReference, evictions: int, first_boot_seconds: float, now: Now
) -> tuple[Emit, ...]:
    if evictions < LOOP_EVICTIONS:
        return ()
    seconds = now.boot_seconds - first_boot_seconds
    return (eviction_loop(rules, pod, evictions, seconds, now),)
