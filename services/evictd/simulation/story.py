"""Playing a scenario on virtual time: what the evaluator and the evictor decide, step by step.

Only the core's own steps decide; the `world` around them does as it is told. Nothing waits: time is
a number. [design, law 1]
"""

from datetime import timedelta
from functools import partial

from evictd.core.cleanup import wait_seconds
from evictd.core.decision import Wished
from evictd.core.effects import BusEffect, Emit, Publish, Tick, WakeAt
from evictd.core.moments import Now
from evictd.core.observations import problems
from evictd.core.pod_admission import admits
from evictd.core.pods import critical, qos_class
from evictd.core.signals.names import ConditionType
from evictd.shell.configuration import ConfigurationError, Problem
from evictd.simulation.cast import Cast, name_of, pod_of
from evictd.simulation.chronicle import Chronicle, Turn
from evictd.simulation.joined import Joined
from evictd.simulation.scenario import Figure, ReclaimForm, Scenario, Step
from evictd.simulation.summaries import notifier_levels, pods_of_summary
from evictd.simulation.virtual_time import VirtualTime
from evictd.simulation.world import World
from evictd_schemas import Decision, EvictionRequest, Observation, Order, topics
from evictd_schemas.topics import Role


def play(scenario: Scenario) -> tuple[Turn, ...]:
    """All turns in order.

    Raises `ConfigurationError` for an observation that nobody would take, at the place of its step.
    """
    stage = Stage(scenario)
    for step in scenario.steps:
        for _ in range(step.form.times):
            stage.play(step)
    return tuple(stage.chronicle.turns)


class Stage:
    """One node, its clock, its pods and figures, and everybody who has to do with it."""

    def __init__(self, scenario: Scenario) -> None:
        self.chronicle = Chronicle()
        self._scenario = scenario
        self._rules = scenario.rules
        self._time = VirtualTime()
        self._cast = Cast(scenario.settings_for)
        self._joined = Joined(scenario.rules, self._perform)
        self._world = World(self._joined, self._cast, self.chronicle, self._time)
        self._figures: dict[str, Figure] = {}
        self._layout = scenario.layout
        self._sequence = 0
        self._wakes: dict[Role, float] = {}
        self._step: Step | None = None
        for entry in scenario.pods:
            self._cast.take(entry)

    def play(self, step: Step) -> None:
        """Time passes, things change, somebody looks."""
        at = step.at_seconds
        self._advance(self._time.seconds + step.after_seconds if at is None else at)
        before = len(self.chronicle.turns)
        self._step = step
        self._world.stops_take = []
        self._world.reclaim = step.form.reclaim or ReclaimForm()
        self._arrange(step)
        if step.form.observe:
            self._look(step)
        self._world.settle()
        self._world.end_what_is_due()
        if len(self.chronicle.turns) == before:
            self._turn(None)
        self.chronicle.add_rest()
        self._close(step, before)

    def _advance(self, seconds: float) -> None:
        """To that time, by way of whatever is due before it."""
        while (due := self._next_due(seconds)) is not None:
            before = len(self.chronicle.turns)
            self._time.advance(due)
            self._world.end_what_is_due()
            for role in [role for role, wake in self._wakes.items() if wake <= due]:
                del self._wakes[role]
                self._tick(role)
            self._world.settle()
            if self.chronicle.waiting and len(self.chronicle.turns) == before:
                self._turn(None)
            elif self.chronicle.waiting:
                self.chronicle.add_rest()
        self._time.advance(seconds)

    def _next_due(self, seconds: float) -> float | None:
        times = [*self._world.due_seconds, *self._wakes.values()]
        return min((time for time in times if time <= seconds), default=None)

    def _tick(self, role: Role) -> None:
        if role is Role.EVALUATOR:
            self._joined.evaluate(Tick(), self._time.now)
        else:
            self._joined.tell(Tick(), self._time.now)

    def _arrange(self, step: Step) -> None:
        """What the step changes before anybody looks."""
        form = step.form
        self._time.set_wall_clock(step.wall_seconds)
        if form.reboot:
            self._time.reboot()
        self._layout = step.layout or self._layout
        self._figures = {**({} if step.whole else self._figures), **step.figures}
        for signal in form.without:
            self._figures.pop(signal, None)
        self._take_pods(step)
        for name, wish in form.wishes.items():
            place = {"domain": "evictd.io", "key": "simulation", "name": name}
            topic = topics.WISH.at(self._rules.node, **place)
            self._joined.tell(Wished(topic=topic, wish=wish), self._time.now)

    def _take_pods(self, step: Step) -> None:
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
        moment = self._time.moment
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
        self._joined.observe(observation, self._time.now)

    def _perform(self, role: Role, effect: BusEffect, now: Now) -> None:
        """Whom an effect concerns."""
        match effect:
            case Publish(message=Decision() as decision):
                self._turn(decision)
            case Publish(topic=topic, message=EvictionRequest() as request):
                self._world.request(topic, request)
            case Publish(message=Order() as order) if self._step is not None:
                self._world.order(order, self._give_back, partial(self._look, self._step))
            case Emit(event=event):
                self.chronicle.emitted(event)
            case WakeAt(boot_seconds=boot_seconds) if boot_seconds > now.boot_seconds:
                self._wakes[role] = self._time.seconds_of(boot_seconds)
            case _:
                pass

    def _give_back(self, signal: str) -> int:
        before = self._figures.get(signal)
        self._figures = {**self._figures, **({} if self._step is None else self._step.reclaimed)}
        after = self._figures.get(signal)
        return 0 if before is None or after is None else int(after.available - before.available)

    def _turn(self, decision: Decision | None) -> None:
        self.chronicle.turn(self._time.seconds, self._joined, decision)

    def _close(self, step: Step, before: int) -> None:
        """What is told once a step: the note with its first turn, the rest with its last."""
        self.chronicle.mark(before, note=step.form.note)
        took, summary = self._world.stops_take, step.summary
        levels = {} if summary is None else dict(notifier_levels(self._rules, summary))
        self.chronicle.mark(
            -1,
            cleanup_seconds=wait_seconds(took) if took else None,
            admission=self._admission(),
            notifiers=levels,
        )

    def _admission(self) -> dict[str, bool]:
        """Whom the node would take now. [kubelet-eviction 11]"""
        held = [ConditionType(name) for name in self.chronicle.turns[-1].conditions]
        pods = [pod_of(entry) for entry in self._scenario.admission_pods]
        return {
            name_of(pod): admits(held, pod, critical=critical(pod), qos_class=qos_class(pod))
            for pod in pods
        }


def _refusal(step: Step, field: str, reason: str) -> ConfigurationError:
    return ConfigurationError([Problem(place=step.place, path=(), text=f"{field}: {reason}")])
