"""Playing a scenario on virtual time: what the evaluator and the evictor decide, step by step.

Only the core's own steps decide. The world around them is as simple as it can be: whoever is asked
to go goes, in its own time; an order gives back what the scenario says; nobody else acts. Nothing
waits: time is a number. [design, law 1]
"""

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_OID, uuid5

from msgspec import Struct

from evictd.core.cleanup import wait_seconds
from evictd.core.decision import Answered, Fallen, Ordered, Wished
from evictd.core.decision.plan import WITHDRAWN
from evictd.core.decision.pods import critical, qos_class
from evictd.core.decision.reclaim import ORDER_NAME as RECLAIM
from evictd.core.decision.restore import ORDER_NAME as RESTORE
from evictd.core.effects import BusEffect, Emit, Publish, Tick, WakeAt
from evictd.core.moments import Now
from evictd.core.observations import problems
from evictd.core.pod_admission import admits
from evictd.core.signals.names import ConditionType
from evictd.shell.configuration import ConfigurationError, Problem
from evictd.simulation.cast import Cast, name_of, pod_of
from evictd.simulation.chronicle import Chronicle, Turn
from evictd.simulation.joined import Joined, sent
from evictd.simulation.scenario import Figure, PodForm, Scenario, Step
from evictd.simulation.summaries import notifier_levels, pods_of_summary
from evictd_schemas import (
    Condition,
    Decision,
    EvictionRequest,
    EvictionRequestSpec,
    Moment,
    Observation,
    Order,
    OrderStatus,
    PodReference,
    RequestStatus,
    StepOutcome,
    Stopped,
    topics,
)
from evictd_schemas.topics import Role

START = datetime(2026, 1, 1, tzinfo=UTC)
BOOT_SECONDS = 1000.0
"""The machine has been up for a while when a story begins."""
GRACE_SECONDS = 30
"""What a workload gets that names no grace of its own: the default of Kubernetes."""
REPLIES_MAX = 100
"""Of the world within one step; a reclaim and its re-check are one."""


class Stop(Struct, frozen=True, kw_only=True):
    """One stop under way."""

    topic: str
    pod: PodReference
    signal: str | None
    due_seconds: float
    fails: bool


def play(scenario: Scenario) -> tuple[Turn, ...]:
    """All turns in order. Raises `ConfigurationError` for an observation that nobody would take,
    at the place of its step."""
    stage = Stage(scenario)
    for step in scenario.steps:
        for _ in range(step.form.times):
            stage.play(step)
    return tuple(stage.chronicle.turns)


class Stage:
    """One node, its clock, its pods, and what the world does about the decisions."""

    def __init__(self, scenario: Scenario) -> None:
        self.chronicle = Chronicle()
        self._scenario = scenario
        self._rules = scenario.rules
        self._joined = Joined(scenario.rules, self._perform)
        self._cast = Cast(scenario.settings_for)
        self._figures: dict[str, Figure] = {}
        self._layout = scenario.layout
        self._seconds = self._wall_seconds = 0.0
        self._boots, self._booted_at_seconds = 1, -BOOT_SECONDS
        self._sequence = 0
        self._stops: list[Stop] = []
        self._wakes: dict[Role, float] = {}
        self._replies: deque[Callable[[], None]] = deque()
        self._stops_take: list[float | None] = []
        self._step = scenario.steps[0] if scenario.steps else None
        for entry in scenario.pods:
            self._cast.take(entry)

    @property
    def now(self) -> Now:
        """The worker's own clock."""
        utc = START + timedelta(seconds=self._seconds + self._wall_seconds)
        return Now(boot_seconds=BOOT_SECONDS + self._seconds, utc=utc)

    @property
    def _moment(self) -> Moment:
        """The same as observations have it."""
        return Moment(
            time=self.now.utc,
            boot_id=f"boot-{self._boots}",
            uptime_seconds=self._seconds - self._booted_at_seconds,
        )

    def play(self, step: Step) -> None:
        """Time passes, things change, somebody looks."""
        at = step.at_seconds
        self._advance(self._seconds + step.after_seconds if at is None else at)
        before = len(self.chronicle.turns)
        self._step, self._stops_take = step, []
        self._arrange(step)
        if step.form.observe:
            self._look(step)
        self._settle()
        self._end_what_is_due()
        if len(self.chronicle.turns) == before:
            self.chronicle.turn(self._seconds, self._joined, None)
        self.chronicle.add_rest()
        self._close(step, before)

    def _advance(self, seconds: float) -> None:
        """To that time, by way of whatever is due before it."""
        while (due := self._next_due(seconds)) is not None:
            before = len(self.chronicle.turns)
            self._seconds = max(self._seconds, due)
            self._end_what_is_due()
            for role in [role for role, wake in self._wakes.items() if wake <= self._seconds]:
                del self._wakes[role]
                self._tick(role)
            self._settle()
            if self.chronicle.waiting and len(self.chronicle.turns) > before:
                self.chronicle.add_rest()
            elif self.chronicle.waiting:
                self.chronicle.turn(self._seconds, self._joined, None)
        self._seconds = max(self._seconds, seconds)

    def _next_due(self, seconds: float) -> float | None:
        times = [stop.due_seconds for stop in self._stops] + list(self._wakes.values())
        return min((time for time in times if time <= seconds), default=None)

    def _tick(self, role: Role) -> None:
        if role is Role.EVALUATOR:
            self._joined.evaluate(Tick(), self.now)
        else:
            self._joined.tell(Tick(), self.now)

    def _arrange(self, step: Step) -> None:
        """What the step changes before anybody looks."""
        form = step.form
        self._wall_seconds += step.wall_seconds
        if form.reboot:
            self._boots += 1
            self._booted_at_seconds = self._seconds
        self._layout = step.layout or self._layout
        self._figures = {**({} if step.whole else self._figures), **step.figures}
        for signal in form.without:
            self._figures.pop(signal, None)
        self._cast_step(step)
        for name, wish in form.wishes.items():
            topic = topics.WISH.at(
                self._rules.node, domain="evictd.io", key="simulation", name=name
            )
            self._joined.tell(Wished(topic=topic, wish=wish), self.now)

    def _cast_step(self, step: Step) -> None:
        if step.pods_whole:
            self._cast.replace(step.pods)
        summed = [] if step.summary is None else pods_of_summary(step.summary, self._cast.entries)
        for entry in (*summed, *step.pods):
            self._cast.take(entry)
        for text in step.form.gone:
            name = self._cast.find(text)
            if name is None:
                raise _refusal(step, "gone", f"there is no pod {text!r}")
            del self._cast.entries[name]

    def _look(self, step: Step) -> None:
        """A collector looks; a second look at one moment is a microsecond later."""
        self._sequence += 1
        moment = self._moment
        utc = moment.time + timedelta(microseconds=self._sequence)
        observation = Observation(
            node=self._rules.node,
            time=utc,
            sequence=self._sequence,
            boot_id=moment.boot_id,
            uptime_seconds=moment.uptime_seconds,
            interval_seconds=self._scenario.interval_seconds,
            layout=self._layout,
            signals={name: figure.reading(utc) for name, figure in self._figures.items()},
            pods=self._cast.pods(),
            pods_complete=step.pods_complete,
        )
        for problem in problems(self._rules.node, observation, self._joined.view):
            raise _refusal(step, problem.field, problem.reason)
        self._joined.observe(observation, self.now)

    def _perform(self, role: Role, effect: BusEffect, now: Now) -> None:
        """What the world makes of an effect; it replies when the step is over."""
        match effect:
            case Publish(message=Decision() as decision):
                self.chronicle.turn(self._seconds, self._joined, decision)
            case Publish(topic=topic, message=EvictionRequest() as request):
                self._request(topic, request)
            case Publish(message=Order() as order):
                self.chronicle.ordered(order)
                self._replies.append(lambda: self._order(order))
            case Emit(event=event):
                self.chronicle.emitted(event)
            case WakeAt(boot_seconds=boot_seconds) if boot_seconds > now.boot_seconds:
                self._wakes[role] = boot_seconds - BOOT_SECONDS
            case _:
                pass

    def _settle(self) -> None:
        """All replies, and those to what they lead to."""
        for _ in range(REPLIES_MAX):
            if not self._replies:
                return
            self._replies.popleft()()
        self._replies.clear()

    def _request(self, topic: str, request: EvictionRequest) -> None:
        """A dry one ends at once, a real one when the pod has stopped."""
        spec, target = request.spec, request.spec.target.pod
        if target is None:
            return
        namespace = request.metadata.namespace
        pod = PodReference(namespace=namespace, name=target.name, uid=target.uid)
        self.chronicle.asked(pod, request)
        under_way = next((stop for stop in self._stops if stop.topic == topic), None)
        self._stops = [stop for stop in self._stops if stop is not under_way]
        if spec.intent == WITHDRAWN:
            self._replies.append(lambda: self._answer(topic, "CanceledDueToNoRequesters"))
        elif spec.dry_run:
            self._replies.append(lambda: self._answer(topic, "DryRun"))
        else:
            stop = self._stop(topic, pod, spec)
            if under_way is not None and under_way.due_seconds < stop.due_seconds:
                stop = under_way  # asked again; a stop only gets shorter
            self._stops.append(stop)

    def _stop(self, topic: str, pod: PodReference, spec: EvictionRequestSpec) -> Stop:
        grace_seconds = spec.grace_period_seconds
        signal = None if spec.reason is None else spec.reason.signal
        form = self._cast.form(pod) or PodForm(name=pod.name)
        own = form.termination_grace_period_seconds
        if grace_seconds is None:
            grace_seconds = GRACE_SECONDS if own is None else own
        took = grace_seconds if form.stop_fails else min(form.stop_seconds, grace_seconds)
        self._stops_take.append(None if form.stop_fails else took)
        due_seconds = self._seconds + took
        return Stop(
            topic=topic,
            pod=pod,
            signal=signal,
            due_seconds=due_seconds,
            fails=form.stop_fails,
        )

    def _end_what_is_due(self) -> None:
        """The grace is over, or the pod was quicker."""
        for stop in [stop for stop in self._stops if stop.due_seconds <= self._seconds]:
            self._stops.remove(stop)
            if stop.fails:
                self.chronicle.happened(f"{name_of(stop.pod)} does not go")
                self._answer(stop.topic, "NoFurtherResponder")
            else:
                stopped = self._stopped(stop)
                self._cast.leave(stop.pod)
                self.chronicle.happened(f"{name_of(stop.pod)} is gone")
                self._answer(stop.topic, "PodDeleted", kind="TargetEvicted")
                self._fall(stop.pod, stopped)

    def _stopped(self, stop: Stop) -> Stopped | None:
        """The responder's record of one that it stops; None where it is gone already."""
        pod = self._cast.find_pod(stop.pod)
        if pod is None:
            return None
        memory = None if pod.stats is None else pod.stats.memory
        return Stopped(
            uid=pod.uid,
            time=self.now.utc,
            signal=stop.signal,
            restore=pod.restore,
            last_usage=None if memory is None else memory.working_set_bytes,
            depends_on=pod.depends_on,
        )

    def _fall(self, pod: PodReference, stopped: Stopped | None) -> None:
        """What is down because of evictd, or (None) is not any more."""
        given = Fallen(namespace=pod.namespace, name=pod.name, stopped=stopped)
        self._joined.tell(given, self.now)

    def _answer(self, topic: str, reason: str, kind: str = "Failed") -> None:
        """The controller's last word."""
        status = RequestStatus(
            uid=str(uuid5(NAMESPACE_OID, f"{topic} {self._seconds} {reason}")),
            generation=1,
            creation_timestamp=self.now.utc,
            conditions=(Condition(type=kind, status="True", reason=reason),),
        )
        self._joined.tell(Answered(topic=topic, status=sent(status)), self.now)

    def _order(self, order: Order) -> None:
        """The responder does what it is told, and the collector looks again."""
        step = self._step
        if step is None or (step.form.reclaim is not None and step.form.reclaim.silent):
            return
        if order.target is not None:
            self._start(order, order.target)
            return
        freed = 0 if order.dry_run else self._give_back(step, order.signal or "")
        error = None if step.form.reclaim is None else step.form.reclaim.error
        outcomes = tuple(
            StepOutcome(step=name, freed_bytes=0 if index else freed, error=error)
            for index, name in enumerate(order.steps)
        )
        self._report(order, RECLAIM, "Refused" if order.dry_run else "Finished", outcomes)
        if not order.dry_run:
            self._look(step)

    def _start(self, order: Order, pod: PodReference) -> None:
        """One that was stopped runs again."""
        began = self._cast.come_back(pod)
        self._report(order, RESTORE, "Finished" if began else "Failed")
        if began:
            self._fall(pod, None)

    def _report(
        self, order: Order, name: str, state: str, steps: tuple[StepOutcome, ...] = ()
    ) -> None:
        """The responder's word about an order; evaluator and evictor both read it."""
        status = OrderStatus(order_uid=order.uid, state=state, steps=steps, finished=self._moment)
        self._joined.reclaimed(status, self.now)
        self._joined.tell(Ordered(name=name, status=sent(status)), self.now)

    def _give_back(self, step: Step, signal: str) -> int:
        before = self._figures.get(signal)
        self._figures = {**self._figures, **step.reclaimed}
        after = self._figures.get(signal)
        return 0 if before is None or after is None else int(after.available - before.available)

    def _close(self, step: Step, before: int) -> None:
        """What is told once a step: the note with its first turn, the rest with its last."""
        turns = self.chronicle.turns
        self.chronicle.mark(before, note=step.form.note)
        held = [ConditionType(name) for name in turns[-1].conditions]
        pods = [pod_of(entry) for entry in self._scenario.admission_pods]
        self.chronicle.mark(
            -1,
            cleanup_seconds=wait_seconds(self._stops_take) if self._stops_take else None,
            admission={
                name_of(pod): admits(held, pod, critical=critical(pod), qos_class=qos_class(pod))
                for pod in pods
            },
            notifiers={}
            if step.summary is None
            else dict(notifier_levels(self._rules, step.summary)),
        )


def _refusal(step: Step, field: str, reason: str) -> ConfigurationError:
    return ConfigurationError([Problem(place=step.place, path=(), text=f"{field}: {reason}")])
