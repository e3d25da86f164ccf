"""A host's decisions, whatever workloads, people, healers, controller and restarts do.

[design, laws 4, 5, 7, 8 and 9; profile host]
"""

from collections import Counter
from datetime import timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.core.decision.household import HARD, SOFT, Household
from tests.core.decision.stage import Turn, amount, rules_of, sent, uid_of

from evictd.core.decision import (
    Answered,
    Fallen,
    Given,
    Plan,
    Recalled,
    Retained,
    Wished,
)
from evictd.core.decision.past import LATELY_SECONDS
from evictd.core.decision.upkeep import HARD_WAIT_SECONDS
from evictd.core.effects import Tick
from evictd.core.holds import hold_on
from evictd.core.ways import restartable
from evictd.core.wording import name_text
from evictd_schemas import (
    Condition,
    EvictionRequest,
    Order,
    Pod,
    RequestStatus,
    Stopped,
)

NAMES = [f"pod-{number}" for number in range(5)]
OTHERS = st.lists(st.sampled_from(NAMES), max_size=1)
RARELY = st.sampled_from([False] * 7 + [True])
PODS = st.fixed_dictionaries(
    {
        "uses": st.sampled_from(["64Mi", "512Mi", "1Gi"]),
        "group": st.sampled_from([None, None, "a", "b"]),
        "depends_on": OTHERS.map(lambda names: tuple(f"shop/{name}" for name in names)),
        "action": st.sampled_from(["stop", "stop", "restart", "webhook"]),
        "priority": st.integers(-1, 1),
        "protected": RARELY,
        "critical": RARELY,
    }
)
MEMORY = st.sampled_from(["512Mi", "900Mi", "1536Mi", "1536Mi", "3Gi", "8Gi", "8Gi"])
AFTER = st.sampled_from([0.25, 1.0, 2.0, 10.0, 29.0, 31.0, 61.0, 301.0, 900.0])
ENDS = {
    "canceled": ("Failed", "EvictionCanceled"),
    "failed": ("Failed", "NoFurtherResponder"),
    "refused": ("Failed", "EvictionInvalid"),
    "evicted": ("TargetEvicted", "PodDeleted"),
}
ROUNDS_MAX = 400


class Node(Household):
    """Looks at each step whether it is as it has to be."""

    def __init__(self) -> None:
        super().__init__(rules_of(HARD, SOFT))
        self.order: Order | None = None
        self.statuses: dict[str, RequestStatus] = {}
        self.records: dict[str, Stopped] = {}
        self.told: Counter[str] = Counter()
        self.evicted: dict[str, tuple[float, ...]] = {}

    def tell(self, given: Given | Tick) -> Turn:
        turn = super().tell(given)
        for request in turn.requests:
            if request.spec.intent == "Eviction":
                self.allows(request, chosen=turn.action == "Evict")
        for order in turn.orders:
            if order.kind == "Restore":
                self.allows_start(order)
        if "evictd/v1/edge/orders/restore" in turn.retracted:
            self.order = None
        for order in turn.orders:
            if order.kind == "Restore":
                self.order = order
        assert list(turn.verdicts().values()).count("Victim") <= 1
        self.told.update(turn.events)
        for topic in set(turn.retracted) & set(self.statuses):
            del self.statuses[topic]
            super().tell(Answered(topic=topic, status=None))
        return turn

    def allows(self, request: EvictionRequest, *, chosen: bool) -> None:
        """Nobody goes who must not, nor whoever would take such a one along."""
        target = request.spec.target.pod
        pod = next((pod for pod in self.pods if target and pod.uid == target.uid), None)
        if pod is None:
            return  # its end is not known to us yet
        hard = request.spec.type == "Hard"
        assert not self.exempt(pod, hard=hard)
        for other in self.pods if chosen else ():
            if name_text(pod) in other.depends_on or (pod.group and pod.group == other.group):
                assert not self.exempt(other, hard=hard)

    def exempt(self, pod: Pod, *, hard: bool) -> bool:
        wishes = self.plan.wishes.values()
        held = hold_on(wishes, name_text(pod), hard=hard, utc=self.now.utc)
        return pod.protected or pod.critical or held is not None

    def allows_start(self, order: Order) -> None:
        """One at a time, calm, and not held."""
        assert self.order is None
        assert self.pressure is not None
        assert all(item.status != "True" for item in self.pressure.conditions)
        assert order.target is not None
        wishes = self.plan.wishes.values()
        name = name_text(order.target)
        assert hold_on(wishes, name, hard=False, utc=self.now.utc) is None

    def ends(self, topic: str, how: str) -> Turn:
        """The controller's last word about one request."""
        kind, reason = ENDS[how]
        status = RequestStatus(
            uid=uid_of(f"{topic} {self.seconds} {self.sequence} {self.rev}"),
            generation=1,
            creation_timestamp=self.now.utc,
            conditions=(Condition(type=kind, status="True", reason=reason),),
        )
        self.statuses[topic] = status
        if how == "evicted":
            self.count(topic)
        return self.tell(Answered(topic=topic, status=sent(status)))

    def count(self, topic: str) -> None:
        target = self.standing[topic].spec.target.pod
        assert target is not None
        self.evicted[target.name] = (*self.evicted.get(target.name, ()), self.seconds)

    def loops(self) -> bool:
        """Whether anybody has gone three times within an hour."""
        return any(
            third - first < LATELY_SECONDS
            for times in self.evicted.values()
            for first, third in zip(times, times[2:], strict=False)
        )

    def anew(self) -> None:
        """All that is retained comes again, in the order of the worker."""
        self.evicted.clear()
        decision, wishes, self.plan = self.plan.decision, self.plan.wishes, Plan()
        for name, record in self.records.items():
            self.tell(Fallen(namespace="shop", name=name, stopped=record))
        for topic, wish in wishes.items():
            self.tell(Wished(topic=topic, wish=wish))
        requests = tuple(
            Retained(topic=topic, request=request) for topic, request in self.standing.items()
        )
        self.tell(Recalled(decision=decision and sent(decision), requests=requests))
        for topic, status in list(self.statuses.items()):
            self.tell(Answered(topic=topic, status=status))


class Life(RuleBasedStateMachine):
    """One node under pressure."""

    def __init__(self) -> None:
        super().__init__()
        self.node = Node()
        self.kinds: dict[str, dict[str, Any]] = {}
        self.lives = 0
        self.heard: list[Given] = []

    @initialize(kinds=st.lists(PODS, min_size=2, max_size=5))
    def a_node_with_workloads(self, kinds: list[dict[str, Any]]) -> None:
        for name, kind in zip(NAMES, kinds, strict=False):
            self.kinds[name] = kind
            self.starts(name)
        self.node.observe("8Gi")

    def starts(self, name: str) -> None:
        self.lives += 1
        self.node.pod(name, uid=uid_of(f"{name} {self.lives}"), **self.kinds[name])

    @property
    def down(self) -> list[str]:
        there = {pod.name for pod in self.node.pods}
        return [name for name in self.kinds if name not in there]

    @rule(memory=MEMORY, after=AFTER)
    def a_look(self, memory: str, after: float) -> None:
        self.look(memory, after)

    @rule(memory=st.sampled_from(["512Mi", "900Mi"]), after=st.sampled_from([0.5, 1.5, 3.0]))
    def it_stays_short(self, memory: str, after: float) -> None:
        self.look(memory, after)

    @rule(after=st.sampled_from([29.0, 31.0, 61.0]))
    def it_stays_low(self, after: float) -> None:
        """Below the soft line, and for its grace."""
        self.look("1536Mi", after)

    @precondition(lambda self: self.node.standing)
    @rule(after=st.sampled_from([0.25, 2.0]))
    def everybody_goes(self, after: float) -> None:
        for topic in list(self.node.standing):
            if topic in self.node.standing and topic not in self.node.statuses:
                self.ends(topic, "evicted")
        self.look("900Mi", after)

    def look(self, memory: str, after: float) -> Turn:
        judged = self.node.judge(memory, after=after)
        assert judged is not None
        self.heard.append(judged)
        turn = self.node.tell(judged)
        if amount(memory) < amount("1Gi"):
            self.hard_waits_for_nothing(turn)
        return turn

    def hard_waits_for_nothing(self, turn: Turn) -> None:
        """Somebody goes, is on the way, has just gone, or nobody may go."""
        if turn.action == "Evict":
            return
        assert turn.decision is not None
        reason, now = turn.decision.reason, self.node.now.boot_seconds
        hard = [own for own in self.node.plan.own if own.hard and not own.withdrawn]
        under_way = any(now - own.asked_boot_seconds < HARD_WAIT_SECONDS for own in hard)
        rows = turn.verdicts().values()
        nobody = all(row in ("Failed", "Held", "Protected", "Critical") for row in rows)
        settles = reason.endswith("the last victim has only just gone")
        assert under_way or settles or nobody, (turn.decision, self.node.plan.own)
        asked = bool(self.node.plan.own)
        rests = any(item.open_boot_seconds > now for item in self.node.plan.failed.values())
        failed = any(row == "Failed" and self.alone(name) for name, row in turn.verdicts().items())
        assert under_way or settles or asked or rests or not failed, turn.decision

    def alone(self, name: str) -> bool:
        """Whether nobody would have to go with it."""
        needed = any(f"shop/{name}" in pod.depends_on for pod in self.node.pods)
        return not needed and self.kinds[name]["group"] is None

    @precondition(lambda self: self.node.standing)
    @rule(data=st.data(), how=st.sampled_from(["evicted", "evicted", "failed", "refused"]))
    def a_request_ends(self, data: st.DataObject, how: str) -> None:
        open_topics = [topic for topic in self.node.standing if topic not in self.node.statuses]
        if open_topics:
            self.ends(data.draw(st.sampled_from(sorted(open_topics))), how)

    def ends(self, topic: str, how: str) -> None:
        request = self.node.standing[topic]
        target = request.spec.target.pod
        assert target is not None
        pod = next((pod for pod in self.node.pods if pod.uid == target.uid), None)
        if how == "evicted" and pod is not None:
            self.falls(pod, request)
        elif pod is None:
            how = "evicted"
        self.node.ends(topic, how)

    def falls(self, pod: Pod, request: EvictionRequest) -> None:
        self.node.gone(pod.name)
        if pod.action == "restart" and restartable(request.spec.reason):
            self.starts(pod.name)
            return
        record = Stopped(
            uid=pod.uid,
            time=self.node.now.utc,
            signal="memory.available",
            last_usage=amount("64Mi"),
            depends_on=pod.depends_on,
        )
        self.node.records[pod.name] = record
        self.node.tell(Fallen(namespace="shop", name=pod.name, stopped=record))

    @precondition(lambda self: self.down)
    @rule(data=st.data())
    def something_else_starts_one(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.down))
        self.starts(name)
        self.lifts(name)

    def lifts(self, name: str) -> None:
        if self.node.records.pop(name, None) is not None:
            self.node.lifted(name)

    @precondition(lambda self: self.node.order is not None)
    @rule(state=st.sampled_from(["Finished", "Finished", "Failed", "Refused"]))
    def a_start_ends(self, state: str) -> None:
        order = self.node.order
        assert order is not None
        assert order.target is not None
        name = order.target.name
        if state == "Finished":
            if name in self.down:
                self.starts(name)
            self.node.status(order, state)
            self.lifts(name)
        else:
            self.node.status(order, state)

    @rule(
        whom=st.sampled_from([None, *NAMES]), include_hard=st.booleans(), seconds=st.integers(1, 99)
    )
    def a_person_holds(self, whom: str | None, seconds: int, *, include_hard: bool) -> None:
        until = self.node.now.utc + timedelta(seconds=seconds)
        target = None if whom is None else f"shop/{whom}"
        self.node.wish("Hold", target, include_hard=include_hard, until=until)

    @rule()
    def the_evictor_begins_anew(self) -> None:
        self.heard = []
        self.node.anew()
        self.node.order = None

    @precondition(lambda self: self.heard)
    @rule(back=st.integers(1, 5))
    def an_old_look_comes_again(self, back: int) -> None:
        turn = self.node.tell(self.heard[-min(back, len(self.heard))])
        assert turn.effects == ()

    @rule()
    def what_is_retained_is_said_again(self) -> None:
        before = dict(self.node.standing)
        for name, record in self.node.records.items():
            self.node.tell(Fallen(namespace="shop", name=name, stopped=record))
        for topic, status in list(self.node.statuses.items()):
            self.node.tell(Answered(topic=topic, status=status))
        assert self.node.standing.keys() <= before.keys()

    @invariant()
    def a_loop_is_told(self) -> None:
        assert not self.node.loops() or self.node.told["EvictionLoop"]

    def teardown(self) -> None:
        """In calm every request ends, nobody goes any more, and who is down comes back."""
        if not self.kinds:
            return
        self.node.wish(None)
        for _ in range(ROUNDS_MAX):
            turn = self.look("8Gi", 61.0)
            for topic, request in list(self.node.standing.items()):
                if topic in self.node.standing and topic not in self.node.statuses:
                    self.ends(
                        topic, "canceled" if request.spec.intent == "Withdrawn" else "evicted"
                    )
            if self.node.order is not None:
                self.a_start_ends("Finished")
            if not (self.node.standing or self.node.records or turn.requests):
                break
        assert self.node.standing == {}
        assert self.node.plan.own == ()
        assert self.node.plan.following == ()
        assert self.node.records == {}


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
