"""The built-in responder as a worker: deliveries into the inbox, the step, stops on the machine.

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

from evictd.core.admission import names
from evictd.core.duty import (
    Assigned,
    Duty,
    Effect,
    Given,
    Listed,
    Look,
    Neighbours,
    Start,
    StartEnded,
    StartOutcome,
    StartResult,
    StopEnded,
    StopOutcome,
    StopResult,
    forbidden,
    respond,
)
from evictd.core.duty.budgets import stopped_life
from evictd.core.duty.ways import hard
from evictd.core.effects import Stop, Tick
from evictd.core.moments import Now
from evictd.core.pods import reference
from evictd.core.problems import Problem
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd.core.wording import name_text
from evictd.responder.errands import Errands
from evictd.responder.hands import Hands
from evictd.responder.holding import HoldFile
from evictd.responder.reclaiming import Reclaiming
from evictd.responder.restoring import START_SECONDS
from evictd.responder.room import Disks
from evictd.runtimes import Runtime
from evictd.shell.bus import Delivery, Listing
from evictd.shell.publisher import Publisher
from evictd.shell.reception import Opened, Reception
from evictd.shell.supervise import Outside, drive
from evictd_schemas import Eviction, Observation, Order, Pod, PodStatistics, Stopped, topics
from evictd_schemas.topics import Place, Role

EVICTIONS_MAX = 10_000
"""Evictions held at once; further ones are counted and wait until they are delivered again."""
SAME_STOP_SECONDS = 2.0
"""The rest of a grace is told in whole seconds: this much sooner is the same stop."""


class DefaultResponder:
    """A listener of the bus, and the judge of `evictions` and `orders`.

    One key of its inbox is one Eviction, `namespace/name`.
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
        self.publisher = Publisher(outside.bus, outside.epoch, self, outside.inbox.wake_at)
        self.reception = Reception(Role.RESPONDER, self.publisher, outside.clock, _problems)
        self.hands = Hands(runtimes)
        self._hold_file = HoldFile(hold_file, outside.run_blocking, outside.clock)
        self.reclaiming = Reclaiming(runtimes, disks or Disks({}), self._down)
        self.errands = Errands(
            outside, self.publisher, self.hands, self.reclaiming, self._hold_file
        )
        self.duties: dict[str, Duty] = {}
        """State of each Eviction, for whoever shows it."""
        self.refused = 0
        """Evictions beyond `EVICTIONS_MAX`."""
        self._statistics: Mapping[str, PodStatistics] = {}
        self._going: dict[str, Pod] = {}
        """What is being stopped, or has just been, by Eviction."""
        self._told = False
        """The list is complete, and with it what is down because of evictd."""
        self._assigned: set[str] = set()
        self._journalled: set[str] = set()
        self._looking: set[tuple[str, Look]] = set()
        self._stopping: dict[tuple[str, str], list[float]] = {}
        self._starting: set[tuple[str, str]] = set()
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
        self._journalled = {row.key for row in rows}
        for row in rows:
            self._follow(row.key, row.state or Duty())
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            tasks.start_soon(self.reclaiming.attend)
            self._outside.bus.attach(self)
            try:
                await drive(self._step, Duty(), self._outside, self._perform, self.duties)
            finally:
                self._outside.bus.detach(self)
                self._tasks = None
                tasks.cancel_scope.cancel()

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
        self._told = True
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
            self._statistics = {
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
            self.publisher.published.pop(topic, None)
        elif opened.listed and topic not in self.publisher.published:
            self._outside.epoch.raise_above(opened.message.epoch)
            self.publisher.published[topic] = opened.message

    def _step(
        self, key: str, duty: Duty, given: Given | Tick, now: Now
    ) -> tuple[Duty, Sequence[Effect]]:
        rules = self._outside.rules(self._outside.node)
        if rules is None:
            return duty, ()
        if isinstance(given, Listed) and given.neighbours is not None:
            given = structs.replace(given, neighbours=self._with_away(given.neighbours))
        after, effects = respond(rules, duty, given, now)
        self._follow(key, after)
        return after, effects

    def _follow(self, key: str, duty: Duty) -> None:
        """Two that look at the same moment must not both find the other one healthy.

        What has begun to go is known to whatever steps next.
        """
        if duty.going and duty.pod is not None:
            self._going[key] = duty.pod
        else:
            self._going.pop(key, None)

    def _with_away(self, neighbours: Neighbours) -> Neighbours:
        """With what evictd has stopped and is stopping, as of now."""
        if not self._told:
            problem = "what is down already is not known before the bus has told it"
            return structs.replace(neighbours, problem=neighbours.problem or problem)
        down = (
            stopped_life(place.names, record)
            for topic, record in self.publisher.published.items()
            if isinstance(record, Stopped) and (place := topics.place(topic)) is not None
        )
        return structs.replace(neighbours, away=(*self._going.values(), *down))

    def _down(self) -> frozenset[str] | None:
        """Runtime ids of what evictd has stopped, None before the bus has told."""
        if not self._told:
            return None
        records = self.publisher.published.values()
        return frozenset(one.runtime_id for one in records if isinstance(one, Stopped))

    async def _perform(self, key: str, effect: Effect) -> None:
        match effect:
            case Stop():
                self._begin(partial(self._stop, key, effect))
            case Start():
                self._begin(partial(self._start, key, effect))
            case Look():
                self._begin(partial(self._look, key, effect))
            case _:
                await self.publisher.perform(key, effect)

    async def _stop(self, key: str, effect: Stop) -> None:
        """Unless a stop for this key that ends no later runs already: each step says so again."""
        uid, grace_seconds = effect.pod.uid, effect.grace_seconds
        grace = float("inf") if grace_seconds is None else float(grace_seconds)
        deadline = self._outside.clock.now().boot_seconds + grace
        running = self._stopping.setdefault((key, uid), [])
        if any(other <= deadline + SAME_STOP_SECONDS for other in running):
            return
        running.append(deadline)
        try:
            outcome = await self._stopped(key, effect)
        finally:
            running.remove(deadline)
            if not running:
                self._stopping.pop((key, uid), None)
        given = StopEnded(uid=uid, outcome=outcome)
        self._outside.inbox.feed(key, given, slot=(StopEnded, uid, outcome.result))

    async def _stopped(self, key: str, effect: Stop) -> StopOutcome:
        """Mode and hold are looked at once more before the hands move."""
        why = self._forbidden() or await self._held(key, effect)
        if why is not None:
            return StopOutcome(result=StopResult.REFUSED, why=why)
        return await self.hands.stop(effect.pod, effect.grace_seconds)

    async def _start(self, key: str, effect: Start) -> None:
        """Unless one for this key runs already: each step says so again."""
        uid = effect.pod.uid
        if (key, uid) in self._starting:
            return
        self._starting.add((key, uid))
        try:
            outcome = await self._started(effect)
        finally:
            self._starting.discard((key, uid))
        given = StartEnded(uid=uid, outcome=outcome)
        self._outside.inbox.feed(key, given, slot=(StartEnded, uid))

    async def _started(self, effect: Start) -> StartOutcome:
        if (why := self._forbidden()) is not None:
            return StartOutcome(result=StartResult.REFUSED, why=why)
        with anyio.move_on_after(START_SECONDS):
            return await self.hands.start(effect.pod, effect.runtime_id)
        return StartOutcome(result=StartResult.FAILED, why=f"not started in {START_SECONDS:g} s")

    async def _held(self, key: str, effect: Stop) -> str | None:
        duty = self.duties.get(key)
        eviction = None if duty is None else duty.eviction
        return await self._hold_file.keeps(name_text(effect.pod), hard=hard(eviction))

    def _forbidden(self) -> str | None:
        """The mode, once more before the hands move."""
        rules = self._outside.rules(self._outside.node)
        return "this node is not served" if rules is None else forbidden(rules)

    async def _look(self, key: str, effect: Look) -> None:
        if (key, effect) in self._looking:
            return
        self._looking.add((key, effect))
        try:
            listed = await self._listed(effect)
        finally:
            self._looking.discard((key, effect))
        self._outside.inbox.feed(key, listed, slot=(Listed, effect.pod.uid))

    async def _listed(self, effect: Look) -> Listed:
        statistics = self._statistics.get(effect.pod.uid)
        if not effect.everyone:
            pod = await self.hands.look(effect.pod, statistics)
            return Listed(uid=effect.pod.uid, pod=pod)
        neighbours = await self.hands.survey()
        found = (pod for pod in neighbours.pods if reference(pod) == effect.pod)
        mine = next((structs.replace(pod, stats=statistics) for pod in found), None)
        return Listed(uid=effect.pod.uid, pod=mine, neighbours=neighbours)

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._tasks is not None:
            self._tasks.start_soon(work)


def _problems(place: Place[Any], message: Any) -> Sequence[Problem]:
    """The rules about values of what the responder judges. [contract 3, Eviction, Order]"""
    if isinstance(message, Eviction) and place.kind is topics.EVICTION:
        return _eviction_problems(place, message)
    if isinstance(message, Order) and place.kind is topics.ORDER and not message.uid:
        return (Problem(field="uid", reason="it is empty"),)
    return ()


def _eviction_problems(place: Place[Any], eviction: Eviction) -> Sequence[Problem]:
    metadata, pod = eviction.metadata, eviction.spec.target.pod
    expected = {
        "metadata.namespace": (metadata.namespace, place.names["namespace"]),
        "metadata.name": (metadata.name, place.names["name"]),
    }
    problems = [
        Problem(field=field, reason=f"{given!r} is not that of the topic, {wanted!r}")
        for field, (given, wanted) in expected.items()
        if given != wanted
    ]
    if not metadata.uid:
        problems.append(Problem(field="metadata.uid", reason="it is empty"))
    if pod is None or not pod.name:
        reason = "a pod with name and uid is needed"
        problems.append(Problem(field="spec.target.pod", reason=reason))
    else:
        problems.extend(names.uid("spec.target.pod.uid", pod.uid))
    return problems
