"""One node, told in gibibytes and seconds, for stories about its evaluation."""

from datetime import UTC, datetime, timedelta
from typing import Any

from evictd.core.effects import Asked, Emit, Publish
from evictd.core.evaluation import Observed, Reclaimed, Watch, evaluate
from evictd.core.moments import Now
from evictd.core.rules import KUBELET, Profile, Rules
from evictd.core.signals.thresholds import Amount, Threshold
from evictd_schemas import (
    Layout,
    Moment,
    Observation,
    OrderStatus,
    Pressure,
    SignalReading,
    StepOutcome,
    ThresholdStatus,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
GI = 2**30
MEMORY = "memory.available"
NODEFS = "nodefs.available"


def line(
    signal: str, gi: float, grace_seconds: float = 0, reclaim_gi: float | None = None
) -> Threshold:
    return Threshold(
        signal=signal,
        value=Amount(quantity=int(gi * GI), text=f"{gi}Gi"),
        grace_seconds=grace_seconds,
        minimum_reclaim=None if reclaim_gi is None else Amount(quantity=int(reclaim_gi * GI)),
    )


class Node:
    """One node, its rules, and what was published last."""

    def __init__(
        self,
        *thresholds: Threshold,
        profile: Profile = KUBELET,
        transition: float = 300,
        **rules: Any,
    ) -> None:
        self.rules = Rules(
            node="edge",
            profile=profile,
            thresholds=thresholds,
            transition_seconds=transition,
            **rules,
        )
        self.watch = Watch()
        self.asked: Asked = ()
        self.seconds = 0.0
        self.boot = "boot"

    def observe(
        self,
        after: float = 10,
        *,
        listed: bool = False,
        layout: Layout | None = None,
        interval: float | None = None,
        readings: dict[str, SignalReading] | None = None,
        **gi: float,
    ) -> Pressure | None:
        self.seconds += after
        signals = {
            f"{name}.available": SignalReading(available=int(amount * GI), capacity=8 * GI)
            for name, amount in gi.items()
        }
        observation = Observation(
            node="edge",
            time=START + timedelta(seconds=self.seconds),
            boot_id=self.boot,
            uptime_seconds=self.seconds,
            interval_seconds=interval,
            layout=layout,
            signals=signals | (readings or {}),
        )
        return self.feed(Observed(observation=observation, listed=listed))

    def feed(self, given: Any) -> Pressure | None:
        self.watch, self.asked = evaluate(self.rules, self.watch, given, self.now)
        published = [effect.message for effect in self.asked if isinstance(effect, Publish)]
        return published[0] if published and isinstance(published[0], Pressure) else None

    def reclaimed(self, state: str = "Finished") -> None:
        moment = Moment(
            time=START + timedelta(seconds=self.seconds),
            boot_id=self.boot,
            uptime_seconds=self.seconds,
        )
        self.feed(
            Reclaimed(
                status=OrderStatus(
                    order_uid="u", state=state, steps=(StepOutcome(step="images"),), finished=moment
                )
            )
        )

    @property
    def now(self) -> Now:
        return Now(boot_seconds=self.seconds, utc=START + timedelta(seconds=self.seconds))

    @property
    def events(self) -> list[str]:
        return [effect.event.data["reason"] for effect in self.asked if isinstance(effect, Emit)]


def statuses(pressure: Pressure | None) -> list[str]:
    assert pressure is not None
    return [condition.status for condition in pressure.conditions]


def only(pressure: Pressure | None, index: int = 0) -> ThresholdStatus:
    assert pressure is not None
    return pressure.thresholds[index]
