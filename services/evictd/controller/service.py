"""The controller's worker: deliveries into the inbox, the step, effects onto the bus.

It is the judge of requests, reports and registrations. One key of its inbox is one life of one
workload; the journal keeps them. [design, way of the data, law 5]
"""

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from msgspec import structs

from evictd.controller.desk import Desk
from evictd.controller.first_list import FirstList
from evictd.controller.keys import read_key
from evictd.controller.queue import Queue
from evictd.core.effects import ControllerEffect, Keep, Retract, Tick
from evictd.core.moments import Now
from evictd.core.observations import SILENT_SECONDS
from evictd.core.problems import Problem
from evictd.core.protocol.advance import advance
from evictd.core.protocol.announcement import status_topic
from evictd.core.protocol.case import Case
from evictd.core.protocol.inputs import ControllerRules, Given
from evictd.core.protocol.naming import eviction_topic
from evictd.core.protocol.patience import LIST_SECONDS
from evictd.core.protocol.reports import Standing
from evictd.shell.bus import Delivery, Listing, attached
from evictd.shell.publisher import Publisher
from evictd.shell.reception import Opened, Reception
from evictd.shell.serving import Served
from evictd.shell.succession import Succession
from evictd.shell.supervise import Outside, drive
from evictd_schemas import topics
from evictd_schemas.topics import Place, Role

SILENCE_CHECK_SECONDS = 3_600.0
"""How often that is looked at."""
LIST_WAIT_SECONDS = 2.0
"""Requests of the list wait this long for the rest of it, so that a dead broker stops nothing."""


class Controller:
    """A listener of the bus. `boot_id`: of this machine, where the clock counts its boot time."""

    def __init__(
        self, outside: Outside[Case, Given, ControllerEffect], *, boot_id: str | None = None
    ) -> None:
        self._outside = outside
        self._boot_id = boot_id
        self.publisher = Publisher(outside.bus, outside.epoch, self, outside.inbox.wake_at)
        self.reception = Reception(Role.CONTROLLER, self.publisher, outside.clock, self._problems)
        self.cases: dict[str, Case] = {}
        """State of each target, for whoever shows it."""
        self.ignored = 0
        """Reports that came when it was not, or no longer, their responder's turn."""
        self.succession = Succession()
        self._desk = Desk(self.cases)
        self._queue = Queue(outside.inbox)
        self._nodes: dict[str, float] = {}
        """When each node was last observed, or first heard of; boot time."""
        self.served = Served(outside.node, outside.rules, self._nodes)
        self._list = FirstList()
        self._silence_from: float | None = None

    @property
    def filters(self) -> Sequence[str]:
        """What it reads: requests, reports, registrations and observations.

        Its own words of former lives too, for the case that the journal is lost.
        """
        scope = self._outside.scope
        kinds = (
            topics.EVICTION,
            topics.REQUEST_STATUS,
            topics.REQUEST,
            topics.REPORT,
            topics.REGISTRATION,
            topics.OBSERVATION,
        )
        return tuple(kind.everywhere(scope) for kind in kinds)

    async def run(self) -> None:
        """Serve until the inbox is closed or the task is cancelled."""
        await self._restore()
        async with anyio.create_task_group() as tasks:
            with attached(self._outside.bus, self):
                tasks.start_soon(self._list_in_time)
                tasks.start_soon(self._forget_silent)
                await drive(self._step, Case(), self._outside, self._perform, self.cases)
            tasks.cancel_scope.cancel()

    def figures(self) -> Mapping[str, float]:
        """For the status of the process."""
        return {
            "nodes": len(self._nodes),
            "refused": self.served.refused,
            "rejected": self.reception.rejected,
            "ignored": self.ignored,
        }

    def deliver(self, delivery: Delivery) -> None:
        """Open a message and put it into the inbox of the targets that it concerns."""
        place = topics.place(delivery.topic)
        if place is None or not self._serves(place.node):
            return
        self._note(place, delivery)
        if self._list.keeps(place.kind, delivery):
            return
        opened = self.reception.open(delivery)
        if opened is None or not self._counts(delivery.topic, opened):
            return
        if place.kind is topics.REQUEST:
            self._queue.add(self._desk.request(delivery.topic, opened))
        elif place.kind is topics.REPORT:
            self._report(delivery, opened)
        elif place.kind is topics.REGISTRATION:
            now = self._outside.clock.now()
            self._queue.add(self._desk.registration(opened, now))
        elif place.kind is topics.OBSERVATION:
            self._nodes[place.node] = self._outside.clock.now().boot_seconds
            self._queue.add(self._desk.observation(opened))
            if opened.message is None:
                self._make_room(place.node)
        elif opened.listed:
            self._recall(delivery.topic, opened)

    def _note(self, place: Place[Any], delivery: Delivery) -> None:
        if place.kind is topics.REPORT:
            self._desk.directory.note_report(delivery.topic, present=bool(delivery.payload))

    def listed(self, listing: Listing) -> None:
        """The list is complete: what came with it is taken, and silence counts again soon."""
        self._take_kept()
        if not self._list.judged:
            self._list.judged = True
            unnamed = self._list.unnamed
            self._queue.add(self._desk.unnamed(unnamed, authoritative=listing.authoritative))
        self._queue.add(self._desk.unnamed(listing.unconfirmed, authoritative=False))
        now = self._outside.clock.now()
        self._silence_from = now.boot_seconds + LIST_SECONDS
        self._look_again()

    async def _restore(self) -> None:
        """What the journal kept is published again, for the case that a broker lost it."""
        for row in await self._outside.journal.rows():
            if row.state is None:
                continue
            self.cases[row.key] = row.state
            self._desk.directory.restore(row.key, row.state)
            self._queue.weigh(row.key, row.state)
            node = read_key(row.key).node
            for held in row.state.requests:
                self.publisher.publish(status_topic(node, held), held.status)
            for eviction in row.state.evictions:
                self.publisher.publish(eviction_topic(node, eviction), eviction)
        self._list.unnamed = {topic for topic, _ in self._desk.directory.request_topics()}

    async def _list_in_time(self) -> None:
        """A broker that is not there delays nothing for longer than this."""
        await anyio.sleep(LIST_WAIT_SECONDS)
        if self._list.judged:
            return
        self._take_kept()
        self._look_again()

    async def _forget_silent(self) -> None:
        """Foreign nodes that nobody observes any more; the home node is never forgotten."""
        while True:
            await anyio.sleep(SILENCE_CHECK_SECONDS)
            latest = self._outside.clock.now().boot_seconds - SILENT_SECONDS
            for node, seen_boot_seconds in tuple(self._nodes.items()):
                if node != self._outside.node and seen_boot_seconds <= latest:
                    self._queue.add(self._desk.forget(node))
                    del self._nodes[node]

    def _take_kept(self) -> None:
        """What has waited for the list: requests first, so that reports find their Evictions."""
        if not self._list.open:
            return
        requests: dict[str, Opened] = {}
        reports: list[tuple[Delivery, Opened]] = []
        for delivery in self._list.close():
            opened = self.reception.open(delivery)
            if opened is None or not self._counts(delivery.topic, opened):
                continue
            if opened.place.kind is topics.REQUEST:
                requests[delivery.topic] = opened
            else:
                reports.append((delivery, opened))
        self._queue.add(self._list.entries(self._desk, requests))
        for delivery, opened in reports:
            self._report(delivery, opened)

    def _counts(self, topic: str, opened: Opened) -> bool:
        """Requests and reports of evictd's workers are numbered; old ones come late or again."""
        numbered = opened.place.kind in (topics.REQUEST, topics.REPORT)
        return not numbered or self.succession.newer(topic, opened.message)

    def _report(self, delivery: Delivery, opened: Opened) -> None:
        """Whose turn it is not is told so, unless he may not have heard of it yet, or we of his."""
        if opened.message is None:
            return
        place = opened.place
        recalled = self._list.key_of_eviction(
            place.node, place.names["namespace"], place.names["name"]
        )
        now = self._outside.clock.now()
        verdict, entry = self._desk.report(delivery.topic, opened, recalled, now)
        if verdict is Standing.TAKEN:
            self._queue.add((entry,))
        elif verdict is Standing.IGNORED or not self._list.judged:
            self.ignored += 1
        else:
            reason = "it is not this responder's turn, and has not been for a while"
            self.reception.reject(place, delivery, (Problem(field="topic", reason=reason),))

    def _recall(self, topic: str, opened: Opened) -> None:
        """Our own words of a former life, where the journal does not know them."""
        if opened.message is None or topic in self.publisher.published:
            return
        self._outside.epoch.raise_above(opened.message.epoch)
        if self._list.open:
            self._list.recall(topic, opened)

    def _look_again(self) -> None:
        """Timers of a former life, or of a former connection, are computed anew."""
        for key in tuple(self.cases):
            self._outside.inbox.feed(key, Tick())

    def _problems(self, place: Place[Any], message: Any) -> Sequence[Problem]:
        rules = self._rules(place.node)
        if rules is None:
            return ()
        return self._desk.problems(rules, place, message, self._outside.clock.now())

    def _serves(self, node: str) -> bool:
        if not self.served.takes(node):
            return False
        self._nodes.setdefault(node, self._outside.clock.now().boot_seconds)
        return True

    def _make_room(self, node: str) -> None:
        """A foreign node whose observation was cleared, and for which nothing is held."""
        if node != self._outside.node and not self._desk.directory.keys_of(node):
            del self._nodes[node]

    def _rules(self, node: str) -> ControllerRules | None:
        rules = self._outside.rules(node)
        if rules is None:
            return None
        return ControllerRules(
            node=node,
            mode=rules.mode,
            hard_requesters=rules.hard_requesters,
            registrations=self._desk.registry.of(node),
            lost_boot_seconds=self._desk.registry.lost(node),
            boot_id=self._boot_id,
            era=self._boot_id or f"epoch {self._outside.epoch.epoch}",
            silence_from_boot_seconds=self._silence_from,
        )

    async def _perform(self, key: str, effect: ControllerEffect) -> None:
        """Names repeat.

        What a former target cleared, perhaps told again after a restart, must not clear what a
        later one has under the same name.
        """
        match effect:
            case Keep():
                pass  # the journal has it already
            case Retract(topic=topic):
                if not self._desk.directory.holds(topic):
                    self._clear(topic)
            case _:
                await self.publisher.perform(key, effect)

    def _clear(self, topic: str) -> None:
        """And with an Eviction whatever was reported beneath it, by whomever. [contract 1]"""
        self.publisher.retract(topic)
        for report in self._desk.directory.take_reports(topic):
            self.publisher.retract(report)

    def _step(
        self, key: str, case: Case, given: Given, now: Now
    ) -> tuple[Case, Sequence[ControllerEffect]]:
        target = read_key(key)
        rules = self._rules(target.node)
        if rules is None:
            return case, ()
        rules = structs.replace(rules, next_number=self._desk.directory.next_number(target))
        after, asked = advance(rules, case, given, now)
        self._desk.directory.update(key, case, after)
        self._queue.weigh(key, after)
        if after == Case():
            self._desk.views.drop(key)
            self._outside.inbox.forget_timer(key)
        return after, asked
