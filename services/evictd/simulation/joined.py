"""Evaluator and evictor of one node, joined by nothing but the encoded messages of the contract.

Simulation, replay and the conformance tests drive the decisions through this room. It has no clock
and no bus: each moment is handed in, and each effect is handed out, at once and in order, to
whoever plays the rest of the world. [design, laws 1 and 4]
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from evictd.core.decision import Given, Judged, Plan, decide
from evictd.core.effects import BusEffect, Publish, Tick
from evictd.core.evaluation import Given as Evaluated
from evictd.core.evaluation import Observed, Reclaimed, Watch, evaluate
from evictd.core.moments import Now
from evictd.core.observations import merge, sequence_of
from evictd.core.rules import Rules
from evictd_schemas import Observation, OrderStatus, Pressure
from evictd_schemas.topics import Role

M = TypeVar("M")

Perform = Callable[[Role, BusEffect, Now], None]
"""What the world makes of one effect; it may answer into the same node before it returns."""

EPOCH = 1
"""A joined pair has one life."""


class Joined:
    """One node. `watch` and `plan` are the states, `pressure` and `view` what was last said."""

    def __init__(self, rules: Rules, perform: Perform) -> None:
        self.rules = rules
        self.watch, self.plan = Watch(), Plan()
        self.view: Observation | None = None
        self.pressure: Pressure | None = None
        self._perform = perform
        self._rev = 0

    def observe(self, observation: Observation, now: Now) -> None:
        """An observation goes all the way."""
        arrived = sent(observation)
        self.view = merge(self.view, arrived)
        self.evaluate(Observed(observation=arrived), now)

    def reclaimed(self, status: OrderStatus, now: Now) -> None:
        """The evaluator reads the statuses of orders too."""
        self.evaluate(Reclaimed(status=sent(status)), now)

    def evaluate(self, given: Evaluated, now: Now) -> None:
        """One step of the evaluator; the evictor takes the Pressure that comes of it."""
        self.watch, effects = evaluate(self.rules, self.watch, given, now)
        for effect in effects:
            if isinstance(effect, Publish) and isinstance(effect.message, Pressure):
                self._press(effect.topic, effect.message, now)
            else:
                self._perform(Role.EVALUATOR, effect, now)

    def tell(self, given: Given | Tick, now: Now) -> None:
        """One step of the evictor."""
        self.plan, effects = decide(self.rules, self.plan, given, now)
        for effect in effects:
            self._perform(Role.EVICTOR, effect, now)

    def _press(self, topic: str, pressure: Pressure, now: Now) -> None:
        """As the publisher stamps it; judged with a view of its sequence or later."""
        self._rev += 1
        self.pressure = sent(msgspec.structs.replace(pressure, epoch=EPOCH, rev=self._rev))
        self._perform(Role.EVALUATOR, Publish(topic=topic, message=self.pressure), now)
        if self.view is not None and sequence_of(self.view) >= self.pressure.sequence:
            self.tell(Judged(pressure=self.pressure, observation=self.view), now)


def sent(message: M) -> M:
    """What arrives of a message."""
    return msgspec.json.decode(msgspec.json.encode(message), type=type(message))
