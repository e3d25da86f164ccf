"""The evaluator's worker: deliveries into the inbox, the step, effects onto the bus.

[design, way of the data]
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evictd.core.effects import Asked, BusEffect, Tick
from evictd.core.evaluation import (
    Given,
    Gone,
    Observed,
    Recalled,
    Reclaimed,
    Watch,
    evaluate,
    forgotten,
    silent,
)
from evictd.core.moments import Now
from evictd.core.observations import merge, problems
from evictd.core.problems import Problem
from evictd.shell.bus import Delivery, Listing, attached
from evictd.shell.publisher import Publisher
from evictd.shell.reception import Opened, Reception
from evictd.shell.serving import Served
from evictd.shell.supervise import Outside, drive
from evictd_schemas import Observation, Pressure, topics
from evictd_schemas.topics import Place, Role


class Evaluator:
    """A listener of the bus, and the judge of `observation`. One key of its inbox is one node."""

    def __init__(self, outside: Outside[Watch, Given, BusEffect]) -> None:
        self._outside = outside
        self.publisher = Publisher(outside.bus, outside.epoch, self, outside.inbox.wake_at)
        self.reception = Reception(Role.EVALUATOR, self.publisher, outside.clock, self._admit)
        self.watches: dict[str, Watch] = {}
        """State of each node, for whoever shows it."""
        self._nodes: set[str] = {outside.node}
        self.served = Served(outside.node, outside.rules, self._nodes)
        self._held: dict[str, Observation] = {}

    @property
    def filters(self) -> Sequence[str]:
        """What it reads: observations, its own former pressure, and how reclaims end."""
        scope = self._outside.scope
        return (
            topics.OBSERVATION.everywhere(scope),
            topics.PRESSURE.everywhere(scope),
            topics.ORDER_STATUS.everywhere(scope),
        )

    async def run(self) -> None:
        """Serve until the inbox is closed or the task is cancelled."""
        with attached(self._outside.bus, self):
            await drive(self._step, Watch(), self._outside, self.publisher.perform, self.watches)

    def figures(self) -> Mapping[str, float]:
        """For the status of the process."""
        return {
            "nodes": len(self.watches),
            "refused": self.served.refused,
            "rejected": self.reception.rejected,
        }

    def deliver(self, delivery: Delivery) -> None:
        """Open a message and put it into the inbox of its node."""
        place = topics.place(delivery.topic)
        if place is None or not self._serves(place.node):
            return
        opened = self.reception.open(delivery)
        if opened is None:
            return
        if place.kind is topics.OBSERVATION:
            self._observe(place.node, opened)
        elif place.kind is topics.PRESSURE:
            self._recall(place, opened)
        elif place.kind is topics.ORDER_STATUS and opened.message is not None:
            given = Reclaimed(status=opened.message)
            self._outside.inbox.feed(place.node, given, slot=delivery.topic)

    def listed(self, listing: Listing) -> None:
        """Lists decide nothing here: what they name was delivered, what they do not is restated."""

    def _observe(self, node: str, opened: Opened) -> None:
        if opened.message is not None:
            self._held[node] = merge(self._held.get(node), opened.message)
            given = Observed(observation=opened.message, listed=opened.listed)
            self._outside.inbox.feed(node, given)
        elif node != self._outside.node:
            self._forget(node)
            self._outside.inbox.feed(node, Gone())

    def _recall(self, place: Place[Any], opened: Opened) -> None:
        """Only what was there before this life; the link sees to others who write on our topics."""
        pressure = opened.message
        if not opened.listed or not isinstance(pressure, Pressure):
            return
        if topics.PRESSURE.at(place.node) not in self.publisher.published:
            self._outside.epoch.raise_above(pressure.epoch)
            self._outside.inbox.feed(place.node, Recalled(pressure=pressure))

    def _admit(self, place: Place[Any], message: Any) -> Sequence[Problem]:
        if place.kind is not topics.OBSERVATION:
            return ()
        return problems(place.node, message, self._held.get(place.node))

    def _serves(self, node: str) -> bool:
        """Whether the node is ours to judge; one that no longer is, is let go of."""
        if self.served.takes(node):
            self._nodes.add(node)
            return True
        if node in self._nodes:
            self._outside.inbox.feed(node, Tick())
        return False

    def _forget(self, node: str) -> None:
        self._held.pop(node, None)
        self._nodes.discard(node)
        self.publisher.published.pop(topics.PRESSURE.at(node), None)

    def _step(self, node: str, watch: Watch, given: Given, now: Now) -> tuple[Watch, Asked]:
        rules = self._outside.rules(node)
        if rules is None:  # another evaluator serves it now
            self._forget(node)
            return Watch(), ()
        if isinstance(given, Tick) and node != self._outside.node and silent(watch, now):
            self._forget(node)
            return forgotten(node)
        return evaluate(rules, watch, given, now)
