"""The evictor's worker: deliveries into the inbox, the step, effects onto the bus.

[design, way of the data]
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from evictd.core.admission.names import participant
from evictd.core.decision import Given, Gone, Plan, decide
from evictd.core.decision.admission import rule_breaks
from evictd.core.effects import Asked, BusEffect, Tick
from evictd.core.moments import Now
from evictd.core.observations import problems
from evictd.core.problems import Problem
from evictd.core.protocol.vocabulary import PRESSURE_REQUESTERS
from evictd.evictor.inputs import answers_us, given_of
from evictd.evictor.pairing import Pairing
from evictd.evictor.recovery import Recovery
from evictd.shell.bus import Delivery, Listing, attached
from evictd.shell.publisher import Publisher
from evictd.shell.reception import Opened, Reception
from evictd.shell.serving import Served
from evictd.shell.supervise import Outside, drive
from evictd_schemas import topics
from evictd_schemas.topics import Place, Role, Topic

Taker = Callable[[str, Opened], None]


class Evictor:
    """A listener of the bus, and the judge of `pressure`, `stopped`, order statuses and `wishes`.

    One key of its inbox is one node.
    """

    def __init__(self, outside: Outside[Plan, Given, BusEffect]) -> None:
        self._outside = outside
        self.publisher = Publisher(outside.bus, outside.epoch, self, outside.inbox.wake_at)
        self.reception = Reception(Role.EVICTOR, self.publisher, outside.clock, self._admit)
        self.plans: dict[str, Plan] = {}
        """State of each node, for whoever shows it."""
        self._pairings: dict[str, Pairing] = {}
        self.served = Served(outside.node, outside.rules, self._pairings)
        self._recoveries: dict[str, Recovery] = {}
        self._lists = 0
        self._takers: Mapping[Topic[Any], Taker] = {
            topics.OBSERVATION: self._observe,
            topics.PRESSURE: self._press,
            topics.EVICTION: self._hear,
            topics.REQUEST_STATUS: self._hear,
            topics.ORDER_STATUS: self._hear,
            topics.STOPPED: self._hear,
            topics.WISH: self._hear,
            topics.DECISION: self._recover_decision,
            topics.REQUEST: self._recover_request,
        }

    @property
    def filters(self) -> Sequence[str]:
        """What it reads.

        The two streams, what became of its requests and orders, what is down, wishes, and its own
        former decisions and requests.
        """
        scope = self._outside.scope
        own = [topics.levels(requester) for requester in PRESSURE_REQUESTERS]
        return (
            topics.OBSERVATION.everywhere(scope),
            topics.PRESSURE.everywhere(scope),
            topics.EVICTION.everywhere(scope),
            topics.ORDER_STATUS.everywhere(scope),
            topics.STOPPED.everywhere(scope),
            topics.WISH.everywhere(scope),
            topics.DECISION.everywhere(scope),
            *(topics.REQUEST.everywhere(scope, **levels) for levels in own),
            *(topics.REQUEST_STATUS.everywhere(scope, **levels) for levels in own),
        )

    async def run(self) -> None:
        """Serve until the inbox is closed or the task is cancelled."""
        with attached(self._outside.bus, self):
            await drive(self._step, Plan(), self._outside, self.publisher.perform, self.plans)

    def figures(self) -> Mapping[str, float]:
        """For the status of the process."""
        return {
            "nodes": len(self._pairings),
            "refused": self.served.refused,
            "rejected": self.reception.rejected,
        }

    def deliver(self, delivery: Delivery) -> None:
        """Open a message and put it into the inbox of its node."""
        place = topics.place(delivery.topic)
        if place is None or not self.served.takes(place.node):
            return
        taker = self._takers.get(place.kind)
        opened = None if taker is None else self.reception.open(delivery)
        if taker is not None and opened is not None:
            taker(delivery.topic, opened)

    def listed(self, listing: Listing) -> None:  # noqa: ARG002 - ours stand whatever it names
        """Take up what was found of an earlier life.

        What the list does not name of others was delivered as gone.
        """
        self._lists += 1
        for node, recovery in self._recoveries.items():
            for slot, given in recovery.complete():
                self._feed(node, given, (self._lists, slot))
        self._recoveries.clear()

    def _observe(self, _topic: str, opened: Opened) -> None:
        node = opened.place.node
        if opened.message is not None:
            pairing = self._pairings.setdefault(node, Pairing())
            self._judge(node, pairing.observe(opened.message, listed=opened.listed))

    def _press(self, _topic: str, opened: Opened) -> None:
        node = opened.place.node
        if opened.message is not None:
            pairing = self._pairings.setdefault(node, Pairing())
            self._judge(node, pairing.press(opened.message, listed=opened.listed))
        elif node != self._outside.node:  # the evaluator has forgotten a foreign node
            self._pairings.pop(node, None)
            self._feed(node, Gone())

    def _judge(self, node: str, ready: Given | None) -> None:
        if ready is not None:
            self._feed(node, ready)

    def _hear(self, topic: str, opened: Opened) -> None:
        """What others say; what answers us waits behind our own words of an earlier life."""
        given = given_of(topic, opened.place, opened.message)
        if given is None:
            return
        if opened.listed and answers_us(given):
            self._recovery(opened.place.node).status(topic, given)
        else:
            self._feed(opened.place.node, given, topic)

    def _recover_decision(self, topic: str, opened: Opened) -> None:
        """Only what was there before this life; the link sees to others who write on our topics."""
        if self._ours_of_old(topic, opened):
            self._recovery(opened.place.node).decision(opened.message)

    def _recover_request(self, topic: str, opened: Opened) -> None:
        if self._ours_of_old(topic, opened):
            self._recovery(opened.place.node).request(topic, opened.message)

    def _ours_of_old(self, topic: str, opened: Opened) -> bool:
        if not opened.listed or opened.message is None or topic in self.publisher.published:
            return False
        self._outside.epoch.raise_above(opened.message.epoch)
        return True

    def _recovery(self, node: str) -> Recovery:
        return self._recoveries.setdefault(node, Recovery())

    def _feed(self, node: str, given: Given, slot: Hashable = None) -> None:
        self._outside.inbox.feed(node, given, slot=slot)

    def _admit(self, place: Place[Any], message: Any) -> Sequence[Problem]:
        if place.kind is topics.OBSERVATION:
            pairing = self._pairings.get(place.node)
            return problems(place.node, message, None if pairing is None else pairing.view)
        broken = rule_breaks(place.node, message)
        if place.kind is topics.WISH:
            return (*participant("topic", place.participant, outsider=False), *broken)
        return broken

    def _step(self, node: str, plan: Plan, given: Given | Tick, now: Now) -> tuple[Plan, Asked]:
        rules = self._outside.rules(node)
        return (Plan(), ()) if rules is None else decide(rules, plan, given, now)
