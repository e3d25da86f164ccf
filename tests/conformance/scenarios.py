"""Whole passes: evaluator and evictor as the product joins them, by nothing but encoded messages of
the contract, with a world around them that kills, reclaims and fails as a scenario says."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from msgspec import structs
from tests.conformance.comparison import equal
from tests.conformance.pods import pod_of, statistics_of
from tests.conformance.signals_operations import START, layout_of, summary_of, thresholds_given

from evictd.core.decision import Answered, Ordered
from evictd.core.decision.reclaim import RECHECK_SECONDS
from evictd.core.effects import BusEffect, Emit, Publish, Tick
from evictd.core.moments import Now
from evictd.core.pod_admission import admits
from evictd.core.pods import critical, qos_class
from evictd.core.protocol.vocabulary import NODE_PRESSURE
from evictd.core.rules import KUBELET, Candidates, Mode, Rules
from evictd.core.signals.names import ConditionType
from evictd.core.signals.summary import readings
from evictd.simulation.joined import Joined, sent
from evictd_schemas import (
    Condition,
    EvictionRequest,
    Layout,
    Moment,
    Observation,
    Order,
    OrderStatus,
    Pressure,
    RequestStatus,
    SignalReading,
    StepOutcome,
)
from evictd_schemas.topics import Role

BOOT_SECONDS = 1000.0
"""The boot time at the start of a scenario."""
NODE = "vectors"
LONG_AGO = START - timedelta(days=1)
A_MOMENT = timedelta(microseconds=1)
CALLS = {"containers": "delete_all_unused_containers", "images": "delete_unused_images"}
EVENTS = frozenset({"EvictionThresholdMet"})
"""Events of the evictor that the kubelet has too; `Evicted` is the controller's."""
DETECTION_FAILED = "image_fs_detection_failed"
UNSUPPORTED = "split_filesystem_without_feature"


def scenario(given: Mapping[str, Any]) -> dict[str, Any]:
    """Run all steps."""
    node = Node(given)
    return {"steps": [node.step(step) for step in given["steps"]]}


def compare(expected: Any, actual: Any) -> None:
    """Step by step, as far as the scenario says what it expects."""
    assert len(expected["steps"]) == len(actual["steps"])
    for index, (wanted, found) in enumerate(
        zip(expected["steps"], actual["steps"], strict=True), start=1
    ):
        for key, value in wanted.items():
            seen = _as_far_as(value, found[key]) if key == "evicted" else found[key]
            assert equal(value, seen), f"step {index}: {key} is {seen!r}, not {value!r}"


def rules_of(config: Mapping[str, Any]) -> Rules:
    """The configuration of a scenario."""
    return Rules(
        node=NODE,
        mode=Mode.ACT,
        profile=KUBELET,
        candidates=Candidates.ALL,
        thresholds=thresholds_given(config["thresholds"]),
        transition_seconds=config["pressure_transition_period_s"],
        maximum_pod_grace_seconds=config["max_pod_grace_period_s"],
        local_storage_capacity_isolation=config["local_storage_capacity_isolation"],
        separate_disk_gc=config.get("separate_disk_gc_enabled", True),
    )


class Node:
    """One node of a scenario and everything that happens to it."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.rules = rules_of(given["config"])
        self.summaries = given["summaries"]
        self.layout = layout_of(given["filesystems"])
        self.all_pods = given["pods"]
        self.admission_pods = [pod_of(_named(pod)) for pod in given.get("admission_pods", ())]
        self.summary: Mapping[str, Any] = {}
        self.active: set[str] | None = None
        self.blind = False
        """Whether the statistics cannot be had."""
        self.seconds = 0.0
        self.waited_seconds = 0.0
        """By the evictor's own clock, for looks that never came: no time passes in a scenario."""
        self.sequence = 0
        self.joined = Joined(self.rules, self._perform)
        self.found: Pass | None = None
        self.times: dict[str, datetime] = {}

    @property
    def now(self) -> Now:
        utc = START + timedelta(seconds=self.seconds)
        return Now(boot_seconds=BOOT_SECONDS + self.seconds, utc=utc)

    def step(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """One pass of the manager."""
        self.seconds += step["advance_s"]
        self._arrange(step)
        self.found = found = Pass(self, step)
        detected = self.joined.watch.layout is not None
        self.blind = bool(step.get("summary_error"))
        if not (self.blind and detected):  # the layout is asked for before the statistics
            failing = bool(step.get("image_fs_detection_error")) and not detected
            self.look(Layout(error="detection failed") if failing else self.layout)
            found.error = self._error(found, failing=failing, detected=detected)
        self.blind = False
        return {**found.told(), "conditions": self.conditions, "thresholds_met": self._due()} | {
            "admission": {pod.name: self._admits(pod) for pod in self.admission_pods}
        }

    @property
    def clock(self) -> Now:
        """The workers' own clock."""
        boot_seconds = self.now.boot_seconds + self.waited_seconds
        return Now(boot_seconds=boot_seconds, utc=self.now.utc)

    def look(self, layout: Layout) -> None:
        """Collector, evaluator and evictor, one after the other."""
        self.sequence += 1
        self.joined.observe(self._observation(layout), self.clock)

    def _perform(self, _role: Role, effect: BusEffect, _now: Now) -> None:
        assert self.found is not None
        self.found.obey(effect)

    @property
    def conditions(self) -> list[str]:
        pressure = self.joined.pressure
        held = () if pressure is None else pressure.conditions
        return sorted(condition.type for condition in held if condition.status == "True")

    def _arrange(self, step: Mapping[str, Any]) -> None:
        if step.get("summary") is not None:
            self.summary = self.summaries[step["summary"]]
        if "replace_pods" in step:
            self.all_pods = step["replace_pods"]
            self.active = None
        if "active_pods" in step:
            self.active = set(step["active_pods"])

    def _observation(self, layout: Layout) -> Observation:
        statistics = statistics_of(self.summary.get("pods"))
        return Observation(
            node=NODE,
            time=self.now.utc,
            sequence=self.sequence,
            boot_id="vectors",
            uptime_seconds=self.now.boot_seconds,
            layout=layout,
            signals={} if self.blind else self._signals(),
            pods=tuple(
                pod_of(_named(pod), statistics)
                for pod in self.all_pods
                if (self.active is None or pod["name"] in self.active) and not self.blind
            ),
        )

    def _signals(self) -> dict[str, SignalReading]:
        """A reading without a time is newer than the one before and older than any with a time."""
        signals = {
            signal: structs.replace(
                reading, time=reading.time or self.times.get(signal, LONG_AGO) + A_MOMENT
            )
            for signal, reading in readings(summary_of(self.summary)).items()
        }
        self.times |= {
            signal: reading.time for signal, reading in signals.items() if reading.time is not None
        }
        return signals

    def _error(self, found: "Pass", *, failing: bool, detected: bool) -> str | None:
        untouched = not (self.rules.thresholds or self.rules.local_storage_capacity_isolation)
        if found.judged or detected or untouched:
            return None
        return DETECTION_FAILED if failing else UNSUPPORTED

    def _due(self) -> list[str]:
        pressure = self.joined.pressure
        thresholds = () if pressure is None else pressure.thresholds
        return sorted(
            f"{item.signal}/{'soft' if item.grace_period_seconds else 'hard'}"
            for item in thresholds
            if item.due
        )

    def _admits(self, pod: Any) -> bool:
        held = [ConditionType(name) for name in self.conditions]
        return admits(held, pod, critical=critical(pod), qos_class=qos_class(pod))


class Pass:
    """What one pass did, as it is seen from outside."""

    def __init__(self, node: Node, step: Mapping[str, Any]) -> None:
        self.node = node
        self.world = step
        self.judged = False
        self.error: str | None = None
        self.evicted: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.events: list[str] = []
        self.counted: Counter[str] = Counter()

    def told(self) -> dict[str, Any]:
        """In the words of the vectors."""
        return {
            "evicted": self.evicted,
            "gc_calls": self.calls,
            "returned_pods": [entry["pod"] for entry in self.evicted],
            "evictions_counted": dict(self.counted),
            "events": self.events,
            "error": self.error,
        }

    def obey(self, effect: BusEffect) -> None:
        """Each is carried out at once."""
        match effect:
            case Publish(message=Pressure()):
                self.judged = True
            case Emit(event=event) if event.data["reason"] in EVENTS:
                self.events.append(event.data["reason"])
            case Publish(topic=topic, message=EvictionRequest() as request):
                self._kill(topic, sent(request))
            case Publish(message=Order() as order):
                self._reclaim(sent(order))

    def _kill(self, topic: str, request: EvictionRequest) -> None:
        spec = request.spec
        assert spec.target.pod is not None
        assert spec.reason is not None
        pressure = spec.requester == NODE_PRESSURE
        self.events.append("Evicted")
        self.counted[spec.reason.signal or ""] += 1
        self.evicted.append(
            {
                "pod": spec.target.pod.name,
                "grace_period_s": spec.grace_period_seconds,
                "disruption_target": pressure,
                "phase": "Failed",
                "reason": "Evicted",
                "message": spec.reason.message,
                "condition_reason": "TerminationByKubelet" if pressure else None,
            }
        )
        status = _ended(failed=bool(self.world.get("kill_error")), now=self.node.now)
        self.node.joined.tell(Answered(topic=topic, status=sent(status)), self.node.clock)

    def _reclaim(self, order: Order) -> None:
        self.calls += [CALLS[step] for step in order.steps]
        if self.world.get("summary_after_gc") is not None:
            self.node.summary = self.node.summaries[self.world["summary_after_gc"]]
        error = "failed" if self.world.get("gc_error") else None
        now = self.node.now
        status = OrderStatus(
            order_uid=order.uid,
            state="Finished",
            steps=tuple(StepOutcome(step=step, error=error) for step in order.steps),
            finished=Moment(time=now.utc, boot_id="vectors", uptime_seconds=now.boot_seconds),
        )
        self.node.joined.tell(Ordered(name="reclaim", status=status), self.node.clock)
        if self.world.get("summary_error_after_gc"):
            self.node.waited_seconds += RECHECK_SECONDS
            self.node.joined.tell(Tick(), self.node.clock)
        else:
            self.node.joined.reclaimed(status, self.node.clock)
            self.node.look(self.node.layout)


def _ended(*, failed: bool, now: Now) -> RequestStatus:
    """The controller's last word; a kill that failed counts as an eviction all the same."""
    ended = (
        Condition(type="Failed", status="True", reason="NoFurtherResponder")
        if failed
        else Condition(type="TargetEvicted", status="True", reason="PodDeleted")
    )
    return RequestStatus(
        uid=str(uuid4()), generation=1, creation_timestamp=now.utc, conditions=(ended,)
    )


def _named(pod: Mapping[str, Any]) -> dict[str, Any]:
    """A topic needs a namespace."""
    return {**pod, "namespace": pod.get("namespace") or "default"}


def _as_far_as(wanted: Any, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each eviction only what the scenario mentions."""
    mentioned = [set(entry) for entry in wanted]
    if len(mentioned) != len(found):
        return found
    return [
        {key: entry[key] for key in keys if key in entry}
        for keys, entry in zip(mentioned, found, strict=True)
    ]
