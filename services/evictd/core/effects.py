"""What a decision asks of the world, as values. The shell carries them out. [design, law 1]

Effects are journalled with the state and may be carried out again after a crash, so each is
harmless when repeated: a publish is the newest whole value, an event keeps its id, a stop checks
the uid again.
"""

from typing import Any, TypeAlias, TypeVar

from msgspec import Struct, structs

from evictd_schemas import (
    Decision,
    Event,
    Eviction,
    EvictionRequest,
    Observation,
    Order,
    OrderStatus,
    PodReference,
    Pressure,
    Report,
    RequestStatus,
    Stopped,
    WorkerStatus,
)

Owned: TypeAlias = (
    Observation
    | Pressure
    | Decision
    | EvictionRequest
    | RequestStatus
    | Eviction
    | Report
    | Order
    | OrderStatus
    | Stopped
    | WorkerStatus
)
"""Everything that a worker of ours writes as state."""
M = TypeVar("M", bound=Owned)


class Publish(Struct, frozen=True, kw_only=True, tag=True):
    """The newest whole value of something this worker owns.

    `topic` comes from `evictd_schemas.topics`.

    The shell stamps `epoch` and `rev` and does not repeat an unchanged message.

    """

    topic: str
    message: Owned


class Retract(Struct, frozen=True, kw_only=True, tag=True):
    """It is gone: the empty retained payload."""

    topic: str


class Emit(Struct, frozen=True, kw_only=True, tag=True):
    """Happened once. Delivered at least once, always under the same id."""

    topic: str
    event: Event


class WakeAt(Struct, frozen=True, kw_only=True, tag=True):
    """Feed `Tick` to the same key at this boot time; replaces an earlier wish of the key."""

    boot_seconds: float


class Stop(Struct, frozen=True, kw_only=True, tag=True):
    """End a workload after checking its uid again; the outcome comes back as `StopEnded`.

    `grace_seconds` after SIGTERM comes SIGKILL; None means the workload's own grace.
    """

    pod: PodReference
    grace_seconds: int | None
    signal: str | None = None
    """The signal under which it is stopped, for the record of what is down because of us."""


class Keep(Struct, frozen=True, kw_only=True, tag=True):
    """An Eviction that has just ended, for people who ask later what was done.

    The journal does it itself, in the transaction of the step; kept again under the same uid it is
    the same one.
    """

    eviction: Eviction


class Tick(Struct, frozen=True, kw_only=True, tag=True):
    """The time asked for by `WakeAt` has come; every step takes it."""


BusEffect: TypeAlias = Publish | Retract | Emit | WakeAt
Asked: TypeAlias = tuple[BusEffect, ...]
ControllerEffect: TypeAlias = BusEffect | Keep

Figures: TypeAlias = dict[str, Any]


def unstamped(message: M) -> M:
    """Without `epoch` and `rev`: two messages that say the same are equal then. [contract 1]"""
    if "rev" not in type(message).__struct_fields__:
        return message
    return structs.replace(message, epoch=0, rev=0)
