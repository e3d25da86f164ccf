"""Bringing back what was stopped because of a shortage, once the shortage is over.

One at a time, dependencies first, only with room for what it used last. It knows what is down and
what is observed, nothing of how a workload is started. [design, laws 8 and 11] [contract 3, Order,
Stopped]
"""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import TypeAlias
from uuid import NAMESPACE_URL, uuid5

from msgspec import structs

from evictd.core.decision import loops, report
from evictd.core.decision.inputs import Judged
from evictd.core.decision.reclaim import over
from evictd.core.decision.returns import Absent, Falls, Returning, Returns
from evictd.core.effects import BusEffect, Publish, Retract
from evictd.core.moments import Now
from evictd.core.orders import OrderKind, OrderState, Restore
from evictd.core.pods import active
from evictd.core.rules import Mode, Rules
from evictd.core.signals.names import (
    ALLOCATABLE_MEMORY_AVAILABLE,
    MEMORY_AVAILABLE,
    PID_AVAILABLE,
    Resource,
    condition_of,
    resource_of,
)
from evictd_schemas import (
    Order,
    OrderStatus,
    Pod,
    PodReference,
    Pressure,
    Stopped,
    ThresholdStatus,
    topics,
)

ORDER_NAME = "restore"
"""One at a time: a newer order replaces it."""
RELIEVED = frozenset({Resource.MEMORY, Resource.PIDS})
"""A stop for these gives back what it took. One for disk only ended a growth: starting the writer
again would go on where it ended."""
RESTORE_SECONDS = 60.0
"""How long the responder may take for one start."""
ANSWER_SECONDS = 10.0
"""Beyond that, until a status that does not come is not waited for any more."""
PAUSE_SECONDS = 30.0
"""After each attempt, so that what came back is seen in the figures before the next is weighed:
three times the usual interval."""
ROOM_MARGIN = 0.1
"""What must stay above each line, as a share of the line, beside the workload's last usage: a
start needs more than what runs."""
BACK_OFF_SECONDS = 60.0
"""Before a second return; it doubles with each further fall or failure."""
BACK_OFF_SECONDS_MAX = 3_600.0
"""The longest pause: a machine that was made larger is noticed within the hour."""
FORGIVEN_SECONDS = 21_600.0
"""Who fell longer ago than this begins anew; several times the longest pause."""

Step: TypeAlias = tuple[Returns, tuple[BusEffect, ...]]


def fallen(
    rules: Rules, returns: Returns, pod: tuple[str, str], stopped: Stopped | None, now: Now
) -> Step:
    """The responder's record of one name: new, changed, or taken back (None)."""
    name = "/".join(pod)
    held = returns.absent.get(name)
    if stopped is None:
        return (returns if held is None else returns.changed(name, lifted=True)), ()
    if held is not None and held.stopped.uid == stopped.uid:
        return returns.changed(name, stopped=stopped, lifted=False), ()
    earlier = returns.falls.get(name)
    falls = _fall(earlier, stopped.uid, now)
    absent = Absent(stopped=stopped, since_boot_seconds=now.boot_seconds)
    returns = returns.with_fall(name, absent, falls)
    life = PodReference(namespace=pod[0], name=pod[1], uid=stopped.uid)
    return returns, loops.fallen(rules, life, earlier, falls, now)


def answered(rules: Rules, returns: Returns, status: OrderStatus | None, now: Now) -> Step:
    """What the responder says of an order. One of an earlier life of ours is taken off the bus."""
    returning = returns.returning
    if status is None:
        return returns, ()
    if returning is None:
        return returns, (_retraction(rules),)
    if status.order_uid != returning.order.uid or not over(status):
        return returns, ()
    if status.state != OrderState.FINISHED:
        return _ended(rules, _failed(returns, returning.name, now), now)
    returns, told = _returned(rules, returns, returning.name, now)
    returns, cleared = _ended(rules, returns, now)
    return returns, (*told, *cleared)


def restore(
    rules: Rules,
    returns: Returns,
    given: Judged,
    now: Now,
    *,
    busy: bool,
    leaving: Collection[str],
) -> Step:
    """One look at the node.

    `busy`: something is being relieved; `leaving`: uids of pods whose Eviction runs.
    """
    returns, told = _seen(rules, returns, given, now)
    calm = rules.mode is Mode.ACT and not busy and _calm(given.pressure)
    returning = returns.returning
    if returning is not None:
        late = now.boot_seconds >= returning.deadline_boot_seconds
        if calm and not late:
            return returns, told
        kept = _failed(returns, returning.name, now) if late else returns
        returns, cleared = _ended(rules, kept, now)
        return returns, (*told, *cleared)
    if not calm or now.boot_seconds < returns.next_boot_seconds:
        return returns, told
    name = next(_able(returns, given, leaving, now), None)
    if name is None:
        return returns, told
    returns, placed = _order(rules, returns, name, given, now)
    return returns, (*told, *placed)


def retraction(rules: Rules, returns: Returns) -> tuple[Retract, ...]:
    """Our order, if one stands."""
    return () if returns.returning is None else (_retraction(rules),)


def _able(returns: Returns, given: Judged, leaving: Collection[str], now: Now) -> Iterator[str]:
    """Who may come back now.

    The last that went is the first, since the least important went first.
    """
    pods = _running(given)
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


def _calm(pressure: Pressure) -> bool:
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


def _fall(earlier: Falls | None, uid: str, now: Now) -> Falls:
    """One more fall of that name, unless a responder that restarted only says it again."""
    seconds = now.boot_seconds
    if earlier is None or seconds - earlier.boot_seconds > FORGIVEN_SECONDS:
        return Falls(uid=uid, count=1, first_boot_seconds=seconds, boot_seconds=seconds)
    if earlier.uid == uid:
        return earlier
    count = earlier.count + 1
    return structs.replace(earlier, uid=uid, count=count, boot_seconds=seconds, returned=False)


def _seen(rules: Rules, returns: Returns, given: Judged, now: Now) -> Step:
    """Who runs again, whoever started it.

    A record that was taken back is looked at once more, so that the return is told.
    """
    pods = _running(given)
    if pods is None:
        return returns, ()
    told: list[BusEffect] = []
    awaited = None if returns.returning is None else returns.returning.name
    for name, absent in returns.absent.items():
        if name in pods and pods[name].uid != absent.stopped.uid:
            returns, events = _returned(rules, returns, name, now)
            told.extend(events)
        elif absent.lifted and name != awaited:
            returns = returns.without(name)
    return returns, tuple(told)


def _running(given: Judged) -> dict[str, Pod] | None:
    """Who runs, by name; None while nobody knows."""
    pods = given.observation.pods
    if pods is None:
        return None
    return {f"{pod.namespace}/{pod.name}": pod for pod in pods if active(pod)}


def _returned(rules: Rules, returns: Returns, name: str, now: Now) -> Step:
    """It runs again; told once."""
    absent = returns.absent.get(name)
    if absent is None:
        return returns, ()
    ordered = returns.returning is not None and returns.returning.name == name
    falls = returns.falls.get(name)
    if ordered and falls is not None:
        falls = structs.replace(falls, returned=True)
        returns = structs.replace(returns, falls={**returns.falls, name: falls})
    seconds = now.boot_seconds - absent.since_boot_seconds
    event = report.restored(rules, name, absent.stopped, seconds, ordered=ordered, now=now)
    return returns.without(name), (event,)


def _order(rules: Rules, returns: Returns, name: str, given: Judged, now: Now) -> Step:
    """Ask for one start; the same look makes the same order."""
    stopped, pressure = returns.absent[name].stopped, given.pressure
    namespace, _, own_name = name.partition("/")
    identity = f"{rules.node}|{name}|{stopped.uid}|{pressure.epoch}|{pressure.sequence}"
    order = Order(
        uid=str(uuid5(NAMESPACE_URL, identity)),
        kind=OrderKind.RESTORE,
        signal=stopped.signal,
        target=PodReference(namespace=namespace, name=own_name, uid=stopped.uid),
        deadline_seconds=RESTORE_SECONDS,
    )
    deadline = now.boot_seconds + RESTORE_SECONDS + ANSWER_SECONDS
    returning = Returning(name=name, order=order, deadline_boot_seconds=deadline)
    returns = structs.replace(returns, returning=returning)
    return returns, (Publish(topic=_topic(rules), message=order),)


def _ended(rules: Rules, returns: Returns, now: Now) -> Step:
    """The order is over, however; the next one is not placed at once."""
    rest = now.boot_seconds + PAUSE_SECONDS
    return (
        structs.replace(returns, returning=None, next_boot_seconds=rest),
        (_retraction(rules),),
    )


def _failed(returns: Returns, name: str, now: Now) -> Returns:
    absent = returns.absent.get(name)
    if absent is None:
        return returns
    failures, since = absent.failures + 1, now.boot_seconds
    return returns.changed(name, failures=failures, since_boot_seconds=since)


def _topic(rules: Rules) -> str:
    return topics.ORDER.at(rules.node, name=ORDER_NAME)


def _retraction(rules: Rules) -> Retract:
    return Retract(topic=_topic(rules))
