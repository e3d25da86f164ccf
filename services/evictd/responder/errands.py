"""The evictor's orders: each is a task of its own, answered on its own topic.

An order is level-triggered: the newest of a name counts, and one that was answered is left alone.
"""

from typing import Any

import anyio
from anyio.abc import TaskGroup

from evictd.core.duty import errand
from evictd.core.orders import OrderKind
from evictd.core.wording import name_text
from evictd.responder.holding import EVERYTHING, HoldFile
from evictd.responder.reclaiming import Reclaiming
from evictd.responder.rejoining import Rejoining
from evictd.responder.restoring import Restoring
from evictd.shell.publisher import Publisher
from evictd.shell.supervise import Outside
from evictd_schemas import Moment, Order, OrderStatus, topics

ORDERS_MAX = 100
"""Orders at once; the evictor places one at a time."""


class Errands:
    """What runs, by the order's name.

    `boot_id` is that of the newest observation, so that the end of an order can be compared with
    it.
    """

    def __init__(
        self,
        outside: Outside[Any, Any, Any],
        publisher: Publisher,
        rejoining: Rejoining,
        reclaiming: Reclaiming,
        hold_file: HoldFile,
    ) -> None:
        self._outside = outside
        self._publisher = publisher
        self._reclaiming = reclaiming
        self.restoring = Restoring(outside, publisher, rejoining, self.moment)
        self._hold_file = hold_file
        self._scopes: dict[str, tuple[str, anyio.CancelScope]] = {}
        self.boot_id: str | None = None

    def take(self, name: str, order: Order | None, tasks: TaskGroup) -> None:
        """A new order, or the end of one."""
        topic = topics.ORDER_STATUS.at(self._outside.node, name=name)
        uid, scope = self._scopes.get(name, ("", None))
        if order is not None and uid == order.uid:
            return
        if scope is not None:
            scope.cancel()
            del self._scopes[name]
        held = self._publisher.published.get(topic)
        if order is None:
            if held is not None:
                self._publisher.retract(topic)
        elif not errand.answered(order, held if isinstance(held, OrderStatus) else None):
            self._begin(name, topic, order, tasks)

    def _begin(self, name: str, topic: str, order: Order, tasks: TaskGroup) -> None:
        rules = self._outside.rules(self._outside.node)
        why = "this node is not served" if rules is None else errand.refusal(rules, order)
        if why is None and len(self._scopes) >= ORDERS_MAX:
            why = f"{ORDERS_MAX} orders are running"
        if why is not None and (rules is None or not errand.rehearsed(order)):
            self._publisher.publish(topic, errand.refused(order, why, self.moment()))
            return
        scope = anyio.CancelScope()
        self._scopes[name] = (order.uid, scope)
        tasks.start_soon(self._carry_out, name, topic, order, scope)

    async def _carry_out(
        self, name: str, topic: str, order: Order, scope: anyio.CancelScope
    ) -> None:
        self._publisher.publish(topic, errand.running(order))
        with scope:
            self._publisher.publish(topic, await self._outcome(order))
        if self._scopes.get(name, ("", None))[1] is scope:
            del self._scopes[name]

    async def _outcome(self, order: Order) -> OrderStatus:
        if errand.rehearsed(order):
            steps = await self._reclaiming.rehearse(order)
            return errand.refused(order, "the order is a dry run", self.moment(), steps)
        target = order.target
        if order.kind == OrderKind.FORGET and target is not None:
            return await self.restoring.forget(order, target)
        if (why := await self._held(order)) is not None:
            return errand.refused(order, why, self.moment())
        if order.kind == OrderKind.RESTORE and target is not None:
            return await self.restoring.carry_out(order, target)
        return errand.finished(order, await self._reclaiming.carry_out(order), self.moment())

    async def _held(self, order: Order) -> str | None:
        """A start waits for every hold.

        What is given back spares somebody a stop, so that only a hold of the very hard ones too
        keeps it from being done.
        """
        if order.kind == OrderKind.RESTORE and order.target is not None:
            return await self._hold_file.keeps(name_text(order.target), hard=False)
        return await self._hold_file.keeps(EVERYTHING, hard=True)

    def moment(self) -> Moment:
        """Now, as the newest observation counts time."""
        now = self._outside.clock.now()
        known = self.boot_id is not None
        return Moment(
            time=now.utc,
            boot_id=self.boot_id,
            uptime_seconds=now.boot_seconds if known else None,
        )
