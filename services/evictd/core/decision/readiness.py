"""Who of those that are down may come back now, and when the machine has room for it.

It places no order and tells nothing; `restore` does. [design, laws 8 and 11]
"""

from collections.abc import Collection, Iterator
from datetime import datetime

from evictd.core.decision.inputs import Judged
from evictd.core.decision.returns import Returns
from evictd.core.moments import Now
from evictd.core.orders import Restore
from evictd.core.pods import active
from evictd.core.signals.names import (
    ALLOCATABLE_MEMORY_AVAILABLE,
    MEMORY_AVAILABLE,
    PID_AVAILABLE,
    Resource,
    condition_of,
    resource_of,
)
from evictd.core.wording import name_text
from evictd_schemas import Pod, Pressure, Stopped, ThresholdStatus

RELIEVED = frozenset({Resource.MEMORY, Resource.PIDS})
"""A stop for these gives back what it took. One for disk only ended a growth: starting the writer
again would go on where it ended."""
ROOM_MARGIN = 0.1
"""What must stay above each line, as a share of the line, beside the workload's last usage: a
start needs more than what runs."""
BACK_OFF_SECONDS = 60.0
"""Before a second return; it doubles with each further fall or failure."""
BACK_OFF_SECONDS_MAX = 3_600.0
"""The longest pause: a machine that was made larger is noticed within the hour."""


def able(returns: Returns, given: Judged, leaving: Collection[str], now: Now) -> Iterator[str]:
    """Who may come back now.

    The last that went is the first, since the least important went first.
    """
    pods = running(given)
    if pods is None:
        return

    def went(name: str) -> tuple[datetime, str]:
        return returns.absent[name].stopped.time, name

    for name in sorted(returns.absent, key=went, reverse=True):
        absent = returns.absent[name]
        stopped = absent.stopped
        if stopped.restore != Restore.AUTO or not _shortage_over(given.pressure, stopped):
            continue
        if name in pods or stopped.uid in leaving:
            continue
        if now.boot_seconds - absent.since_boot_seconds < _pause_seconds(returns, name):
            continue
        if _waited_for(returns, pods, name) or not _room(given.pressure, stopped):
            continue
        yield name


def calm(pressure: Pressure) -> bool:
    """Nothing is short of what a start takes, and has not been for the transition period."""
    kinds = {condition_of(signal) for signal in (MEMORY_AVAILABLE, PID_AVAILABLE)}
    held = any(item.type in kinds and item.status == "True" for item in pressure.conditions)
    met = any(item.met and condition_of(item.signal) in kinds for item in pressure.thresholds)
    return not held and not met


def _shortage_over(pressure: Pressure, stopped: Stopped) -> bool:
    """Whether the shortage for which it went is known to be over; Unknown is not."""
    signal = stopped.signal or ""
    if resource_of(signal) not in RELIEVED:
        return False
    kind = condition_of(signal)
    return any(item.type == kind and item.status == "False" for item in pressure.conditions)


def _room(pressure: Pressure, stopped: Stopped) -> bool:
    """Whether each line holds with it, and a margin.

    Memory that cannot be told is no room; what else the machine does not have is no hindrance.
    """
    usages = {
        MEMORY_AVAILABLE: stopped.last_usage or 0,
        ALLOCATABLE_MEMORY_AVAILABLE: stopped.last_usage or 0,
        PID_AVAILABLE: 0,
    }

    def holds(line: ThresholdStatus) -> bool:
        if line.available is None or line.quantity is None:
            return line.signal != MEMORY_AVAILABLE
        return line.available - usages[line.signal] > line.quantity * (1 + ROOM_MARGIN)

    return all(holds(line) for line in pressure.thresholds if line.signal in usages)


def _waited_for(returns: Returns, pods: dict[str, Pod], name: str) -> bool:
    """Whether something that it needs is down because of us, or runs and is not ready.

    Who needs each other in a ring comes back in any order.
    """
    for needed in returns.absent[name].stopped.depends_on:
        pod = pods.get(needed)
        if pod is not None and not pod.ready:
            return True
        if pod is None and needed in returns.absent and not _needs(returns, needed, name):
            return True
    return False


def _needs(returns: Returns, name: str, other: str) -> bool:
    """Whether a name needs another one, by way of those that are down."""
    open_names, known = [name], {name}
    while open_names:
        absent = returns.absent.get(open_names.pop())
        for needed in () if absent is None else absent.stopped.depends_on:
            if needed == other:
                return True
            if needed not in known:
                known.add(needed)
                open_names.append(needed)
    return name == other


def _pause_seconds(returns: Returns, name: str) -> float:
    """None at first: the transition period was one. It doubles with each fall and failure."""
    absent, falls = returns.absent[name], returns.falls.get(name)
    failures = max(absent.failures, absent.stopped.attempts)
    steps = failures + (0 if falls is None else falls.count - 1)
    if steps == 0:
        return 0.0
    return min(BACK_OFF_SECONDS_MAX, BACK_OFF_SECONDS * 2.0 ** min(steps - 1, 16))


def running(given: Judged) -> dict[str, Pod] | None:
    """Who runs, by name; None while nobody knows."""
    pods = given.observation.pods
    if pods is None:
        return None
    return {name_text(pod): pod for pod in pods if active(pod)}
