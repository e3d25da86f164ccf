"""EvictionRequest and Eviction of `lifecycle.k8s.io/v1alpha1`, and what a responder reports.

Kubernetes' objects as JSON, with evictd's additions. Fields that admission reports as Required have
defaults here. [contract 3, EvictionRequest, Eviction, Report] [eviction-request-api 2]
"""

from typing import Annotated

from msgspec import Struct, field

from evictd_schemas.common import (
    Condition,
    Metadata,
    Number,
    ObjectReference,
    Presence,
    Target,
    Timestamp,
    Uid,
    words,
)

API_VERSION = "lifecycle.k8s.io/v1alpha1"


class Reason(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Why the requester wants it: the signal, a sentence for people, the kubelet's annotations."""

    signal: str | None = None
    message: str = ""
    annotations: dict[str, str] = {}


class EvictionRequestSpec(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A wish. `type` may only be tightened: Soft, SoftWithDeadline, Hard."""

    target: Target = Target()
    requester: str = ""
    intent: Annotated[str, words("Eviction", "Withdrawn")] = ""
    type: Annotated[str, words("Soft", "SoftWithDeadline", "Hard")] = "Soft"
    deadline_seconds: float | None = None
    grace_period_seconds: int | None = None
    dry_run: bool = False
    reason: Reason | None = None


class EvictionRequest(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A requester's own object; `api_version`, `kind` and `metadata` may be left out."""

    spec: EvictionRequestSpec = EvictionRequestSpec()
    api_version: str = API_VERSION
    kind: str = "EvictionRequest"
    metadata: Metadata = Metadata()
    epoch: int = 0
    rev: int = 0


class RequestStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """The controller's answer to one request. `uid` and time are minted at first sight.

    `final_time`: since when nothing comes of it any more unless its spec changes, so that its
    requester may clear it; absent while something may.
    """

    uid: str
    generation: int
    creation_timestamp: Timestamp
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    eviction: ObjectReference | None = None
    final_time: Timestamp | None = None
    epoch: int = 0
    rev: int = 0


class RequesterStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """One requester of the target and what it wants now."""

    name: str = ""
    intent: str = ""


class TargetResponder(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One responder of the chain; the set of names is fixed at the first write."""

    name: str = ""
    priority: int | None = None
    state: str = ""


class Setback(Struct, frozen=True, kw_only=True, rename="camel"):
    """What did not work and is tried again, in figures. `cause` is a word for programs."""

    cause: str
    attempts: int = 0
    next_try_time: Timestamp | None = None


class ResponderStatus(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the controller knows of one responder's work. [eviction-request-api 2.3]"""

    name: str = ""
    start_time: Timestamp | None = None
    heartbeat_time: Timestamp | None = None
    expected_completion_time: Timestamp | None = None
    completion_time: Timestamp | None = None
    message: str = ""
    deadline_time: Timestamp | None = None
    interrupted_reason: str | None = None
    point_of_no_return: bool = False
    setback: Setback | None = None


class Forced(Struct, frozen=True, kw_only=True, rename="camel"):
    """Who made the Eviction Hard, and when."""

    by: str
    time: Timestamp


class EvictionSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """The target and nothing else."""

    target: Target = Target()


class EvictionStatus(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Everything the controller decided. Lists are written even when empty."""

    conditions: tuple[Condition, ...] = field(default_factory=tuple)
    observed_generation: int | None = None
    requesters: tuple[RequesterStatus, ...] = field(default_factory=tuple)
    target_responders: tuple[TargetResponder, ...] = field(default_factory=tuple)
    responders: tuple[ResponderStatus, ...] = field(default_factory=tuple)
    node: str = ""
    type: str = field(default_factory=lambda: "Soft")
    grace_period_seconds: int | None = None
    deadline_time: Timestamp | None = None
    dry_run: bool = field(default_factory=bool)
    reason: Reason | None = None
    forced: Forced | None = None
    round: int = 0
    """How often the whole chain ended without evicting the target before this Eviction."""


class Eviction(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One running eviction of one target; the controller alone writes it."""

    metadata: Metadata = Metadata()
    spec: EvictionSpec = EvictionSpec()
    status: EvictionStatus = EvictionStatus()
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: str = field(default_factory=lambda: "Eviction")
    epoch: int = 0
    rev: int = 0


class Report(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the Active responder says of its work; another `eviction_uid` is ignored."""

    eviction_uid: Uid
    heartbeat_time: Timestamp | None = None
    expected_completion_time: Timestamp | None = None
    completion_time: Timestamp | None = None
    message: str = ""
    point_of_no_return: bool = False
    target_gone: bool = False
    setback: Setback | None = None
    epoch: int = 0
    rev: int = 0


class LabelSelector(Struct, frozen=True, kw_only=True, rename="camel"):
    """Kubernetes' selector, equality part."""

    match_labels: dict[str, str] = {}


class Registration(Struct, frozen=True, kw_only=True, rename="camel"):
    """A responder that is there, how to reach its deadlines, and for which pods it works."""

    status: Presence
    epoch: int = 0
    connection: int = 0
    priority: int | None = None
    selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    start_deadline_seconds: Number | None = None
    heartbeat_deadline_seconds: Number | None = None
    heartbeat_seconds: Number | None = None
    supports_dry_run: bool = False
