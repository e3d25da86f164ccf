"""Bringing back what was stopped because of a shortage, once the shortage is over.

One at a time, dependencies first, only with room for what it used last. It knows what is down and
what is observed, nothing of how a workload is started. [design, laws 8 and 11] [contract 3, Order,
Stopped]
"""

from collections.abc import Collection
from datetime import datetime
from typing import TypeAlias
from uuid import NAMESPACE_URL, uuid5

from msgspec import structs

from evictd.core.decision import loops, occurrences
from evictd.core.decision.inputs import Judged
from evictd.core.decision.readiness import Look, Wanted, calm, in_turn, not_before, running
from evictd.core.decision.reclaim import over
from evictd.core.decision.returns import Absent, Falls, Returning, Returns, Started, life
from evictd.core.effects import BusEffect, Publish, Retract
from evictd.core.moments import Now, past_boot_seconds
from evictd.core.orders import OrderKind, OrderState
from evictd.core.rules import Mode, Rules
from evictd_schemas import Fall, Order, OrderStatus, PodReference, Stopped, topics

ORDER_NAME = "restore"
"""One at a time: a newer order replaces it."""
RESTORE_SECONDS = 60.0
"""How long the responder may take for one start."""
ANSWER_SECONDS = 10.0
"""Beyond that, until a status that does not come is not waited for any more."""
READY_SECONDS = 300.0
"""For so long the next one waits for the health of the last: who is still starting takes more than
it shows. One that stays ill keeps nobody down for ever."""
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
    rest = not_before(stopped, now)
    if held is not None and held.stopped.uid == stopped.uid:
        facts = {"stopped": stopped, "lifted": False, "not_before_boot_seconds": rest}
        return returns.changed(name, **facts), ()
    earlier, since = returns.falls.get(name), past_boot_seconds(stopped.time, now)
    falls = _fall(earlier, life(name, stopped.uid), stopped.time, now)
    absent = Absent(stopped=stopped, since_boot_seconds=since, not_before_boot_seconds=rest)
    returns = returns.with_fall(name, absent, falls)
    return returns, loops.fallen(rules, stopped, earlier, falls, now)


def answered(rules: Rules, returns: Returns, status: OrderStatus | None, now: Now) -> Step:
    """What the responder says of an order. One of an earlier life of ours is taken off the bus."""
    returning = returns.returning
    if status is None:
        return returns, ()
    if returning is None:
        return returns, (_retraction(rules),)
    if status.order_uid != returning.order.uid or not over(status):
        return returns, ()
    if status.state == OrderState.REFUSED:  # nothing was tried
        return _ended(rules, returns, now)
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
    wanted: Wanted,
) -> Step:
    """One look at the node: how the standing order goes on, or who is started next.

    `busy`: something is being relieved; `leaving`: uids of pods whose Eviction runs; `wanted`: what
    people wish.
    """
    returns, swept = _swept(rules, returns)
    returns, seen = _seen(rules, returns, given, now)
    told = (*swept, *seen)
    shut = _shut(rules, given, busy=busy)
    look = Look(
        returns=returns,
        given=given,
        now=now,
        leaving=frozenset(leaving),
        wanted=wanted,
        closed=shut or _taken(returns, given, now),
    )
    turns = dict(in_turn(look))
    returns = _with_reasons(returns, turns)
    if (returning := returns.returning) is not None:
        on = shut is None and not _unwanted(returns, returning, wanted, now)
        returns, more = _went_on(rules, returns, returning, now, on=on)
        return returns, (*told, *more)
    name = next((name for name, why in turns.items() if not why), None)
    if name is None:
        return returns, told
    returns, placed = _order(rules, returns, name, given, now)
    return returns, (*told, *placed)


def held_back(rules: Rules, returns: Returns, wanted: Wanted, now: Now) -> Step:
    """A start that has been ordered is taken back as soon as somebody holds it, or forgets it."""
    returning = returns.returning
    if returning is None or not _unwanted(returns, returning, wanted, now):
        return returns, ()
    return _ended(rules, returns, now)


def retraction(rules: Rules, returns: Returns) -> tuple[Retract, ...]:
    """Our order, if one stands."""
    return () if returns.returning is None else (_retraction(rules),)


def _swept(rules: Rules, returns: Returns) -> Step:
    """An order of an earlier life is not carried out by a responder that comes late.

    What was calm then may be short now.
    """
    if returns.swept:
        return returns, ()
    stale = () if returns.returning is not None else (_retraction(rules),)
    return structs.replace(returns, swept=True), stale


def _shut(rules: Rules, given: Judged, *, busy: bool) -> str | None:
    """Why nobody at all is started or is being started, None where somebody may be."""
    if rules.mode is not Mode.ACT:
        return f"mode is {rules.mode}"
    return calm(given.pressure) or ("something is being relieved" if busy else None)


def _taken(returns: Returns, given: Judged, now: Now) -> str | None:
    """One at a time, and each is watched for a while, and well, before the next."""
    if returns.returning is not None:
        return f"{returns.returning.name} is being started"
    last = returns.last
    if last is not None and now.boot_seconds - last.boot_seconds < READY_SECONDS:
        pod = (running(given) or {}).get(last.name)
        if pod is not None and not pod.ready:
            return f"{last.name}, started last, is not ready yet"
    return (
        "the last start is watched first" if now.boot_seconds < returns.next_boot_seconds else None
    )


def _with_reasons(returns: Returns, turns: dict[str, str]) -> Returns:
    """Each with what keeps it down, for whoever asks."""
    absent = {
        name: held if held.why == turns[name] else structs.replace(held, why=turns[name])
        for name, held in returns.absent.items()
    }
    return structs.replace(returns, absent=absent)


def _went_on(rules: Rules, returns: Returns, returning: Returning, now: Now, *, on: bool) -> Step:
    """The order stands until it is answered, late, or (`on`) not to be carried out any more."""
    late = now.boot_seconds >= returning.deadline_boot_seconds
    if on and not late:
        return returns, ()
    return _ended(rules, _failed(returns, returning.name, now) if late else returns, now)


def _unwanted(returns: Returns, returning: Returning, wanted: Wanted, now: Now) -> bool:
    held = wanted.held(returning.name, now.utc) is not None
    return held or returns.is_forgotten(returning.name)


def _fall(earlier: Falls | None, pod: PodReference, time: datetime, now: Now) -> Falls:
    """One more fall of that name, unless a responder that restarted only says it again."""
    seconds = now.boot_seconds
    if earlier is None or seconds - earlier.boot_seconds > FORGIVEN_SECONDS:
        told = Fall(pod=pod, count=1, first_time=time, time=time)
        return Falls(told=told, first_boot_seconds=seconds, boot_seconds=seconds)
    return earlier if earlier.told.pod.uid == pod.uid else again(earlier, pod, seconds, time)


def again(earlier: Falls, pod: PodReference, boot_seconds: float, time: datetime) -> Falls:
    """The same name has fallen once more, in another life."""
    before = earlier.told
    told = Fall(pod=pod, count=before.count + 1, first_time=before.first_time, time=time)
    return structs.replace(earlier, told=told, boot_seconds=boot_seconds)


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
            on_wish = returns.is_forgotten(name)
            told.append(
                occurrences.forgotten(rules, name, absent.stopped, on_wish=on_wish, now=now)
            )
            returns = returns.without(name)
    return returns, tuple(told)


def _returned(rules: Rules, returns: Returns, name: str, now: Now) -> Step:
    """It runs again; told once."""
    absent = returns.absent.get(name)
    if absent is None:
        return returns, ()
    ordered = returns.returning is not None and returns.returning.name == name
    falls = returns.falls.get(name)
    if ordered:
        last = Started(name=name, boot_seconds=now.boot_seconds)
        returns = structs.replace(returns, last=last)
    if ordered and falls is not None:
        falls = falls.changed(returned=True)
        returns = structs.replace(returns, falls={**returns.falls, name: falls})
    seconds = now.boot_seconds - absent.since_boot_seconds
    event = occurrences.restored(rules, name, absent.stopped, seconds, ordered=ordered, now=now)
    return returns.without(name), (event,)


def _order(rules: Rules, returns: Returns, name: str, given: Judged, now: Now) -> Step:
    """Ask for one start; the same look makes the same order."""
    stopped, pressure = returns.absent[name].stopped, given.pressure
    identity = f"{rules.node}|{name}|{stopped.uid}|{pressure.epoch}|{pressure.sequence}"
    order = Order(
        uid=str(uuid5(NAMESPACE_URL, identity)),
        kind=OrderKind.RESTORE,
        signal=stopped.signal,
        target=life(name, stopped.uid),
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
    return returns.changed(name, failures=absent.failures + 1, failed_boot_seconds=now.boot_seconds)


def _topic(rules: Rules) -> str:
    return topics.ORDER.at(rules.node, name=ORDER_NAME)


def _retraction(rules: Rules) -> Retract:
    return Retract(topic=_topic(rules))
