"""Taking what a person gave up out of what is down, for good.

The responder keeps the records, so it is ordered to let go of one; the order stands until the
record is gone, however often either of the two restarts. [contract 3, Order, Wish]
"""

from collections.abc import Collection
from uuid import NAMESPACE_URL, uuid5

from msgspec import structs

from evictd.core.decision.returns import Returns, life
from evictd.core.effects import BusEffect, Publish, Retract
from evictd.core.orders import OrderKind
from evictd.core.rules import Rules
from evictd_schemas import Order, OrderStatus, topics

ORDER_NAME = "forget"
"""One record at a time; the next order replaces it."""

Step = tuple[Returns, tuple[BusEffect, ...]]


def forgotten(rules: Rules, returns: Returns, names: Collection[str]) -> Step:
    """Those names, as far as they are down, are never started again, and their records go.

    A record that a responder says once more after its restart goes again.
    """
    returns = _marked(returns, names)
    open_names = [
        name
        for name, absent in returns.absent.items()
        if returns.is_forgotten(name) and not absent.lifted
    ]
    if returns.forgetting is not None and returns.forgetting in open_names:
        return returns, ()
    effects: tuple[BusEffect, ...] = retraction(rules, returns)
    chosen = next(iter(open_names), None)
    if chosen is not None:
        effects = (Publish(topic=_topic(rules), message=_order(rules, returns, chosen)),)
    return structs.replace(returns, forgetting=chosen), effects


def retraction(rules: Rules, returns: Returns) -> tuple[Retract, ...]:
    """Our order, if one stands."""
    return () if returns.forgetting is None else (Retract(topic=_topic(rules)),)


def stale(rules: Rules, returns: Returns, status: OrderStatus | None) -> tuple[Retract, ...]:
    """The answer to an order of an earlier life of ours takes that order off the bus."""
    if status is None or returns.forgetting is not None:
        return ()
    return (Retract(topic=_topic(rules)),)


def _marked(returns: Returns, names: Collection[str]) -> Returns:
    marked = {
        name: falls.changed(forgotten=True)
        for name, falls in returns.falls.items()
        if name in names and name in returns.absent and not falls.told.forgotten
    }
    return structs.replace(returns, falls={**returns.falls, **marked}) if marked else returns


def _order(rules: Rules, returns: Returns, name: str) -> Order:
    uid = returns.absent[name].stopped.uid
    return Order(
        uid=str(uuid5(NAMESPACE_URL, f"{rules.node}|{ORDER_NAME}|{name}|{uid}")),
        kind=OrderKind.FORGET,
        target=life(name, uid),
    )


def _topic(rules: Rules) -> str:
    return topics.ORDER.at(rules.node, name=ORDER_NAME)
