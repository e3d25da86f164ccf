"""Starting again what is down because of evictd, and noticing what runs again by itself.

It knows the records of what is down, not the orders of the bus: `errands` brings it one that is to
be carried out.
"""

from collections.abc import Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup

from evictd.core.duty import StartOutcome, StartResult, errand
from evictd.responder.rejoining import Rejoining, with_sharers
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
LOOK_SECONDS = 5.0
"""Between two looks whether what is down is still there: one question each to the engine."""
MISSED_LOOKS = 2
"""So often in a row it has to be missing: who makes it anew removes it first."""


class Restoring:
    """The records of what is down, and starts; `moment`: now, as the observation counts time."""

    def __init__(
        self,
        outside: Outside[Any, Any, Any],
        publisher: Publisher,
        rejoining: Rejoining,
        moment: Callable[[], Moment],
    ) -> None:
        self._node = outside.node
        self._journal = outside.journal
        self._publisher = publisher
        self._hands = rejoining.hands
        self._rejoining = rejoining
        self._moment = moment
        self._missed: dict[str, int] = {}
        self._looked_seconds = float("-inf")
        self._looking = False

    def observe(self, observation: Observation, tasks: TaskGroup | None) -> None:
        """What runs again is not down any more, whoever started it; nor is what was removed."""
        for topic, target, record in self._records():
            if errand.runs_again(record, target.namespace, target.name, observation.pods or ()):
                self._publisher.retract(topic)
        due = anyio.current_time() - self._looked_seconds >= LOOK_SECONDS
        if tasks is not None and due and not self._looking and self._records():
            self._looked_seconds = anyio.current_time()
            tasks.start_soon(self._look)

    async def forget(self, order: Order, target: PodReference) -> OrderStatus:
        """Let go of the record of that life, for good; where there is none, it is so already."""
        topic = self._topic(target)
        held = self._publisher.published.get(topic)
        if isinstance(held, Stopped) and errand.not_ours(target, held) is None:
            self._publisher.retract(topic)
            await self._written()
        return errand.finished(order, (), self._moment())

    async def carry_out(self, order: Order, target: PodReference) -> OrderStatus:
        """Our own record says what is started.

        It goes before the order is answered, so that whoever reads the answer finds nothing down.
        """
        topic = self._topic(target)
        held = self._publisher.published.get(topic)
        record = held if isinstance(held, Stopped) else None
        why = errand.not_ours(target, record)
        if record is None or why is not None:
            return errand.refused(order, why or "", self._moment())
        outcome = await self._started(order, target, record)
        status, rest = errand.restored(order, record, outcome, self._moment())
        self._replace(topic, record, rest)
        await self._written()
        return status

    def _replace(self, topic: str, record: Stopped, rest: Stopped | None) -> None:
        """Only what is there still.

        While it was started, it may have been forgotten, or seen to run and stopped once more.
        """
        held = self._publisher.published.get(topic)
        if not isinstance(held, Stopped) or held.uid != record.uid:
            return
        if rest is None:
            self._publisher.retract(topic)
        else:
            self._publisher.publish(topic, rest)

    async def _written(self) -> None:
        """The journal has it too, or is behind: an order that was answered is not given again."""
        await self._journal.commit(())

    async def _started(self, order: Order, target: PodReference, record: Stopped) -> StartOutcome:
        seconds = order.deadline_seconds or START_SECONDS
        outcome = StartOutcome(result=StartResult.FAILED, why=f"not started in {seconds:g} s")
        with anyio.move_on_after(seconds):
            outcome = await self._hands.start(target, record.runtime_id)
        if not outcome.runs:
            return outcome
        return with_sharers(outcome, await self._rejoining.restarted(target, record.runtime_id))

    async def _look(self) -> None:
        """Ask for each whether it is still there to be started."""
        self._looking = True
        try:
            for topic, target, record in self._records():
                is_kept = await self._hands.keeps(target, record.runtime_id)
                missed = self._missed.get(topic, 0) + 1 if is_kept is False else 0
                self._missed[topic] = missed
                if missed >= MISSED_LOOKS and self._publisher.published.get(topic) == record:
                    self._publisher.retract(topic)
        finally:
            self._looking = False
        down = {topic for topic, _, _ in self._records()}
        self._missed = {topic: missed for topic, missed in self._missed.items() if topic in down}

    def _records(self) -> list[tuple[str, PodReference, Stopped]]:
        """What is down because of evictd, each with its topic and the life that was stopped."""
        found = []
        for topic, record in self._publisher.published.items():
            place = topics.place(topic)
            if place is not None and isinstance(record, Stopped):
                names = place.names
                life = PodReference(
                    namespace=names["namespace"], name=names["name"], uid=record.uid
                )
                found.append((topic, life, record))
        return found

    def _topic(self, target: PodReference) -> str:
        return topics.STOPPED.at(self._node, namespace=target.namespace, name=target.name)
