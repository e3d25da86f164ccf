"""Bringing back what was stopped because of a shortage, once the shortage is over.

One at a time, dependencies first, only with room for what it used last. It knows what is down and
what is observed, nothing of how a workload is started. [design, laws 8 and 11] [contract 3, Order,
Stopped]
"""

from collections.abc import Collection
from typing import TypeAlias
from uuid import NAMESPACE_URL, uuid5

from msgspec import structs

from evictd.core.decision import loops, occurrences
from evictd.core.decision.inputs import Judged
from evictd.core.decision.readiness import able, calm, running
from evictd.core.decision.reclaim import over
from evictd.core.decision.returns import Absent, Falls, Returning, Returns
from evictd.core.effects import BusEffect, Publish, Retract
from evictd.core.moments import Now
from evictd.core.orders import OrderKind, OrderState
from evictd.core.rules import Mode, Rules
from evictd_schemas import (
    Order,
    OrderStatus,
    PodReference,
    Stopped,
    topics,
)

ORDER_NAME = "restore"
"""One at a time: a newer order replaces it."""
RESTORE_SECONDS = 60.0
"""How long the responder may take for one start."""
ANSWER_SECONDS = 10.0
"""Beyond that, until a status that does not come is not waited for any more."""
PAUSE_SECONDS = 30.0
"""After each attempt, so that what came back is seen in the figures before the next is weighed:
three times the usual interval."""
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
    may_start = rules.mode is Mode.ACT and not busy and calm(given.pressure)
    returning = returns.returning
    if returning is not None:
        late = now.boot_seconds >= returning.deadline_boot_seconds
        if may_start and not late:
            return returns, told
        kept = _failed(returns, returning.name, now) if late else returns
        returns, cleared = _ended(rules, kept, now)
        return returns, (*told, *cleared)
    if not may_start or now.boot_seconds < returns.next_boot_seconds:
        return returns, told
    name = next(able(returns, given, leaving, now), None)
    if name is None:
        return returns, told
    returns, placed = _order(rules, returns, name, given, now)
    return returns, (*told, *placed)


def retraction(rules: Rules, returns: Returns) -> tuple[Retract, ...]:
    """Our order, if one stands."""
    return () if returns.returning is None else (_retraction(rules),)


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
    pods = running(given)
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
    event = occurrences.restored(rules, name, absent.stopped, seconds, ordered=ordered, now=now)
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
