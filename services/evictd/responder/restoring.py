"""Starting again what is down because of evictd, and noticing what runs again by itself.

It knows the records of what is down, not the orders of the bus: `errands` brings it one that is to
be carried out.
"""

from collections.abc import Callable
from typing import Any

import anyio

from evictd.core.duty import StartOutcome, StartResult, errand
from evictd.responder.hands import Hands
from evictd.shell.publisher import Publisher
from evictd.shell.supervise import Outside
from evictd_schemas import (
    Moment,
    Observation,
    Order,
    OrderStatus,
    PodReference,
    Stopped,
    topics,
)

START_SECONDS = 60.0
"""For one start when the order has no deadline: what the evictor gives one."""


class Restoring:
    """The records of what is down, and starts; `moment`: now, as the observation counts time."""

    def __init__(
        self,
        outside: Outside[Any, Any, Any],
        publisher: Publisher,
        hands: Hands,
        moment: Callable[[], Moment],
    ) -> None:
        self._node = outside.node
        self._publisher = publisher
        self._hands = hands
        self._moment = moment

    def observe(self, observation: Observation) -> None:
        """What runs again is not down any more, whoever started it."""
        for topic, record in tuple(self._publisher.published.items()):
            place = topics.place(topic)
            if place is None or not isinstance(record, Stopped):
                continue
            namespace, name = place.names["namespace"], place.names["name"]
            if errand.runs_again(record, namespace, name, observation.pods or ()):
                self._publisher.retract(topic)

    async def carry_out(self, order: Order, target: PodReference) -> OrderStatus:
        """Our own record says what is started.

        It goes before the order is answered, so that whoever reads the answer finds nothing down.
        """
        where = {"namespace": target.namespace, "name": target.name}
        topic = topics.STOPPED.at(self._node, **where)
        held = self._publisher.published.get(topic)
        record = held if isinstance(held, Stopped) else None
        why = errand.not_ours(target, record)
        if record is None or why is not None:
            return errand.refused(order, why or "", self._moment())
        outcome = await self._started(order, target, record)
        status, rest = errand.restored(order, record, outcome, self._moment())
        if rest is not None:
            self._publisher.publish(topic, rest)
        elif topic in self._publisher.published:
            self._publisher.retract(topic)
        return status

    async def _started(self, order: Order, target: PodReference, record: Stopped) -> StartOutcome:
        seconds = order.deadline_seconds or START_SECONDS
        with anyio.move_on_after(seconds):
            return await self._hands.start(target, record.runtime_id)
        return StartOutcome(result=StartResult.FAILED, why=f"not started in {seconds:g} s")
