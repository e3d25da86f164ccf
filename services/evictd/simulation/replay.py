"""Deciding a recording again, by the same steps, and telling where the outcome is another one.

Each Pressure and each Decision is computed anew from what was received before it and compared with
the recorded one, `epoch` and `rev` aside. What a worker passed over, because something newer came
meanwhile, is passed over here too. Durations come from the boot clock of the recording; stamps from
the recorded messages. [design, laws 1, 4 and 12]
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, structs

from evictd.core.decision import Given, Judged, Ordered, Plan, decide
from evictd.core.effects import BusEffect, Publish, Tick, unstamped
from evictd.core.evaluation import Given as Evaluated
from evictd.core.evaluation import Observed, Recalled, Reclaimed, Watch, evaluate
from evictd.core.moments import Now
from evictd.core.observations import merge, problems, sequence_of
from evictd.core.protocol.vocabulary import PRESSURE_REQUESTERS
from evictd.core.rules import Rules
from evictd.evictor.inputs import answers_us, given_of
from evictd.evictor.recovery import Recovery
from evictd.shell.causes import UNREADABLE
from evictd.shell.configuration import rules_of
from evictd.simulation.recording import Line, Recording
from evictd_schemas import Decision, Observation, Pressure, topics
from evictd_schemas.configuration import Configuration
from evictd_schemas.topics import Place

VIEWS_MAX = 100
"""Observations of a node that are kept at hand; a worker that is further behind is broken."""
UNCOMPARED = frozenset({"epoch", "rev", "losses"})
"""Growth is measured between two counts, of which the first may be from before the recording; what
is decided by it is compared."""
DELAY_SECONDS_MAX = 60.0
"""A message whose own time is further from its receipt was stamped by another clock."""


class Difference(Struct, frozen=True, kw_only=True):
    """One message that came out otherwise."""

    line: int
    topic: str
    sequence: int
    what: tuple[str, ...]


class Report(Struct, frozen=True, kw_only=True):
    """What came of a replay. `compared`: messages by topic."""

    compared: dict[str, int]
    differences: tuple[Difference, ...]


def replay(recording: Recording, configuration: Configuration | None = None) -> Report:
    """Decide everything again, under the recorded configuration or under another one."""
    used = recording.head.configuration if configuration is None else configuration
    nodes: dict[str, _Node] = {}
    for number, line in enumerate(recording.lines, start=2):
        place = topics.place(line.topic)
        if place is not None:
            if place.node not in nodes:
                nodes[place.node] = _Node(rules_of(used, place.node))
            nodes[place.node].take(number, line, place)
    compared: dict[str, int] = {}
    for node in nodes.values():
        compared |= node.compared
    differences = [found for node in nodes.values() for found in node.differences]
    return Report(
        compared=compared, differences=tuple(sorted(differences, key=lambda item: item.line))
    )


class _Node:
    """Evaluator and evictor of one node, each fed with what the recording holds for it."""

    def __init__(self, rules: Rules) -> None:
        self.compared: dict[str, int] = {}
        self.differences: list[Difference] = []
        self._rules = rules
        self._watch, self._plan = Watch(), Plan()
        self._view: Observation | None = None
        self._looks: dict[int, tuple[Observation, Observation]] = {}
        self._live_pressure: Pressure | None = None
        self._pressure: Pressure | None = None
        """The one that the evictor judges: decided anew, as far as that could be done."""
        self._judged_at: tuple[int, int] = (-1, -1)
        self._decision: Decision | None = None
        self._decided: list[Decision] = []
        self._requests: dict[str, Any] = {}
        self._recovery: Recovery | None = Recovery()
        self._takers: dict[str, Callable[[int, Line, Place[Any], Any], None]] = {
            topics.OBSERVATION.path: self._observe,
            topics.PRESSURE.path: self._press,
            topics.DECISION.path: self._decide,
            topics.REQUEST.path: self._request,
        }

    def take(self, number: int, line: Line, place: Place[Any]) -> None:
        """One line; what cannot be read changed nothing then either."""
        message = None
        if line.content:
            try:
                message = msgspec.json.decode(line.content, type=place.kind.message)
            except UNREADABLE:
                return
        if not line.listed:
            self._recover(_received(line))
        taker = self._takers.get(place.kind.path)
        if taker is not None:
            taker(number, line, place, message)
        else:
            self._tell(line, place, message)

    def _recover(self, now: Now) -> None:
        """What the list held goes first, as after a start."""
        recovery, self._recovery = self._recovery, None
        if recovery is not None:
            for _, given in recovery.complete():
                self._step(given, now)

    def _observe(self, _number: int, line: Line, place: Place[Any], message: Any) -> None:
        if message is None or problems(place.node, message, self._view):
            return
        self._view = merge(self._view, message)
        self._looks[sequence_of(message)] = (message, self._view)
        while len(self._looks) > VIEWS_MAX:
            del self._looks[next(iter(self._looks))]
        if line.listed:
            self._evaluate(Observed(observation=message, listed=True), _received(line))

    def _press(self, number: int, line: Line, place: Place[Any], message: Any) -> None:
        if not isinstance(message, Pressure):
            return
        before, self._live_pressure = self._live_pressure, message
        if line.listed:
            self._pressure = message
            self._evaluate(Recalled(pressure=message), _received(line))
            return
        if before is not None and unstamped(before) == unstamped(message):
            said = self._pressure or message  # again, with a greater epoch or to an empty broker
            self._pressure = structs.replace(said, epoch=message.epoch, rev=message.rev)
            return
        if before is not None and message.epoch > before.epoch:
            self._watch = Watch()
            self._evaluate(Recalled(pressure=before), _received(line))
        now = _at(line, message.time)
        again = self._pressed(message, before, now)
        self._compare(number, place, message, again)
        self._pressure = structs.replace(again or message, epoch=message.epoch, rev=message.rev)
        if self._plan.reclaiming is not None:
            self._judge(self._pressure, now)

    def _pressed(self, live: Pressure, before: Pressure | None, now: Now) -> Pressure | None:
        """What the evaluator makes of the same observation, or of none for too long."""
        is_new = before is None or live.sequence > before.sequence
        look = self._looks.get(live.sequence)
        if not is_new or look is None:
            return self._evaluate(Tick(), now)
        return self._evaluate(Observed(observation=look[0]), now)

    def _decide(self, number: int, line: Line, place: Place[Any], message: Any) -> None:
        if not isinstance(message, Decision):
            return
        before, self._decision = self._decision, message
        if line.listed:
            if self._recovery is not None:
                self._recovery.decision(message)
            return
        if before is not None and unstamped(before) == unstamped(message):
            return
        now = _at(line, message.time)
        if before is not None and message.epoch > before.epoch:
            self._restart(before, now)
        self._compare(number, place, message, self._redecided(message, now))

    def _redecided(self, live: Decision, now: Now) -> Decision | None:
        """By what came between, else by the Pressure of its sequence, else by time alone."""
        if self._decided:
            return self._decided.pop(0)
        pressure = self._pressure
        if pressure is not None and self._is_unjudged(pressure):
            self._judge(pressure, now, live)
        if not self._decided:
            self._step(Tick(), now)
        return self._decided.pop(0) if self._decided else None

    def _is_unjudged(self, pressure: Pressure) -> bool:
        return (pressure.epoch, pressure.rev) > self._judged_at

    def _judge(self, pressure: Pressure, now: Now, live: Decision | None = None) -> None:
        """With the view of its sequence; a later one may have been there when it was judged."""
        self._judged_at = (pressure.epoch, pressure.rev)
        views = [
            view for sequence, (_, view) in self._looks.items() if sequence >= pressure.sequence
        ]
        plan = self._plan
        for view in views:
            given = Judged(pressure=pressure, observation=view)
            self._plan, effects = decide(self._rules, plan, given, now)
            found = list(_decisions(effects))
            if live is None or view is views[-1] or _same(found, live):
                self._decided += found
                return

    def _restart(self, before: Decision, now: Now) -> None:
        """A new life of the evictor finds its own words on the bus."""
        self._plan, self._decided = Plan(), []
        recovery = Recovery()
        recovery.decision(before)
        for topic, request in self._requests.items():
            recovery.request(topic, request)
        for _, given in recovery.complete():
            self._step(given, now)

    def _request(self, _number: int, line: Line, place: Place[Any], message: Any) -> None:
        """Ours, as they stand; asked for by a decision, and so no input."""
        if place.participant not in PRESSURE_REQUESTERS:
            return
        if message is None:
            self._requests.pop(line.topic, None)
        else:
            self._requests[line.topic] = message
            if line.listed and self._recovery is not None:
                self._recovery.request(line.topic, message)

    def _tell(self, line: Line, place: Place[Any], message: Any) -> None:
        """What others say; what is said of our own words waits behind those, as after a start."""
        given = given_of(line.topic, place, message)
        if given is None:
            return
        if isinstance(given, Ordered) and given.status is not None:
            self._evaluate(Reclaimed(status=given.status), _received(line))
        if line.listed and answers_us(given) and self._recovery is not None:
            self._recovery.status(line.topic, given)
        else:
            self._step(given, _received(line))

    def _evaluate(self, given: Evaluated, now: Now) -> Pressure | None:
        self._watch, effects = evaluate(self._rules, self._watch, given, now)
        for effect in effects:
            if isinstance(effect, Publish) and isinstance(effect.message, Pressure):
                return effect.message
        return None

    def _step(self, given: Given | Tick, now: Now) -> None:
        self._plan, effects = decide(self._rules, self._plan, given, now)
        self._decided += _decisions(effects)

    def _compare(
        self,
        number: int,
        place: Place[Any],
        live: Pressure | Decision,
        again: Pressure | Decision | None,
    ) -> None:
        topic = place.kind.at(place.node)
        self.compared[topic] = self.compared.get(topic, 0) + 1
        what = ("nothing was decided",) if again is None else tuple(_differing(live, again))
        if what:
            self.differences.append(
                Difference(line=number, topic=topic, sequence=live.sequence, what=what)
            )


def _received(line: Line) -> Now:
    return Now(boot_seconds=line.boot_seconds, utc=line.time)


def _at(line: Line, time: datetime) -> Now:
    """The moment at which the worker stamped a message, on the recording's boot clock."""
    delay_seconds = (line.time - time).total_seconds()
    if not 0 <= delay_seconds <= DELAY_SECONDS_MAX:
        delay_seconds = 0.0
    return Now(boot_seconds=line.boot_seconds - delay_seconds, utc=time)


def _decisions(effects: tuple[BusEffect, ...]) -> Iterator[Decision]:
    for effect in effects:
        if isinstance(effect, Publish) and isinstance(effect.message, Decision):
            yield effect.message


def _same(found: list[Decision], live: Decision) -> bool:
    return bool(found) and not any(_differing(live, found[0]))


def _differing(live: Struct, again: Struct) -> Iterator[str]:
    """Field by field, as on the wire."""
    for name, wire in zip(live.__struct_fields__, live.__struct_encode_fields__, strict=True):
        one, other = getattr(live, name), getattr(again, name)
        if name not in UNCOMPARED and one != other:
            yield f"{wire}: live {_text(one)}, replayed {_text(other)}"


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
