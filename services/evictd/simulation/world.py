"""Everybody but evaluator and evictor, as simple as can be.

Who is asked to go goes, in its own time; what is ordered is done. Nobody here decides anything
about pressure.
"""

from collections import deque
from collections.abc import Callable
from uuid import NAMESPACE_OID, uuid5

from msgspec import Struct

from evictd.core.decision import Answered, Fallen, Ordered
from evictd.core.decision.forgetting import ORDER_NAME as FORGET
from evictd.core.decision.reclaim import ORDER_NAME as RECLAIM
from evictd.core.decision.restore import ORDER_NAME as RESTORE
from evictd.core.orders import OrderKind, OrderState
from evictd.core.pods import DEFAULT_GRACE_SECONDS
from evictd.core.protocol.vocabulary import Cause, ConditionType, Intent, Status
from evictd.core.signals.names import Resource, resource_of
from evictd.core.usage import held_bytes, held_processes
from evictd.core.ways import Way, restartable
from evictd.simulation.cast import Cast, name_of
from evictd.simulation.chronicle import Chronicle
from evictd.simulation.joined import Joined, sent
from evictd.simulation.scenario import PodForm, ReclaimForm
from evictd.simulation.virtual_time import VirtualTime
from evictd_schemas import (
    Condition,
    EvictionRequest,
    EvictionRequestSpec,
    Order,
    OrderStatus,
    PodReference,
    RequestStatus,
    StepOutcome,
    Stopped,
)

REPLIES_MAX = 100
"""Within one step; a reclaim and its re-check are one."""

GiveBack = Callable[[str], int]
"""Put the figures after a reclaim for this signal in force; by how much it rose."""


class Stop(Struct, frozen=True, kw_only=True):
    """One stop under way."""

    topic: str
    pod: PodReference
    signal: str | None
    due_seconds: float
    fails: bool
    restartable: bool = False


class World:
    """Controller, responder and the machine of one node.

    It replies to what it is told only when it is asked to (`settle`), so that a decision is
    complete before anything comes of it. `reclaim`: what the present step says of reclaims.
    `stops_take`: how long each stop that began in the step takes, None: for ever.
    """

    def __init__(self, joined: Joined, cast: Cast, chronicle: Chronicle, time: VirtualTime) -> None:
        self._joined = joined
        self._cast = cast
        self._chronicle = chronicle
        self._time = time
        self._stops: list[Stop] = []
        self._replies: deque[Callable[[], None]] = deque()
        self.reclaim = ReclaimForm()
        self.stops_take: list[float | None] = []

    @property
    def due_seconds(self) -> list[float]:
        """When stops end."""
        return [stop.due_seconds for stop in self._stops]

    def settle(self) -> None:
        """All replies, and those to what they lead to."""
        for _ in range(REPLIES_MAX):
            if not self._replies:
                return
            self._replies.popleft()()
        self._replies.clear()

    def request(self, topic: str, request: EvictionRequest) -> None:
        """A dry one ends at once, a real one when the pod has stopped."""
        spec, target = request.spec, request.spec.target.pod
        if target is None:
            return
        namespace = request.metadata.namespace
        pod = PodReference(namespace=namespace, name=target.name, uid=target.uid)
        self._chronicle.asked(pod, request)
        under_way = next((stop for stop in self._stops if stop.topic == topic), None)
        self._stops = [stop for stop in self._stops if stop is not under_way]
        if spec.intent == Intent.WITHDRAWN:
            self._replies.append(lambda: self._answer(topic, Cause.CANCELED))
        elif spec.dry_run:
            self._replies.append(lambda: self._answer(topic, Cause.DRY_RUN))
        else:
            stop = self._stop(topic, pod, spec)
            if under_way is not None and under_way.due_seconds < stop.due_seconds:
                stop = under_way  # asked again; a stop only gets shorter
            self._stops.append(stop)

    def end_what_is_due(self) -> None:
        """The grace is over, or the pod was quicker."""
        for stop in [stop for stop in self._stops if stop.due_seconds <= self._time.seconds]:
            self._stops.remove(stop)
            if stop.fails:
                self._chronicle.happened(f"{name_of(stop.pod)} does not go")
                self._answer(stop.topic, Cause.NO_FURTHER_RESPONDER)
            else:
                self._end(stop)

    def _end(self, stop: Stop) -> None:
        """It has gone, and is down because of us unless it is to be restarted."""
        stopped, restarts = self._stopped(stop), self._restarts(stop)
        self._cast.leave(stop.pod)
        self._chronicle.happened(f"{name_of(stop.pod)} is gone")
        if restarts and self._cast.come_back(stop.pod):
            self._chronicle.happened(f"{name_of(stop.pod)} is started again")
            stopped = None
        self._answer(stop.topic, Cause.POD_DELETED, kind=ConditionType.TARGET_EVICTED)
        self._fall(stop.pod, stopped)

    def _restarts(self, stop: Stop) -> bool:
        """As the responder does it. [duty]"""
        pod = self._cast.find_pod(stop.pod)
        return pod is not None and pod.action == Way.RESTART and stop.restartable

    def order(self, order: Order, give_back: GiveBack, look: Callable[[], None]) -> None:
        """The responder will do what it is told, and the collector look again."""
        self._chronicle.ordered(order)
        target = order.target
        if order.kind == OrderKind.FORGET and target is not None:
            self._replies.append(lambda: self._forget(order, target))
        elif target is not None:
            self._replies.append(lambda: self._start(order, target))
        elif not self.reclaim.silent:
            self._replies.append(lambda: self._reclaim(order, give_back, look))

    def _reclaim(self, order: Order, give_back: GiveBack, look: Callable[[], None]) -> None:
        """Nothing unless the mode is act."""
        freed = 0 if order.dry_run else give_back(order.signal or "")
        inodes = resource_of(order.signal or "") is Resource.INODES
        outcomes = tuple(
            StepOutcome(
                step=name,
                freed_bytes=0 if index or inodes else freed,
                freed_inodes=0 if index or not inodes else freed,
                error=self.reclaim.error,
            )
            for index, name in enumerate(order.steps)
        )
        self._report(
            order, RECLAIM, OrderState.REFUSED if order.dry_run else OrderState.FINISHED, outcomes
        )
        if not order.dry_run:
            look()

    def _start(self, order: Order, pod: PodReference) -> None:
        """One that was stopped runs again."""
        began = self._cast.come_back(pod)
        self._report(order, RESTORE, OrderState.FINISHED if began else OrderState.FAILED)
        if began:
            self._fall(pod, None)

    def _forget(self, order: Order, pod: PodReference) -> None:
        """Its record goes, and it stays down."""
        self._fall(pod, None)
        self._report(order, FORGET, OrderState.FINISHED)

    def _report(
        self, order: Order, name: str, state: str, steps: tuple[StepOutcome, ...] = ()
    ) -> None:
        """The responder's word about an order; evaluator and evictor both read it."""
        status = OrderStatus(
            order_uid=order.uid, state=state, steps=steps, finished=self._time.moment
        )
        self._joined.reclaimed(status, self._time.now)
        self._joined.tell(Ordered(name=name, status=sent(status)), self._time.now)

    def _stop(self, topic: str, pod: PodReference, spec: EvictionRequestSpec) -> Stop:
        form = self._cast.form(pod) or PodForm(name=pod.name)
        own, grace_seconds = form.termination_grace_period_seconds, spec.grace_period_seconds
        if grace_seconds is None:
            grace_seconds = DEFAULT_GRACE_SECONDS if own is None else own
        took = grace_seconds if form.stop_fails else min(form.stop_seconds, grace_seconds)
        self.stops_take.append(None if form.stop_fails else took)
        return Stop(
            topic=topic,
            pod=pod,
            signal=None if spec.reason is None else spec.reason.signal,
            due_seconds=self._time.seconds + took,
            fails=form.stop_fails,
            restartable=restartable(spec.reason),
        )

    def _stopped(self, stop: Stop) -> Stopped | None:
        """The responder's record of one that it stops; None where it is gone already."""
        pod = self._cast.find_pod(stop.pod)
        if pod is None:
            return None
        return Stopped(
            uid=pod.uid,
            time=self._time.now.utc,
            signal=stop.signal,
            restore=pod.restore,
            last_usage=held_bytes(pod.stats),
            last_processes=held_processes(pod.stats),
            depends_on=pod.depends_on,
            group=pod.group,
        )

    def _fall(self, pod: PodReference, stopped: Stopped | None) -> None:
        """What is down because of evictd, or (None) is not any more."""
        given = Fallen(namespace=pod.namespace, name=pod.name, stopped=stopped)
        self._joined.tell(given, self._time.now)

    def _answer(self, topic: str, reason: str, kind: str = ConditionType.FAILED) -> None:
        """The controller's last word."""
        status = RequestStatus(
            uid=str(uuid5(NAMESPACE_OID, f"{topic} {self._time.seconds} {reason}")),
            generation=1,
            creation_timestamp=self._time.now.utc,
            conditions=(Condition(type=kind, status=Status.TRUE, reason=reason),),
        )
        self._joined.tell(Answered(topic=topic, status=sent(status)), self._time.now)
