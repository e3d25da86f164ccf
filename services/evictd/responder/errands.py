"""The evictor's orders: each is a task of its own, answered on its own topic.

An order is level-triggered: the newest of a name counts, and one that was answered is left alone.
"""

from collections.abc import Sequence
from typing import Any

import anyio
from anyio.abc import TaskGroup

from evictd.core.duty import errand
from evictd.core.orders import OrderKind
from evictd.responder.hands import Hands
from evictd.responder.restoring import Restoring
from evictd.runtimes import Reclaimer, Runtime
from evictd.shell.publisher import Publisher
from evictd.shell.supervise import Outside
from evictd_schemas import Moment, Order, OrderStatus, StepOutcome, topics

STEP_SECONDS = 60.0
"""For one step when the order has no deadline: images are deleted at tens of megabytes a second."""
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
        runtimes: Sequence[Runtime],
        hands: Hands,
    ) -> None:
        self._outside = outside
        self._publisher = publisher
        self._runtimes = tuple(runtimes)
        self.restoring = Restoring(outside, publisher, hands, self.moment)
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
        if why is not None:
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
            if order.kind == OrderKind.RESTORE and order.target is not None:
                status = await self.restoring.carry_out(order, order.target)
            else:
                outcomes = [await self._step(step, order) for step in order.steps]
                status = errand.finished(order, outcomes, self.moment())
            self._publisher.publish(topic, status)
        if self._scopes.get(name, ("", None))[1] is scope:
            del self._scopes[name]

    async def _step(self, step: str, order: Order) -> StepOutcome:
        """By the first runtime that can; a step that fails says so and the next one follows."""
        able = (
            runtime
            for runtime in self._runtimes
            if isinstance(runtime, Reclaimer) and step in runtime.reclaim_steps
        )
        runtime = next(able, None)
        if runtime is None:
            return errand.unsupported(step, [runtime.name for runtime in self._runtimes])
        seconds = order.deadline_seconds or STEP_SECONDS
        with anyio.move_on_after(seconds):
            return await runtime.reclaim(step)
        return StepOutcome(step=step, error=f"not done in {seconds:g} s")

    def moment(self) -> Moment:
        """Now, as the newest observation counts time."""
        now = self._outside.clock.now()
        known = self.boot_id is not None
        return Moment(
            time=now.utc,
            boot_id=self.boot_id,
            uptime_seconds=now.boot_seconds if known else None,
        )
