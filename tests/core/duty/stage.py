"""One duty, fed step by step, and the Eviction it is about."""

from datetime import UTC, datetime, timedelta

from evictd.core.duty import (
    Assigned,
    Duty,
    Effect,
    Given,
    Listed,
    StopOutcome,
    StopResult,
    respond,
)
from evictd.core.effects import Publish, Tick
from evictd.core.moments import Now
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd.core.rules import Mode, Rules
from evictd_schemas import (
    Eviction,
    EvictionSpec,
    EvictionStatus,
    MemoryStatistics,
    Metadata,
    Pod,
    PodStatistics,
    PodTarget,
    ProcessStatistics,
    Reason,
    Report,
    ResponderStatus,
    Target,
    TargetResponder,
)

UID = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
START = datetime(2026, 1, 1, tzinfo=UTC)
ACT = Rules(node="edge-7", mode=Mode.ACT)
POD = Pod(
    namespace="shop",
    name="web",
    uid=UID,
    runtime_id="3fa9",
    termination_grace_period_seconds=30,
    depends_on=("shop/db",),
    group="app",
    restore="never",
    stats=PodStatistics(
        memory=MemoryStatistics(working_set_bytes=512),
        process_stats=ProcessStatistics(process_count=7),
    ),
)
GONE = StopOutcome(result=StopResult.GONE, why="exit code 143")
REPORT_TOPIC = (
    "evictd/v1/edge-7/evictions/shop/web-0d9f6a52/responders/imperative-eviction.k8s.io/evictor"
)


def eviction(
    state: str = "Active", grace: int | None = None, kind: str = "Soft", *, dry_run: bool = False
) -> Eviction:
    """An Eviction of shop/web with the default responder in a state."""
    return Eviction(
        metadata=Metadata(namespace="shop", name="web-0d9f6a52", uid="eviction-1"),
        spec=EvictionSpec(target=Target(pod=PodTarget(name="web", uid=UID))),
        status=EvictionStatus(
            observed_generation=1,
            target_responders=(TargetResponder(name=DEFAULT_RESPONDER, priority=100, state=state),),
            responders=(ResponderStatus(name=DEFAULT_RESPONDER, start_time=START),),
            node="edge-7",
            grace_period_seconds=grace,
            reason=Reason(signal="memory.available"),
            type=kind,
            dry_run=dry_run,
        ),
    )


class Responder:
    """One duty, fed step by step."""

    def __init__(self, rules: Rules = ACT) -> None:
        self.rules = rules
        self.duty = Duty()
        self.seconds = 1000.0

    def __call__(self, given: Given | Tick, after: float = 0.0) -> tuple[Effect, ...]:
        self.seconds += after
        self.duty, effects = respond(self.rules, self.duty, given, self.now)
        return effects

    @property
    def now(self) -> Now:
        return Now(boot_seconds=self.seconds, utc=START + timedelta(seconds=self.seconds))


def only(effects: tuple[Effect, ...], kind: type) -> list[object]:
    """The effects of one kind."""
    return [effect for effect in effects if isinstance(effect, kind)]


def report(effects: tuple[Effect, ...]) -> Report:
    """The one report among the effects."""
    (found,) = (
        effect.message
        for effect in effects
        if isinstance(effect, Publish) and isinstance(effect.message, Report)
    )
    return found


def stopping(
    responder: Responder, grace: int | None = None, *, dry_run: bool = False
) -> tuple[Effect, ...]:
    """Bring it to the point where the stop runs."""
    responder(Assigned(eviction=eviction(grace=grace, dry_run=dry_run)))
    return responder(Listed(uid=UID, pod=POD))
