"""A stage for stories about one node: evaluator and evictor on encoded messages, and a controller
that does what the story says. Nothing here waits; time is a number."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import NAMESPACE_OID, uuid5

import msgspec
from msgspec import structs

from evictd.core.decision import Answered, Given, Judged, Ordered, Plan, Recalled, Retained, decide
from evictd.core.effects import BusEffect, Emit, Publish, Retract, Tick, WakeAt
from evictd.core.evaluation import Observed, Reclaimed, Watch, evaluate
from evictd.core.moments import Now
from evictd.core.observations import merge
from evictd.core.rules import HOST, KUBELET, Candidates, Mode, Rules
from evictd.core.signals.quantities import parse
from evictd.core.signals.thresholds import Amount, Threshold
from evictd_schemas import (
    Condition,
    Decision,
    EvictionRequest,
    Layout,
    MemoryStatistics,
    Moment,
    Observation,
    Order,
    OrderStatus,
    Pod,
    PodStatistics,
    Pressure,
    RequestStatus,
    SignalReading,
    StepOutcome,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
NODE = "edge"
CAPACITY = "16Gi"
FAR_REQUESTER = "evictd.io/node-pressure"

M = TypeVar("M")


def amount(text: str) -> int:
    """Bytes of a quantity text."""
    value = parse(text).value
    assert value is not None
    return value


def threshold(text: str, *, reclaim: str | None = None) -> Threshold:
    """`memory.available<1Gi` or `memory.available<2Gi/120`, the grace in seconds."""
    signal, _, rest = text.partition("<")
    value, _, grace = rest.partition("/")
    return Threshold(
        signal=signal,
        value=Amount(quantity=amount(value), text=value),
        grace_seconds=float(grace or 0),
        minimum_reclaim=None if reclaim is None else Amount(quantity=amount(reclaim), text=reclaim),
    )


USED_TO_ACT = structs.replace(HOST, warns_before_first_act=False)
"""A host on which acting is nothing new."""


def rules_of(*lines: str, kubelet: bool = False, mode: Mode = Mode.ACT, **fields: Any) -> Rules:
    """The rules of one node; by default those of a plain host that acts on every pod, and has
    before."""
    return Rules(
        node=NODE,
        mode=mode,
        thresholds=tuple(threshold(line) for line in lines),
        **{
            "profile": KUBELET if kubelet else USED_TO_ACT,
            "candidates": Candidates.ALL,
            "maximum_pod_grace_seconds": -1,
            "local_storage_capacity_isolation": False,
            **fields,
        },
    )


def uid_of(name: str) -> str:
    """One life of a pod of that name."""
    return str(uuid5(NAMESPACE_OID, name))


def pod_of(name: str, *, uses: str | None = "100Mi", asks: str | None = None, **fields: Any) -> Pod:
    """A pod that uses and asks for memory; `uses` None: without statistics."""
    statistics = None
    if uses is not None:
        statistics = PodStatistics(memory=MemoryStatistics(working_set_bytes=amount(uses)))
    return Pod(
        **{
            "namespace": "shop",
            "name": name,
            "uid": uid_of(name),
            "requests": {} if asks is None else {"memory": amount(asks)},
            "stats": statistics,
            **fields,
        }
    )


class Turn:
    """What one input made the evictor do."""

    def __init__(self, effects: Sequence[BusEffect]) -> None:
        self.effects = effects

    @property
    def requests(self) -> list[EvictionRequest]:
        return [item for item in self._published() if isinstance(item, EvictionRequest)]

    @property
    def victims(self) -> list[str]:
        """Names of pods that are asked to go."""
        return [
            item.spec.target.pod.name
            for item in self.requests
            if item.spec.target.pod is not None and item.spec.intent == "Eviction"
        ]

    @property
    def withdrawn(self) -> list[str]:
        return [
            item.spec.target.pod.name
            for item in self.requests
            if item.spec.target.pod is not None and item.spec.intent == "Withdrawn"
        ]

    @property
    def orders(self) -> list[Order]:
        return [item for item in self._published() if isinstance(item, Order)]

    @property
    def decision(self) -> Decision | None:
        found = [item for item in self._published() if isinstance(item, Decision)]
        return found[-1] if found else None

    @property
    def action(self) -> str | None:
        return None if self.decision is None else self.decision.action

    @property
    def retracted(self) -> list[str]:
        return [item.topic for item in self.effects if isinstance(item, Retract)]

    @property
    def events(self) -> list[str]:
        return [item.event.data["reason"] for item in self.effects if isinstance(item, Emit)]

    @property
    def event_messages(self) -> list[str]:
        return [item.event.data["message"] for item in self.effects if isinstance(item, Emit)]

    @property
    def event_data(self) -> list[dict[str, Any]]:
        return [item.event.data for item in self.effects if isinstance(item, Emit)]

    @property
    def event_ids(self) -> list[str]:
        return [item.event.id for item in self.effects if isinstance(item, Emit)]

    @property
    def wakes(self) -> list[float]:
        return [item.boot_seconds for item in self.effects if isinstance(item, WakeAt)]

    def verdicts(self) -> dict[str, str]:
        """Pod to verdict, in order."""
        ranking = () if self.decision is None else self.decision.ranking
        return {row.pod.name: row.verdict for row in ranking}

    def _published(self) -> list[Any]:
        return [item.message for item in self.effects if isinstance(item, Publish)]


class Stage:
    """One node, its clock, its pods and both workers' states."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.pods: list[Pod] = []
        self.seconds = 0.0
        self.sequence = 0
        self.rev = 0
        self.watch, self.plan = Watch(), Plan()
        self.view: Observation | None = None
        self.pressure: Pressure | None = None
        self.layout = Layout()
        self.standing: dict[str, EvictionRequest] = {}
        """Our requests as they stand on the bus."""

    @property
    def now(self) -> Now:
        return Now(boot_seconds=self.seconds, utc=START + timedelta(seconds=self.seconds))

    def pod(self, name: str, **fields: Any) -> Pod:
        """One more pod on the node."""
        pod = pod_of(name, **fields)
        self.pods.append(pod)
        return pod

    def gone(self, name: str) -> None:
        """The pod is no longer on the node."""
        self.pods = [pod for pod in self.pods if pod.name != name]

    def observe(
        self, memory: str | None = None, *, after: float = 10, listed: bool = False, **fields: Any
    ) -> Turn:
        """An observation goes all the way. `memory` is what is available; `signals` what else."""
        judged = self.judge(memory, after=after, **fields)
        if judged is None:
            return Turn(())
        return self.tell(structs.replace(judged, listed=listed))

    def judge(
        self,
        memory: str | None = None,
        *,
        after: float = 10,
        signals: dict[str, str] | None = None,
        **fields: Any,
    ) -> Judged | None:
        """As far as the evictor's door."""
        self.seconds += after
        self.sequence += 1
        available = {"memory.available": memory} if memory is not None else {}
        readings = {
            name: SignalReading(available=amount(text), capacity=amount(CAPACITY))
            for name, text in {**available, **(signals or {})}.items()
        }
        observation = Observation(
            **{
                "node": NODE,
                "time": self.now.utc,
                "sequence": self.sequence,
                "boot_id": "one",
                "uptime_seconds": self.seconds,
                "layout": self.layout,
                "signals": readings,
                "pods": tuple(self.pods),
                **fields,
            }
        )
        observation = sent(observation)
        self.view = merge(self.view, observation)
        given = Observed(observation=observation)
        self.watch, effects = evaluate(self.rules, self.watch, given, self.now)
        for effect in effects:
            if isinstance(effect, Publish) and isinstance(effect.message, Pressure):
                self.rev += 1
                stamped = structs.replace(effect.message, epoch=1, rev=self.rev)
                self.pressure = sent(stamped)
                return Judged(pressure=self.pressure, observation=self.view)
        return None

    def tell(self, given: Given | Tick) -> Turn:
        """One step of the evictor."""
        self.plan, effects = decide(self.rules, self.plan, given, self.now)
        for effect in effects:
            if isinstance(effect, Publish) and isinstance(effect.message, EvictionRequest):
                self.standing[effect.topic] = sent(effect.message)
            elif isinstance(effect, Retract):
                self.standing.pop(effect.topic, None)
        return Turn(effects)

    def tick(self, *, after: float) -> Turn:
        """Nothing came for so long."""
        self.seconds += after
        return self.tell(Tick())

    def topic_of(self, name: str) -> str:
        """Where our request for that pod stands."""
        return next(
            topic
            for topic, request in self.standing.items()
            if request.spec.target.pod is not None and request.spec.target.pod.name == name
        )

    def answer(
        self, name: str, kind: str = "TargetEvicted", reason: str = "PodDeleted", **fields: Any
    ) -> Turn:
        """The controller's last word about our request for that pod."""
        status = RequestStatus(
            uid=fields.get("uid") or uid_of(f"{name} {self.seconds} {self.rev}"),
            generation=1,
            creation_timestamp=self.now.utc,
            final_time=fields.get("final_time"),
            conditions=(Condition(type=kind, status="True", reason=reason),),
        )
        return self.tell(Answered(topic=self.topic_of(name), status=sent(status)))

    def finish(
        self,
        order: Order,
        *,
        state: str = "Finished",
        error: str | None = None,
        freed_bytes: int = 0,
    ) -> Turn:
        """The responder's last word about an order; its first step gave so much back."""
        status = OrderStatus(
            order_uid=order.uid,
            state=state,
            steps=tuple(
                StepOutcome(step=step, error=error, freed_bytes=0 if index else freed_bytes)
                for index, step in enumerate(order.steps)
            ),
            finished=Moment(time=self.now.utc, boot_id="one", uptime_seconds=self.seconds),
        )
        self.watch, _ = evaluate(self.rules, self.watch, Reclaimed(status=status), self.now)
        return self.tell(Ordered(name="reclaim", status=sent(status)))

    def restart(self) -> Turn:
        """The evictor begins anew and finds what it left on the bus."""
        decision, self.plan = self.plan.decision, Plan()
        requests = tuple(
            Retained(topic=topic, request=request) for topic, request in self.standing.items()
        )
        return self.tell(Recalled(decision=decision, requests=requests))

    def crash_before_clearing(self, name: str) -> None:
        """The one that was asked has gone, and whoever comes next is asked; the request of the
        first still stands when the evictor is back, and is answered once more."""
        standing = dict(self.standing)
        self.gone(name)
        self.answer(name, uid="one")
        self.observe("8Gi", after=0.1)
        self.standing |= standing
        self.restart()
        self.answer(name, uid="one")


def sent(message: M) -> M:
    """What arrives of a message."""
    return msgspec.json.decode(msgspec.json.encode(message), type=type(message))
