"""A node over sleeps, boots, clocks that are set, silence and restarts of the evaluator.

Beside it stands a second evaluator that is never restarted, and what the rules say in few words.
[kubelet-eviction 4: 7 to 12] [contract 3, Observation] [design, laws 5 and 6]
"""

from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.core.evaluation.node import GI, MEMORY, NODEFS, START, Node, line

from evictd.core.effects import Tick, WakeAt
from evictd.core.evaluation import Observed, Recalled, Watch
from evictd.core.rules import HOST, KUBELET, Profile
from evictd_schemas import Observation, Pressure, SignalReading, ThresholdStatus

INTERVAL_SECONDS = 10.0
GAP_SECONDS = 30.0
TRANSITION_SECONDS = 300.0
LINES = (line(MEMORY, 1, reclaim_gi=0.7), line(MEMORY, 2, 60), line(NODEFS, 2, 60, reclaim_gi=0.5))
HOST_LINES = (LINES[0], LINES[2])
"""Where a slope may cut a grace short, a signal has one kind of line only: what it read lately is
not recalled."""
AMOUNTS = st.sampled_from([0.5, 0.5, 0.5, 1.2, 1.9, 2.2, 5, None])


class Watching(RuleBasedStateMachine):
    """The same observations for both."""

    def __init__(self) -> None:
        super().__init__()
        self.steady, self.restarted = Node(), Node()
        self.sequence = 0
        self.boot = 1
        self.seconds = 0.0
        """Since the node booted."""
        self.wall_seconds = 0.0
        self.last: Observation | None = None
        self.pressure: Pressure | None = None
        self.since: dict[str, float] = {}
        """By line, since when it is met without a gap or a boot in between."""
        self.only_observed = False
        self.clear_since: float | None = None
        """Since when no line is met, in this boot."""
        self.pressed = False

    @initialize(profile=st.sampled_from([KUBELET, HOST]))
    def a_node(self, profile: Profile) -> None:
        lines = LINES if profile is KUBELET else HOST_LINES
        for name in ("steady", "restarted"):
            node = Node(*lines, profile=profile, transition=TRANSITION_SECONDS)
            setattr(self, name, node)

    @property
    def nodes(self) -> tuple[Node, Node]:
        return self.steady, self.restarted

    def passes(self, seconds: float) -> None:
        self.seconds += seconds
        for node in self.nodes:
            node.seconds += seconds

    @rule(
        memory=AMOUNTS,
        nodefs=AMOUNTS,
        after=st.sampled_from([0.25, 10, 29, 31, 400]),
    )
    def it_is_observed(self, memory: float | None, nodefs: float | None, after: float) -> None:
        self.passes(after)
        self.look(memory, nodefs)

    @rule(memory=AMOUNTS, looks=st.integers(2, 12))
    def nothing_changes(self, memory: float | None, looks: int) -> None:
        """Long enough for graces and transition periods to end."""
        for _ in range(looks):
            self.passes(29)
            self.look(memory, 5)

    def look(self, memory: float | None, nodefs: float | None) -> None:
        self.sequence += 1
        amounts = {MEMORY: memory, NODEFS: nodefs}
        observation = Observation(
            node="edge",
            time=START + timedelta(seconds=self.seconds + self.wall_seconds),
            sequence=self.sequence,
            boot_id=f"boot {self.boot}",
            uptime_seconds=self.seconds,
            interval_seconds=INTERVAL_SECONDS,
            signals={
                signal: SignalReading(available=int(gi * GI), capacity=8 * GI)
                for signal, gi in amounts.items()
                if gi is not None
            },
        )
        one, other = (node.feed(Observed(observation=observation)) for node in self.nodes)
        assert one is not None
        assert other is not None
        assert shown(one) == shown(other)
        self.wakes()
        self.judges(one, observation)
        self.last, self.pressure = observation, one

    def judges(self, pressure: Pressure, observation: Observation) -> None:
        slept = self.slept(observation)
        for status in pressure.thresholds:
            self.judge(status, slept=slept)
        hard = [status for status in pressure.thresholds if not status.grace_period_seconds]
        self.only_observed = any(status.met and not status.due for status in hard)
        self.conditions(pressure)

    def slept(self, observation: Observation) -> bool:
        last = self.last
        if last is None or last.boot_id != observation.boot_id:
            return False
        assert last.uptime_seconds is not None
        return self.seconds - last.uptime_seconds > GAP_SECONDS

    def judge(self, status: ThresholdStatus, *, slept: bool) -> None:
        """One line: met when below it, due when it was met for all of its grace."""
        key = f"{status.signal} {status.value}"
        soft = status.grace_period_seconds > 0
        if status.available is None:
            assert not status.met
        elif status.quantity is not None and status.available < status.quantity:
            assert status.met
        assert status.met_with_minimum_reclaim or not status.met
        if not status.met or (slept and soft):
            self.since.pop(key, None)
        if status.met:
            since = self.since.setdefault(key, self.seconds)
            over = self.seconds - since >= status.grace_period_seconds
            only_observes = slept and (soft or not self.only_observed)
            assert status.due == (over and not only_observes)
        assert status.met or not status.due
        assert status.due or not status.fresh
        assert (status.first_observed is not None) is status.met

    def conditions(self, pressure: Pressure) -> None:
        """True while a line of the signal is met, and a transition period longer."""
        status = pressure.conditions[0].status
        met = any(item.met for item in pressure.thresholds if item.signal == MEMORY)
        if met:
            assert status == "True"
            self.clear_since, self.pressed = None, True
            return
        self.clear_since = self.seconds if self.clear_since is None else self.clear_since
        if self.seconds - self.clear_since >= TRANSITION_SECONDS:
            assert status != "True"
        if status != "True":
            self.pressed = False

    def wakes(self) -> None:
        """Silence is noticed: whoever is told something waits for a moment to come."""
        for node in self.nodes:
            (wake,) = (effect for effect in node.asked if isinstance(effect, WakeAt))
            assert wake.boot_seconds > node.seconds

    @rule(seconds=st.sampled_from([1.0, 29.0, 31.0, 600.0]))
    def nothing_comes(self, seconds: float) -> None:
        self.passes(seconds)
        for node in self.nodes:
            told = node.feed(Tick())
            assert told is None or {item.status for item in told.conditions} == {"Unknown"}

    @rule(seconds=st.sampled_from([-10_800.0, -5.0, 5.0, 10_800.0]))
    def the_clock_is_set(self, seconds: float) -> None:
        """Backwards, it may begin the transition period of an earlier boot's condition again."""
        self.wall_seconds += seconds
        if seconds < 0:
            self.clear_since = None

    @rule(seconds=st.sampled_from([0.0, 0.0, -10_800.0, 90.0]))
    def it_boots_again(self, seconds: float) -> None:
        """With a clock that has gone on, or with one that has not."""
        self.wall_seconds += self.seconds + seconds
        self.seconds = 0.0
        self.boot += 1
        self.since.clear()
        self.clear_since = None

    @rule(noted=st.sampled_from(["first", "then", ""]))
    def the_evaluator_begins_anew(self, noted: str) -> None:
        """What is retained is the newest observation and its own Pressure, in any order."""
        node = self.restarted
        if self.pressure is None or self.last is None or node.watch.pressure is None:
            return
        travelled = msgspec.json.decode(msgspec.json.encode(node.watch.pressure), type=Pressure)
        node.watch = Watch()
        listed = Observed(observation=self.last, listed=True)
        if noted == "first":
            node.feed(listed)
        node.feed(Recalled(pressure=travelled))
        if noted == "then":
            node.feed(listed)

    @rule()
    def what_was_observed_comes_again(self) -> None:
        if self.last is None:
            return
        for node in self.nodes:
            before = node.watch
            assert node.feed(Observed(observation=self.last)) is None
            assert node.watch == before

    @invariant()
    def both_know_the_same(self) -> None:
        if self.pressure is not None:
            assert self.steady.watch.first_observed == self.restarted.watch.first_observed
            assert self.steady.watch.last_observed == self.restarted.watch.last_observed
            unresolved = [set(node.watch.unresolved) for node in self.nodes]
            assert unresolved[0] == unresolved[1]


def shown(pressure: Pressure) -> Any:
    """What is said; that silence has made a condition Unknown in between moves its transition."""
    conditions = [
        msgspec.structs.replace(condition, last_transition_time=START)
        for condition in pressure.conditions
    ]
    return msgspec.structs.replace(pressure, time=START, conditions=tuple(conditions))


TestWatching = Watching.TestCase
TestWatching.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
