"""The built-in responder as a worker: deliveries into the inbox, the step, work for the hands.

It decides nothing, `core.duty` does. A stop is a task of its own, so that a hard one never waits
for a soft one. It serves its home node only. [contract 2] [design, law 7]
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup
from msgspec import structs

from evictd.core.duty import Assigned, Duty, Effect, Given, Listed, Look, Start, respond
from evictd.core.effects import Owned, Stop, Tick
from evictd.core.moments import Now
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd.responder.away import Away
from evictd.responder.errands import Errands
from evictd.responder.handiwork import Handiwork
from evictd.responder.hands import Hands
from evictd.responder.holding import HoldFile
from evictd.responder.problems import problems
from evictd.responder.reclaiming import Reclaiming
from evictd.responder.rejoining import Rejoining, concerns
from evictd.responder.room import Disks
from evictd.runtimes import Runtime
from evictd.shell.bus import Delivery, Listing
from evictd.shell.publisher import Publisher
from evictd.shell.reception import Opened, Reception
from evictd.shell.supervise import Outside, drive
from evictd_schemas import Eviction, Observation, Order, topics
from evictd_schemas.topics import Role

EVICTIONS_MAX = 10_000
"""Evictions held at once; further ones are counted and wait until they are delivered again."""


class DefaultResponder:
    """A listener of the bus, and the judge of `evictions` and `orders`.

    One key of its inbox is one Eviction, `namespace/name`, or one that has lost its network.
    """

    role = Role.RESPONDER

    def __init__(
        self,
        outside: Outside[Duty, Given, Effect],
        runtimes: Sequence[Runtime],
        hold_file: Path | None = None,
        disks: Disks | None = None,
    ) -> None:
        self._outside = outside
        self.publisher = Publisher(
            outside.bus, outside.epoch, self, outside.inbox.wake_at, outside.journal.hold
        )
        self.reception = Reception(Role.RESPONDER, self.publisher, outside.clock, problems)
        self.hands = Hands(runtimes)
        self.duties: dict[str, Duty] = {}
        """State of each Eviction, for whoever shows it."""
        held = HoldFile(hold_file, outside.run_blocking, outside.clock)
        self.rejoining = Rejoining(outside, self.hands)
        self.handiwork = Handiwork(outside, self.rejoining, held, self.duties)
        self.away = Away(self.publisher.published)
        self.reclaiming = Reclaiming(runtimes, disks or Disks({}), self.away.runtime_ids)
        self.errands = Errands(outside, self.publisher, self.rejoining, self.reclaiming, held)
        self.refused = 0
        """Evictions beyond `EVICTIONS_MAX`."""
        self._assigned: set[str] = set()
        self._journalled: set[str] = set()
        self._listed_orders: dict[str, Order] = {}
        self._tasks: TaskGroup | None = None

    @property
    def filters(self) -> Sequence[str]:
        """What it reads: Evictions, orders, the observation for last figures.

        Its own words of former lives too, so that it does not say them twice.
        """
        node = self._outside.node
        return (
            topics.EVICTION.everywhere(node),
            topics.ORDER.everywhere(node),
            topics.OBSERVATION.everywhere(node),
            topics.REPORT.everywhere(node, **topics.levels(DEFAULT_RESPONDER)),
            topics.ORDER_STATUS.everywhere(node),
            topics.STOPPED.everywhere(node),
        )

    async def run(self) -> None:
        """Serve until the inbox is closed or the task is cancelled.

        Running stops are cut short then and taken up again by the next life.
        """
        rows = await self._outside.journal.rows()
        records = await self._outside.journal.records()
        self._journalled = {row.key for row in rows}
        for row in rows:
            self.away.follow(row.key, row.state or Duty())
            if concerns(row.key):
                self._outside.inbox.feed(row.key, Tick())  # a pause of another boot has no end
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            tasks.start_soon(self.reclaiming.attend)
            self._outside.bus.attach(self)
            self._tell_again(records)
            try:
                await drive(self._step, Duty(), self._outside, self._perform, self.duties)
            finally:
                self._outside.bus.detach(self)
                self._tasks = None
                tasks.cancel_scope.cancel()

    def _tell_again(self, records: Mapping[str, Owned]) -> None:
        """A broker may have lost them. What was told under a former name of this machine is told
        under the present one."""
        for former, record in records.items():
            place = topics.place(former)
            assert place is not None  # noqa: S101 - the journal has read the record by its topic
            topic = place.kind.at(self._outside.node, **place.names)
            if topic != former:
                self._outside.journal.hold(former, None)
            self.publisher.publish(topic, record)

    def deliver(self, delivery: Delivery) -> None:
        """Open a message and put it where it belongs."""
        opened = self.reception.open(delivery)
        if opened is None:
            return
        kind = opened.place.kind
        if kind is topics.EVICTION:
            self._assign(opened)
        elif kind is topics.OBSERVATION:
            self._observe(opened)
        elif kind is topics.ORDER:
            self._receive_order(opened)
        else:
            self._remember(delivery.topic, opened)

    def listed(self, listing: Listing) -> None:
        """Orders of the list are taken up once our own answers to them are known.

        What an authoritative list does not name is gone. [design, law 5]
        """
        self.away.told = True
        for name, order in self._listed_orders.items():
            self._order(name, order)
        self._listed_orders = {}
        if not listing.authoritative:
            return
        for key in (self._journalled | self.duties.keys()) - self._assigned:
            self._outside.inbox.feed(key, Assigned(eviction=None))

    def _assign(self, opened: Opened) -> None:
        names = opened.place.names
        key = f"{names['namespace']}/{names['name']}"
        eviction: Eviction | None = opened.message
        if eviction is None:
            self._assigned.discard(key)
        elif key not in self._assigned and len(self._assigned) >= EVICTIONS_MAX:
            self.refused += 1
            return
        else:
            self._assigned.add(key)
        self._outside.inbox.feed(key, Assigned(eviction=eviction))

    def _observe(self, opened: Opened) -> None:
        """Statistics of each life, for the record of what was stopped.

        Who runs again only a live observation can tell. [contract 1, Retained delivery]
        """
        observation: Observation | None = opened.message
        if observation is not None and observation.pods is not None:
            self.handiwork.statistics = {
                pod.uid: pod.stats for pod in observation.pods if pod.stats is not None
            }
            self.errands.boot_id = observation.boot_id
            if not opened.listed:
                self.errands.restoring.observe(observation, self._tasks)

    def _receive_order(self, opened: Opened) -> None:
        name, order = opened.place.names["name"], opened.message
        self._listed_orders.pop(name, None)
        if opened.listed and order is not None:
            self._listed_orders[name] = order
        else:
            self._order(name, order)

    def _order(self, name: str, order: Order | None) -> None:
        if self._tasks is not None:
            self.errands.take(name, order, self._tasks)

    def _remember(self, topic: str, opened: Opened) -> None:
        """Our own topics: what is there of a former life, and what the controller has cleared."""
        if opened.message is None:
            self.publisher.adopt(topic, None)
        elif opened.listed and topic not in self.publisher.published:
            self._outside.epoch.raise_above(opened.message.epoch)
            self.publisher.adopt(topic, opened.message)

    def _step(
        self, key: str, duty: Duty, given: Given | Tick, now: Now
    ) -> tuple[Duty, Sequence[Effect]]:
        rules = self._outside.rules(self._outside.node)
        if rules is None:
            return duty, ()
        if isinstance(given, Listed) and given.neighbours is not None:
            given = structs.replace(given, neighbours=self.away.counted_in(given.neighbours))
        after, effects = respond(rules, duty, given, now)
        self.away.follow(key, after)
        if concerns(key):
            self.rejoining.follow(key, given)
        return after, effects

    async def _perform(self, key: str, effect: Effect) -> None:
        match effect:
            case Stop():
                self._begin(partial(self.handiwork.stop, key, effect))
            case Start():
                self._begin(partial(self.handiwork.start, key, effect))
            case Look():
                self._begin(partial(self.handiwork.look, key, effect))
            case _:
                await self.publisher.perform(key, effect)

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._tasks is not None:
            self._tasks.start_soon(work)
