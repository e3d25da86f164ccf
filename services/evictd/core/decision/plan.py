"""What the evictor remembers of one node between two inputs.

A small value, rebuilt after a restart from its own Decision and requests. [design, laws 1, 5, 7]
"""

from datetime import datetime
from typing import TypeAlias, TypeVar

from msgspec import Struct, structs

from evictd.core.decision.failures import Failure, Victim
from evictd.core.decision.growth import Writing
from evictd.core.decision.inputs import Judged
from evictd.core.decision.past import History
from evictd.core.decision.returns import Returns
from evictd.core.effects import BusEffect
from evictd.core.holds import hold_on
from evictd.core.moments import Now
from evictd.core.protocol.vocabulary import Intent, RequestType
from evictd.core.signals.names import Resource, resource_of
from evictd.core.wording import name_text
from evictd_schemas import (
    Decision,
    EvictionRequest,
    Layout,
    Loss,
    Moment,
    OrderStatus,
    Pod,
    PodReference,
    Pressure,
    ReclaimOutcome,
    ThresholdStatus,
    Wish,
    WishAnswer,
)

V = TypeVar("V")

ENTRIES_MAX = 1_000
"""Entries of a map that others fill, such as wishes; the oldest are forgotten."""


class OwnRequest(Struct, frozen=True, kw_only=True):
    """A request of ours that stands on the bus.

    `asked_boot_seconds` is when it took its present type. `finished`: its dry Eviction has ended,
    it stays until the signal has cleared. `gone`: the target is no longer there. `following`: who
    goes after it, because they go only together. `tightened`: it was no hard one at first.
    """

    topic: str
    request: EvictionRequest
    pod: PodReference
    asked_boot_seconds: float
    finished: bool = False
    gone: bool = False
    following: tuple[PodReference, ...] = ()
    tightened: bool = False

    @property
    def signal(self) -> str:
        """The signal under which it was made."""
        reason = self.request.spec.reason
        return "" if reason is None else reason.signal or ""

    @property
    def resource(self) -> Resource | None:
        """What it was to relieve; None for a limit of the pod's own."""
        return resource_of(self.signal)

    @property
    def hard(self) -> bool:
        return self.request.spec.type == RequestType.HARD

    @property
    def dry_run(self) -> bool:
        return self.request.spec.dry_run

    @property
    def withdrawn(self) -> bool:
        return self.request.spec.intent == Intent.WITHDRAWN

    @property
    def name(self) -> str:
        """`{domain}/{key}/{namespace}/{name}`, as the Decision lists it."""
        spec, metadata = self.request.spec, self.request.metadata
        return f"{spec.requester}/{metadata.namespace}/{metadata.name}"


class Following(Struct, frozen=True, kw_only=True):
    """Who goes next because the pod `after` whom they come has gone, in this order.

    `topic`: where its request stands until they had their turn.
    """

    topic: str
    pods: tuple[PodReference, ...]
    after: PodReference
    signal: str
    hard: bool


class Reclaiming(Struct, frozen=True, kw_only=True):
    """An order to give something back is under way, in the middle of a pass.

    `given` is the pass that it interrupts and `fresh` its thresholds in order of priority; None and
    empty after a restart. `sequence`: the re-check needs a later one. `latest`: what was judged
    last meanwhile. `dry_run`: it only asks what would be given back.
    """

    order_uid: str
    signal: str
    sequence: int
    deadline_boot_seconds: float
    dry_run: bool = False
    given: Judged | None = None
    fresh: tuple[ThresholdStatus, ...] = ()
    outcome: OrderStatus | None = None
    latest: Judged | None = None


class Instant(Struct, frozen=True, kw_only=True):
    """One instant on both clocks: that of the observations and the worker's own."""

    moment: Moment | None
    boot_seconds: float


class Plan(Struct, frozen=True, kw_only=True):
    """One node. Maps are bounded by what the node lists: pods, Evictions, signals, wishes.

    `judged`: observation times that a pass has used up, by signal. `handled`: order of the last
    Pressure taken. `leaving`: name of a running Eviction to its target's uid. `failed`: who is
    passed over, by name. `victims`: who has gone lately, by name. `following`: who goes with one
    that has gone. `gone`: when the last victim was
    gone. `exhausted`: signal to when nobody was left to evict. `announced`: signal to the crossing
    that was told.
    `clear_since`: signal to when none of its thresholds was met any more. `spent`: topic to the uid
    of the request whose end has been dealt with. `writing`: what everybody held at which
    count, where that decides, and `losses`: what follows from it.
    `relieved`: disk signal to the one workload that was stopped for this crossing.
    `fruitless`: signal to the reclaim steps that gave nothing back, and when. `reclaimed`: what
    came of the last order for each signal that is short.
    `history`: when workloads were evicted, by name. `warned`: signal that was short already when
    acting began to the boot time from which it is acted on. `told_to_act`: the owner said so when a
    Pressure was judged last. `returns`: what is down because of us. `answers`: what has become of
    each wish, by topic.
    """

    judged: dict[str, datetime] = {}
    handled: tuple[int, int, int] = (-1, -1, -1)
    layout: Layout | None = None
    observed: Moment | None = None
    own: tuple[OwnRequest, ...] = ()
    leaving: dict[str, str] = {}
    failed: dict[str, Failure] = {}
    victims: dict[str, Victim] = {}
    following: tuple[Following, ...] = ()
    wishes: dict[str, Wish] = {}
    answers: dict[str, WishAnswer] = {}
    reclaiming: Reclaiming | None = None
    gone: Instant | None = None
    exhausted: dict[str, float] = {}
    announced: dict[str, str] = {}
    clear_since: dict[str, Moment] = {}
    spent: dict[str, str] = {}
    writing: Writing | None = None
    losses: tuple[Loss, ...] = ()
    relieved: dict[str, PodReference] = {}
    fruitless: dict[str, dict[str, float]] = {}
    reclaimed: dict[str, ReclaimOutcome] = {}
    history: History = {}
    warned: dict[str, float] = {}
    told_to_act: bool = False
    returns: Returns = Returns()
    decision: Decision | None = None

    def request(self, topic: str) -> OwnRequest | None:
        """Our request on that topic."""
        return next((own for own in self.own if own.topic == topic), None)

    def hold(self, pod: Pod | PodReference, *, hard: bool, now: Now) -> Wish | None:
        """The Hold of a person that keeps it from being asked to go."""
        return hold_on(self.wishes.values(), name_text(pod), hard=hard, utc=now.utc)

    def with_request(self, request: OwnRequest) -> "Plan":
        """With one more request, or a newer version of it in its place."""
        others = tuple(own for own in self.own if own.topic != request.topic)
        return structs.replace(self, own=(*others, request))

    def without_request(self, topic: str) -> "Plan":
        """Without that request."""
        return structs.replace(self, own=tuple(own for own in self.own if own.topic != topic))

    def as_told(self, decision: Decision | None) -> "Plan":
        """For who only reads: with the growth that a Decision tells.

        Who decides counts anew after a restart: what was written before may be long over.
        """
        return self if decision is None else structs.replace(self, losses=decision.losses)


Step: TypeAlias = tuple[Plan, tuple[BusEffect, ...]]


def with_returns(plan: Plan, step: tuple[Returns, tuple[BusEffect, ...]]) -> Step:
    """The same with what is down because of us as such a step leaves it."""
    returns, effects = step
    return structs.replace(plan, returns=returns), effects


def newest(entries: dict[str, V]) -> dict[str, V]:
    """The last `ENTRIES_MAX` of a map that others fill."""
    return dict(list(entries.items())[-ENTRIES_MAX:])


def order_of(pressure: Pressure) -> tuple[int, int, int]:
    """Of two Pressures the later one has the greater. [contract 1, Order]"""
    return (pressure.epoch, pressure.rev, pressure.sequence)
