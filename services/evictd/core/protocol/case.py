"""The state of one target: requests, Evictions, and what is known of it. One small Struct.

Everything is recorded as moments, never as "seconds left", so that no restart moves a deadline.
"""

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct, structs

from evictd.core.moments import Now, whole_second
from evictd.core.protocol import facts
from evictd.core.protocol.conditions import cause_of, eviction_finished
from evictd.core.protocol.facts import TerminalTimes
from evictd.core.protocol.inputs import ControllerRules
from evictd.core.protocol.progression import Terms
from evictd.core.protocol.requesters import wants
from evictd.core.protocol.vocabulary import Cause
from evictd.core.rules import Mode
from evictd_schemas import Eviction, EvictionRequest, Pod, Report, RequestStatus, Timestamp


class Held(Struct, frozen=True, kw_only=True):
    """One request.

    Its metadata is ours; `received_boot_seconds` is of the newest spec. `evidence`: an observation
    was taken since that proves who is not there.
    """

    request: EvictionRequest
    status: RequestStatus
    received_boot_seconds: float
    deadline_time: Timestamp | None = None
    evidence: bool = False
    unconfirmed: bool = False

    @property
    def topic_levels(self) -> tuple[str, str, str]:
        """Requester, namespace and name: what makes it the same request."""
        metadata = self.request.metadata
        return self.request.spec.requester, metadata.namespace, metadata.name


class Finish(Struct, frozen=True, kw_only=True):
    """The last responder completed then; `seen`: an observation was taken since."""

    time: Timestamp
    boot_seconds: float
    seen: bool = False


class Run(Struct, frozen=True, kw_only=True):
    """What is remembered of the chain that runs, beside what the Eviction itself tells.

    `terms`: deadlines of its responders, fixed with the chain. `reports`: the newest of each;
    `signs`: the last sign of life that they gave; `merged_times`: when they were last published.
    `left_times`: when one lost its turn. `lost_times`: when one was reported lost. `stale`: the
    sign of life after which a responder was last called stale.
    """

    eviction_uid: str = ""
    terms: dict[str, Terms] = {}
    heartbeat_seconds: dict[str, float] = {}
    reports: dict[str, Report] = {}
    signs: dict[str, Timestamp] = {}
    merged_times: dict[str, Timestamp] = {}
    left_times: dict[str, Timestamp] = {}
    lost_times: dict[str, Timestamp] = {}
    dry_able: tuple[str, ...] = ()
    finish: Finish | None = None
    stale: tuple[str, Timestamp] | None = None


class Clock(Struct, frozen=True, kw_only=True):
    """Both readings of the last step, and by how much the wall clock has jumped since the first.

    `era`: within one, boot time counts on.
    """

    era: str
    boot_seconds: float
    utc: Timestamp
    skew_seconds: float = 0.0


class Case(Struct, frozen=True, kw_only=True):
    """One life of one workload that somebody wants to leave.

    `pod`: as last seen under the target's name. `absent`: an observation proved that the target is
    not there. `reported_gone`: the default responder's runtime confirmed its end.
    """

    requests: tuple[Held, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    pod: Pod | None = None
    absent: bool = False
    reported_gone: bool = False
    ended: TerminalTimes = TerminalTimes()
    orphaned: TerminalTimes = TerminalTimes()
    run: Run = Run()
    clock: Clock | None = None

    @property
    def gone(self) -> bool:
        """The target is not there any more."""
        return self.absent or self.reported_gone

    @property
    def over(self) -> bool:
        """Gone, or without a process left."""
        return self.gone or facts.terminal(self.pod)


def stamp(now: Now) -> datetime:
    """The moment as it is written: times of the protocol have whole seconds."""
    return whole_second(now.utc)


def dry(rules: ControllerRules, request: EvictionRequest) -> bool:
    """Unless the node acts, every request there is treated as dry. [contract 3, Eviction]"""
    return request.spec.dry_run or rules.mode is not Mode.ACT


def refused(held: Held) -> bool:
    """A request that was found invalid, with the spec that it still has."""
    status = held.status
    current = status.observed_generation == status.generation
    return current and cause_of(status.conditions) == Cause.INVALID


def taking_part(rules: ControllerRules, case: Case, *, is_dry: bool) -> tuple[Held, ...]:
    """The requests whose wish counts for an Eviction of that kind, withdrawn ones included."""
    return tuple(
        held
        for held in case.requests
        if dry(rules, held.request) == is_dry and (rules.policy.refused_count or not refused(held))
    )


def wanted_by(held: Iterable[Held]) -> tuple[Held, ...]:
    """Those of them that want it now."""
    return tuple(item for item in held if wants(item.request))


def of_kind(case: Case, *, is_dry: bool) -> tuple[Eviction, ...]:
    """Dry and real requests never share an Eviction."""
    return tuple(item for item in case.evictions if item.status.dry_run == is_dry)


def running(evictions: Iterable[Eviction]) -> Eviction | None:
    """The first that has not ended."""
    return next((item for item in evictions if not eviction_finished(item.status.conditions)), None)


def with_eviction(case: Case, eviction: Eviction) -> Case:
    """The case with an Eviction replaced, or added."""
    others = [item.metadata.uid for item in case.evictions]
    if eviction.metadata.uid not in others:
        return structs.replace(case, evictions=(*case.evictions, eviction))
    merged = tuple(
        eviction if item.metadata.uid == eviction.metadata.uid else item for item in case.evictions
    )
    return structs.replace(case, evictions=merged)


def with_held(case: Case, held: Held) -> Case:
    """The case with a request replaced, or added."""
    if not any(item.topic_levels == held.topic_levels for item in case.requests):
        return structs.replace(case, requests=(*case.requests, held))
    merged = tuple(
        held if item.topic_levels == held.topic_levels else item for item in case.requests
    )
    return structs.replace(case, requests=merged)


def eviction_of(case: Case, uid: str) -> Eviction:
    """The Eviction of that uid, which is there."""
    return next(item for item in case.evictions if item.metadata.uid == uid)
