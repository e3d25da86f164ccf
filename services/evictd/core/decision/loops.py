"""Noticing that one workload is evicted again and again because something starts it again.

Memory about a workload is keyed by its name: each start is another uid. [design, law 11]
"""

from collections.abc import Mapping

from evictd.core.decision.report import eviction_loop
from evictd.core.effects import Emit
from evictd.core.moments import Now
from evictd.core.rules import Rules
from evictd_schemas import PodReference

LOOP_SECONDS = 600.0
"""Evictions of one name within that time are counted together."""
LOOP_EVICTIONS = 3
"""From so many on it is a loop: twice may be chance."""
NAMES_MAX = 1_000
"""Names remembered; beyond it the one that was evicted longest ago is forgotten."""

History = Mapping[str, tuple[float, ...]]
"""`namespace/name` to the boot times of its evictions."""


def counted(
    rules: Rules, history: History, pod: PodReference, now: Now
) -> tuple[dict[str, tuple[float, ...]], tuple[Emit, ...]]:
    """One more eviction of that name, and `EvictionLoop` if it is one too many."""
    name, since = f"{pod.namespace}/{pod.name}", now.boot_seconds - LOOP_SECONDS
    times = (*(time for time in history.get(name, ()) if time > since), now.boot_seconds)
    kept = {key: value for key, value in history.items() if key != name and value[-1] > since}
    while len(kept) >= NAMES_MAX:
        kept.pop(next(iter(kept)))
    kept[name] = times
    if len(times) < LOOP_EVICTIONS:
        return kept, ()
    seconds = now.boot_seconds - times[0]
    return kept, (eviction_loop(rules, pod, len(times), seconds, now),)
