"""What the evictor is told about one node. Each input is whole state: repeating one is harmless."""

from typing import TypeAlias

from msgspec import Struct

from evictd_schemas import (
    Decision,
    Eviction,
    EvictionRequest,
    Observation,
    OrderStatus,
    Pressure,
    RequestStatus,
    Stopped,
    Wish,
)


class Judged(Struct, frozen=True, kw_only=True):
    """A Pressure with the whole view of the node at its sequence or later.

    `listed`: it came with the list on subscribing, so nothing is decided on it. [contract 1,
    Retained delivery; 3, Pressure]
    """

    pressure: Pressure
    observation: Observation
    listed: bool = False


class Seen(Struct, frozen=True, kw_only=True):
    """An Eviction of the node, whoever asked for it; None when it was collected."""

    namespace: str
    name: str
    eviction: Eviction | None


class Answered(Struct, frozen=True, kw_only=True):
    """The controller's status of one of our requests; `topic` is that of the request."""

    topic: str
    status: RequestStatus | None


class Ordered(Struct, frozen=True, kw_only=True):
    """The responder's status of an order of ours."""

    name: str
    status: OrderStatus | None


class Wished(Struct, frozen=True, kw_only=True):
    """A wish of a person or a program; `topic` is its identity, None when it was taken back."""

    topic: str
    wish: Wish | None


class Fallen(Struct, frozen=True, kw_only=True):
    """What is down because of evictd; None when it is up again or was removed."""

    namespace: str
    name: str
    stopped: Stopped | None


class Retained(Struct, frozen=True, kw_only=True):
    """A request of ours as it was found on the bus."""

    topic: str
    request: EvictionRequest


class Recalled(Struct, frozen=True, kw_only=True):
    """Our own retained state after a restart: the evictor has no other memory. [design, law 5]"""

    decision: Decision | None
    requests: tuple[Retained, ...] = ()


class Gone(Struct, frozen=True, kw_only=True):
    """A foreign node that nobody hears of any more: what was said about it is taken back.

    [contract 2]
    """


Given: TypeAlias = Judged | Seen | Answered | Ordered | Wished | Fallen | Recalled | Gone
