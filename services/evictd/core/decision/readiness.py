"""Who of those that are down may come back now, and when the machine has room for it.

It places no order and tells nothing; `restore` does. [design, laws 8 and 11]
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from evictd.core.back_off import BACK_OFF_SECONDS_MAX, back_off_seconds
from evictd.core.decision.inputs import Judged
from evictd.core.decision.returns import Absent, Returns
from evictd.core.holds import hold_on, until_text
from evictd.core.moments import Now
from evictd.core.node_conditions import holding
from evictd.core.orders import Restore, comes_back
from evictd.core.pods import active
from evictd.core.protocol.vocabulary import Status
from evictd.core.signals.amounts import rounded_text
from evictd.core.signals.names import (
    ALLOCATABLE_MEMORY_AVAILABLE,
    MEMORY_AVAILABLE,
    PID_AVAILABLE,
    condition_of,
)
from evictd.core.wording import name_text
from evictd_schemas import Number, Pod, Pressure, Stopped, ThresholdStatus, Wish

ROOM_MARGIN = 0.1
"""What must stay above each line, as a share of the line, beside the workload's last usage: a
start needs more than what runs."""
STEADY_SECONDS = 5.0
"""So long something has to run before what depends on it is started, where no health check tells
that it is ready: who ends at once is not there to be depended on."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What people wish about those that are down.

    `restores`: names that are to come back whoever was to decide it; `everyone`: all of them.
    `holds`: every Hold that is there, expired ones too.
    """

    holds: tuple[Wish, ...] = ()
    restores: frozenset[str] = frozenset()
    everyone: bool = False

    def restored(self, name: str) -> bool:
        """Whether a person wants it back now."""
        return self.everyone or name in self.restores

    def held(self, name: str, utc: datetime) -> Wish | None:
        """Any Hold leaves it as it is: a start is a change too."""
        return hold_on(self.holds, name, hard=False, utc=utc)


class Look(Struct, frozen=True, kw_only=True):
    """One look at a node: who is down, what is observed, what is wished.

    `leaving`: uids of pods whose Eviction runs; `closed`: why nobody at all is started now.
    """

    returns: Returns
    given: Judged
    now: Now
    leaving: frozenset[str] = frozenset()
    wanted: Wanted = Wanted()
    closed: str | None = None


def in_turn(look: Look) -> Iterator[tuple[str, str]]:
    """Each name that is down with what keeps it there, empty where nothing does, in turn.

    Who is wished for goes first; else the last that went, since the least important went first.
    """
    absent = look.returns.absent

    def turn(name: str) -> tuple[bool, datetime, str]:
        return look.wanted.restored(name), absent[name].stopped.time, name

    pods = running(look.given)
    for name in sorted(absent, key=turn, reverse=True):
        if pods is None:
            yield name, "nobody knows who runs"
        else:
            yield name, next(_obstacles(look, pods, name), None) or look.closed or ""


def calm(pressure: Pressure) -> str | None:
    """What is short, or has been within the transition period; None: nothing is.

    Whatever it is: who is started writes, forks and takes memory.
    """
    if held := holding(pressure):
        return f"{held[0]} holds"
    met = (item for item in pressure.thresholds if item.met and condition_of(item.signal))
    return next((f"{item.signal} is below its line" for item in met), None)


def _obstacles(look: Look, pods: dict[str, Pod], name: str) -> Iterator[str]:
    """What is in the way of this one, the most lasting first."""
    absent, pressure = look.returns.absent[name], look.given.pressure
    stopped, wished = absent.stopped, look.wanted.restored(name)
    if look.returns.is_forgotten(name):
        yield "it is forgotten"
    if (hold := look.wanted.held(name, look.now.utc)) is not None:
        yield f"held {until_text(hold)}"
    if name in pods or stopped.uid in look.leaving:
        yield "it has not gone yet"
    if not wished:
        yield from _unasked(look, name, absent)
    if (needed := _waited_for(look, pods, name)) is not None:
        yield f"{needed} comes first"
    together = (name,) if wished else _group(look, name)
    usages = _usages(look.returns.absent[one].stopped for one in together)
    if (short := _without_room(pressure, usages)) is not None:
        who = "it" if len(together) == 1 else f"its group of {len(together)}"
        kind = " processes" if short == PID_AVAILABLE else ""
        used = f"{rounded_text(short, usages[short])}{kind}"
        yield f"there is no room for the {used} that {who} used last"


def _unasked(look: Look, name: str, absent: Absent) -> Iterator[str]:
    """Why it does not come back by itself: a person, who asks for it, overrules each of these."""
    stopped = absent.stopped
    if stopped.restore != Restore.AUTO:
        yield f"it waits for a person (restore: {stopped.restore})"
    if not comes_back(stopped.signal):
        yield "it waits for a person: its start would not leave things better"
    kind = condition_of(stopped.signal or "")
    found = (item.status for item in look.given.pressure.conditions if item.type == kind)
    status = next(found, Status.UNKNOWN)
    if status != Status.FALSE:
        yield f"{kind} holds" if status == Status.TRUE else f"{kind} is not known to be over"
    if look.now.boot_seconds < _due_boot_seconds(look.returns, name):
        yield "it fell or failed too often to be tried again yet"


def _group(look: Look, name: str) -> tuple[str, ...]:
    """Itself and those of its group that come back by themselves too: a part is of no use."""
    stopped = look.returns.absent[name].stopped
    namespace = name.partition("/")[0]

    def comes_too(other: str, held: Stopped) -> bool:
        same = held.group == stopped.group and other.partition("/")[0] == namespace
        return (
            same
            and held.restore == Restore.AUTO
            and comes_back(held.signal)
            and not (look.returns.is_forgotten(other) or look.wanted.held(other, look.now.utc))
        )

    if not stopped.group:
        return (name,)
    absent = look.returns.absent.items()
    return tuple(other for other, one in absent if other == name or comes_too(other, one.stopped))


def _usages(records: Iterable[Stopped]) -> dict[str, Number]:
    """What those used last, by the signal that it would lower."""
    found = tuple(records)
    used_bytes = sum(one.last_usage or 0 for one in found)
    return {
        MEMORY_AVAILABLE: used_bytes,
        ALLOCATABLE_MEMORY_AVAILABLE: used_bytes,
        PID_AVAILABLE: sum(one.last_processes or 0 for one in found),
    }


def _without_room(pressure: Pressure, usages: Mapping[str, Number]) -> str | None:
    """The signal of the first line that would not hold with so much more, and a margin.

    Memory that cannot be told is no room; what else the machine does not have is no hindrance.
    """

    def holds(line: ThresholdStatus) -> bool:
        if line.available is None or line.quantity is None:
            return line.signal != MEMORY_AVAILABLE
        return line.available - usages[line.signal] > line.quantity * (1 + ROOM_MARGIN)

    lines = (line for line in pressure.thresholds if line.signal in usages)
    return next((line.signal for line in lines if not holds(line)), None)


def _waited_for(look: Look, pods: dict[str, Pod], name: str) -> str | None:
    """Something that it needs and that is down because of us, or runs and is not ready.

    Who needs each other in a ring comes back in any order.
    """
    absent = look.returns.absent
    for needed in absent[name].stopped.depends_on:
        pod = pods.get(needed)
        if pod is not None and not _ready(pod, look.given.observation.time):
            return needed
        if pod is None and needed in absent and not _needs(look.returns, needed, name):
            return needed
    return None


def _ready(pod: Pod, observed: datetime) -> bool:
    """Its health check says so, and it has run for a moment.

    A start in the future is one by a clock that was set: it says nothing.
    """
    if not pod.ready or pod.start_time is None:
        return pod.ready
    age_seconds = (observed - pod.start_time).total_seconds()
    return not 0 <= age_seconds < STEADY_SECONDS


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


def pause_seconds(returns: Returns, name: str) -> float:
    """None at first: the transition period was one. It doubles with each fall and failure."""
    absent, falls = returns.absent[name], returns.falls.get(name)
    failures = max(absent.failures, absent.stopped.attempts)
    return back_off_seconds(failures + (0 if falls is None else falls.told.count - 1))


def _due_boot_seconds(returns: Returns, name: str) -> float:
    """From when on it may be tried."""
    absent = returns.absent[name]
    since = absent.since_boot_seconds
    if absent.failed_boot_seconds is not None:
        since = absent.failed_boot_seconds
    return max(absent.not_before_boot_seconds, since + pause_seconds(returns, name))


def not_before(stopped: Stopped, now: Now) -> float:
    """The responder's own word on when to try again, as a boot time, and never after an hour."""
    if stopped.next_try_time is None:
        return 0.0
    rest_seconds = (stopped.next_try_time - now.utc).total_seconds()
    return now.boot_seconds + min(BACK_OFF_SECONDS_MAX, rest_seconds)


def running(given: Judged) -> dict[str, Pod] | None:
    """Who runs, by name; None while nobody knows."""
    pods = given.observation.pods
    if pods is None:
        return None
    return {name_text(pod): pod for pod in pods if active(pod)}
