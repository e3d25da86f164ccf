"""The controller's worker: deliveries into the inbox, the step, effects onto the bus.

It is the judge of requests, reports and registrations. One key of its inbox is one life of one
workload; the journal keeps them. [design, way of the data, law 5]
"""

from collections.abc import Iterator, Sequence
from typing import Any

import anyio
from msgspec import structs

from evictd.controller.directory import Directory
from evictd.controller.first_list import FirstList
from evictd.controller.keys import key_of, levels_of, participant_of, read_key
from evictd.controller.registry import Registry
from evictd.controller.views import Views
from evictd.core.admission.messages import (
    registration_problems,
    report_problems,
    requested_problems,
)
from evictd.core.effects import Asked, BusEffect, Retract, Tick
from evictd.core.moments import Now
from evictd.core.observations import problems
from evictd.core.problems import Problem
from evictd.core.protocol.acceptance import awaits_observation
from evictd.core.protocol.advance import advance
from evictd.core.protocol.announcement import eviction_topic, status_topic
from evictd.core.protocol.case import Case
from evictd.core.protocol.inputs import (
    ControllerRules,
    Forgotten,
    Given,
    Recalled,
    Registered,
    Reported,
    Requested,
    Unconfirmed,
    Withdrawn,
)
from evictd.core.protocol.patience import LIST_SECONDS
from evictd.core.protocol.reports import Standing, standing
from evictd.shell.bus import Delivery, Listing
from evictd.shell.publisher import Publisher
from evictd.shell.reception import Opened, Reception
from evictd.shell.supervise import Outside, drive
from evictd_schemas import Eviction, EvictionRequest, Observation, Registration, topics
from evictd_schemas.topics import Place, Role, Topic

NODES_MAX = 100
"""Nodes served by one process; further ones are refused and counted. [contract 2]"""
REQUESTS_MAX = 10_000
"""Requests held at once; further ones are refused and counted."""
SILENT_SECONDS = 86_400.0
"""A foreign node without an observation for so long is forgotten. [contract 2]"""
SILENCE_CHECK_SECONDS = 3_600.0
"""How often that is looked at."""
LIST_WAIT_SECONDS = 2.0
"""Requests of the list wait this long for the rest of it, so that a dead broker stops nothing."""


class Controller:
    """A listener of the bus. `boot_id`: of this machine, where the clock counts its boot time."""

    def __init__(
        self, outside: Outside[Case, Given, BusEffect], *, boot_id: str | None = None
    ) -> None:
        self._outside = outside
        self._boot_id = boot_id
        self.publisher = Publisher(outside.bus, outside.epoch, self, outside.inbox.wake_at)
        self.reception = Reception(Role.CONTROLLER, self.publisher, outside.clock, self._problems)
        self.cases: dict[str, Case] = {}
        """State of each target, for whoever shows it."""
        self.refused = 0
        """Messages beyond `NODES_MAX` and `REQUESTS_MAX`."""
        self.ignored = 0
        """Reports that came when it was not, or no longer, their responder's turn."""
        self._directory = Directory()
        self._views = Views()
        self._registry = Registry()
        self._nodes: dict[str, float] = {}
        """When each node was last observed, or first heard of; boot time."""
        self._list = FirstList()
        self._silence_from: float | None = None

    @property
    def filters(self) -> Sequence[str]:
        """What it reads: requests, reports, registrations and observations; and its own words of
        former lives, for the case that the journal is lost."""
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
            self._outside.bus.attach(self)
            tasks.start_soon(self._list_in_time)
            tasks.start_soon(self._forget_silent)
            try:
                await drive(self._step, Case(), self._outside, self._perform, self.cases)
            finally:
                self._outside.bus.detach(self)
                tasks.cancel_scope.cancel()

    def deliver(self, delivery: Delivery) -> None:
        """Open a message and put it into the inbox of the targets that it concerns."""
        place = topics.place(delivery.topic)
        if place is None or not self._serves(place.node):
            return
        if self._list.keeps(place.kind, delivery):
            return
        opened = self.reception.open(delivery)
        if opened is None:
            return
        if place.kind is topics.REQUEST:
            self._request(delivery.topic, opened)
        elif place.kind is topics.REPORT:
            self._report(delivery, opened)
        elif place.kind is topics.REGISTRATION:
            self._register(opened)
        elif place.kind is topics.OBSERVATION:
            self._observe(opened)
        elif opened.listed and opened.message is not None:
            self._recall(delivery.topic, opened)

    def listed(self, listing: Listing) -> None:
        """The list is complete: what came with it is taken, and silence counts again soon."""
        self._take_kept()
        if not self._list.judged:
            self._list.judged = True
            self._judge_unnamed(authoritative=listing.authoritative)
        now = self._outside.clock.now()
        self._silence_from = now.boot_seconds + LIST_SECONDS
        self._look_again()

    async def _restore(self) -> None:
        """What the journal kept is published again, for the case that a broker lost it."""
        for row in await self._outside.journal.rows():
            if row.state is None:
                continue
            self.cases[row.key] = row.state
            self._directory.restore(row.key, row.state)
            node = read_key(row.key).node
            for held in row.state.requests:
                self.publisher.publish(status_topic(node, held), held.status)
            for eviction in row.state.evictions:
                self.publisher.publish(eviction_topic(node, eviction), eviction)
        self._list.unnamed = {topic for topic, _ in self._directory.request_topics()}

    async def _list_in_time(self) -> None:
        """A broker that is not there delays nothing for longer than this."""
        await anyio.sleep(LIST_WAIT_SECONDS)
        self._take_kept()
        self._look_again()

    async def _forget_silent(self) -> None:
        """Foreign nodes that nobody observes any more; the home node is never forgotten."""
        while True:
            await anyio.sleep(SILENCE_CHECK_SECONDS)
            latest = self._outside.clock.now().boot_seconds - SILENT_SECONDS
            for node, seen_boot_seconds in tuple(self._nodes.items()):
                if node != self._outside.node and seen_boot_seconds <= latest:
                    self._forget(node)

    def _forget(self, node: str) -> None:
        for key in self._directory.keys_of(node):
            self._outside.inbox.feed(key, Forgotten())
        self._directory.forget_requests(node)
        self._views.forget(node)
        self._registry.forget(node)
        del self._nodes[node]

    def _take_kept(self) -> None:
        """Own Evictions first, so that requests and reports find them."""
        if not self._list.open:
            return
        self._list.open = False
        recalled = self._list.evictions_by_key()
        requests: dict[str, list[Requested]] = {}
        for delivery, opened in self._open_kept(topics.REQUEST):
            if opened.message is None:
                self._withdraw(delivery.topic, opened)
            elif (found := self._requested(delivery.topic, opened)) is not None:
                requests.setdefault(found[0], []).append(found[1])
        for key in recalled.keys() | requests.keys():
            self._feed_recalled(key, recalled.get(key, ()), requests.get(key, ()))
        for delivery, opened in self._open_kept(topics.REPORT):
            self._report(delivery, opened)
        self._list.kept = {}

    def _open_kept(self, kind: Topic[Any]) -> Iterator[tuple[Delivery, Opened]]:
        for topic, delivery in self._list.kept.items():
            place = topics.place(topic)
            if place is not None and place.kind is kind:
                opened = self.reception.open(delivery)
                if opened is not None:
                    yield delivery, opened

    def _feed_recalled(
        self, key: str, evictions: Sequence[Eviction], requests: Sequence[Requested]
    ) -> None:
        if evictions:
            sighted = self._views.tell(key)
            given = Recalled(evictions=tuple(evictions), requests=tuple(requests), sighted=sighted)
            self._outside.inbox.feed(key, given)
            return
        for request in requests:
            self._feed_request(key, request)

    def _judge_unnamed(self, *, authoritative: bool) -> None:
        """Requests of the journal that the list did not name. [design, law 5]"""
        for topic, key in tuple(self._directory.request_topics()):
            place = topics.place(topic)
            if topic not in self._list.unnamed or place is None:
                continue
            requester, namespace, name = levels_of(place)
            held = self.cases.get(key, Case()).requests
            unconfirmed = any(
                item.unconfirmed and item.topic_levels == (requester, namespace, name)
                for item in held
            )
            given: Given
            if authoritative and not unconfirmed:
                self._directory.drop_request(topic)
                given = Withdrawn(requester=requester, namespace=namespace, name=name)
            else:
                given = Unconfirmed(requester=requester, namespace=namespace, name=name)
            self._outside.inbox.feed(key, given, slot=(requester, name, type(given)))

    def _request(self, topic: str, opened: Opened) -> None:
        if opened.message is None:
            self._withdraw(topic, opened)
        elif (found := self._requested(topic, opened)) is not None:
            self._feed_request(*found)

    def _feed_request(self, key: str, given: Requested | Withdrawn) -> None:
        """A withdrawal stays beside a request that follows it, which is a new object then."""
        self._outside.inbox.feed(key, given, slot=(given.requester, given.name, type(given)))

    def _withdraw(self, topic: str, opened: Opened) -> None:
        requester, namespace, name = levels_of(opened.place)
        key = self._directory.drop_request(topic)
        if key is not None:
            given = Withdrawn(requester=requester, namespace=namespace, name=name)
            self._feed_request(key, given)

    def _requested(self, topic: str, opened: Opened) -> tuple[str, Requested] | None:
        """A request with its key; None where it is one too many."""
        requester, namespace, name = levels_of(opened.place)
        request: EvictionRequest = opened.message
        pod = request.spec.target.pod
        known = self._directory.request(topic) is not None
        if pod is None or (not known and self._directory.requests >= REQUESTS_MAX):
            self.refused += 1
            return None
        key = str(key_of(opened.place.node, namespace, pod))
        self._directory.take_request(topic, key, request)
        return key, Requested(
            requester=requester,
            namespace=namespace,
            name=name,
            request=request,
            sighted=self._views.tell(key),
            status=None if known else self._list.statuses.get(topic),
        )

    def _report(self, delivery: Delivery, opened: Opened) -> None:
        if opened.message is None:
            return
        place = opened.place
        namespace, name = place.names["namespace"], place.names["name"]
        key = self._directory.key_of_eviction(place.node, namespace, name)
        key = key or self._list.key_of_eviction(place.node, namespace, name)
        given = Reported(
            namespace=namespace,
            name=name,
            responder=participant_of(place),
            report=opened.message,
            listed=opened.listed,
        )
        if opened.listed:
            verdict = Standing.TAKEN if key is not None else Standing.IGNORED
        else:
            verdict = standing(self.cases.get(key or "", Case()), given, self._outside.clock.now())
        if verdict is Standing.REJECTED:
            reason = f"it is not the turn of {given.responder}, and has not been for a while"
            self.reception.reject(place, delivery, (Problem(field="topic", reason=reason),))
        elif verdict is Standing.IGNORED:
            self.ignored += 1
        elif key is not None:
            self._outside.inbox.feed(key, given, slot=delivery.topic)

    def _register(self, opened: Opened) -> None:
        """A last will counts only for the connection that it was left for."""
        node, responder = opened.place.node, participant_of(opened.place)
        registration: Registration | None = opened.message
        if not self._registry.take(node, responder, registration):
            return
        given = Registered(responder=responder, registration=registration)
        for key in self._directory.keys_of(node):
            if responder in self.cases.get(key, Case()).run.terms:
                self._outside.inbox.feed(key, given, slot=("registered", responder))

    def _observe(self, opened: Opened) -> None:
        node, observation = opened.place.node, opened.message
        if not isinstance(observation, Observation):
            self._views.forget(node)
            return
        self._nodes[node] = self._outside.clock.now().boot_seconds
        if not self._views.observe(node, observation) or observation.pods is None:
            return
        keys = self._directory.keys_of(node)
        waiting = [key for key in keys if awaits_observation(self.cases.get(key, Case()))]
        for key, sighted in self._views.news(keys, waiting, live=not opened.listed):
            self._outside.inbox.feed(key, sighted)

    def _recall(self, topic: str, opened: Opened) -> None:
        """Our own words of a former life that the journal does not know."""
        self._outside.epoch.raise_above(opened.message.epoch)
        if not self._list.open or topic in self.publisher.published:
            return
        if isinstance(opened.message, Eviction):
            self._list.evictions.append((opened.place.node, opened.message))
        else:
            request_topic = topic.removesuffix("/status")
            self._list.statuses[request_topic] = opened.message

    def _look_again(self) -> None:
        """Timers of a former life, or of a former connection, are computed anew."""
        for key in tuple(self.cases):
            self._outside.inbox.feed(key, Tick())

    def _problems(self, place: Place[Any], message: Any) -> Sequence[Problem]:
        if place.kind is topics.REQUEST:
            topic = topics.REQUEST.at(place.node, **place.names)
            held = self._directory.request(topic)
            rules = self._rules(place.node) or ControllerRules(node=place.node)
            return tuple(requested_problems(rules, levels_of(place), message, held))
        if place.kind is topics.REPORT:
            return tuple(report_problems(message, self._outside.clock.now()))
        if place.kind is topics.REGISTRATION:
            return tuple(registration_problems(participant_of(place), message))
        if place.kind is topics.OBSERVATION:
            return problems(place.node, message, self._views.held(place.node))
        return ()

    def _serves(self, node: str) -> bool:
        """Whether the node is ours to serve, and room for it."""
        if self._outside.rules(node) is None:
            return False
        if node not in self._nodes and len(self._nodes) >= NODES_MAX:
            self.refused += 1
            return False
        self._nodes.setdefault(node, self._outside.clock.now().boot_seconds)
        return True

    def _rules(self, node: str) -> ControllerRules | None:
        rules = self._outside.rules(node)
        if rules is None:
            return None
        return ControllerRules(
            node=node,
            mode=rules.mode,
            hard_requesters=rules.hard_requesters,
            registrations=self._registry.of(node),
            boot_id=self._boot_id,
            era=self._boot_id or f"epoch {self._outside.epoch.epoch}",
            silence_from_boot_seconds=self._silence_from,
        )

    async def _perform(self, key: str, effect: BusEffect) -> None:
        """Names repeat: what a former target cleared, perhaps told again after a restart, must not
        clear what a later one has under the same name."""
        if not isinstance(effect, Retract) or not self._directory.holds(effect.topic):
            await self.publisher.perform(key, effect)

    def _step(self, key: str, case: Case, given: Given, now: Now) -> tuple[Case, Asked]:
        target = read_key(key)
        rules = self._rules(target.node)
        if rules is None:
            return case, ()
        rules = structs.replace(rules, next_number=self._directory.next_number(target))
        after, asked = advance(rules, case, given, now)
        self._directory.update(key, case, after)
        if after == Case():
            self._views.drop(key)
            self._outside.inbox.forget_timer(key)
        return after, asked
