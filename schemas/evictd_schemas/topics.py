"""The contract's topic table as data, and the only place that builds or reads a topic. [contract 2]

A topic has one writer. A message that is wrong is answered by one judge; the other readers only
count it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from evictd_schemas.decision import Decision
from evictd_schemas.events import Event, WorkerStatus
from evictd_schemas.eviction import (
    Eviction,
    EvictionRequest,
    Registration,
    Report,
    RequestStatus,
)
from evictd_schemas.observation import Observation
from evictd_schemas.orders import Order, OrderStatus, Stopped, Wish
from evictd_schemas.pressure import Pressure

OWN = "evictd"
"""The first level of everything that is evictd's, in this version of the contract and others."""
ROOT = f"{OWN}/v1"
SEGMENT_BYTES_MAX = 253
PAYLOAD_BYTES_MAX = 1 << 20
"""Larger payloads are answered with MessageRejected; brokers accept 4 MiB so that they arrive at
all."""

M = TypeVar("M")


class Role(StrEnum):
    """Who may write a topic.

    `REQUESTER`, `ANY_RESPONDER` and `PERSON` are outsiders, or ours by name.
    """

    COLLECTOR = "collector"
    EVALUATOR = "evaluator"
    EVICTOR = "evictor"
    CONTROLLER = "controller"
    RESPONDER = "responder"
    GATEWAY = "gateway"
    REQUESTER = "requester"
    ANY_RESPONDER = "any responder"
    PERSON = "person"
    ANY_WORKER = "any worker"


WORKERS = (
    Role.COLLECTOR,
    Role.EVALUATOR,
    Role.EVICTOR,
    Role.CONTROLLER,
    Role.RESPONDER,
    Role.GATEWAY,
)
ALL = "all"
"""The worker level of a process that runs every role on one connection."""


@dataclass(frozen=True, kw_only=True)
class Topic(Generic[M]):
    """Where one kind of message travels, who may write it, and who answers when it is wrong."""

    path: str  # below evictd/v1/{node}/; a level in braces is part of the message's identity
    message: type[M]
    writer: Role
    judge: Role | None
    retained: bool = True

    @property
    def levels(self) -> tuple[str, ...]:
        """The path split at its slashes."""
        return tuple(self.path.split("/"))

    def at(self, node: str, **names: str) -> str:
        """The topic of one message. Raises `ValueError` for a level that MQTT could not carry."""
        filled = [names.pop(level[1:-1]) if level[0] == "{" else level for level in self.levels]
        if names:
            raise TypeError(f"{self.path} has no level {', '.join(names)}")
        for segment in (node, *filled):
            if (problem := segment_problem(segment)) is not None:
                raise ValueError(f"{segment!r} cannot be a level of a topic: {problem}")
        return "/".join((ROOT, node, *filled))

    def everywhere(self, node: str = "+", **names: str) -> str:
        """The filter for all messages of this kind, of one node or of every node."""
        filled = (
            names.get(level[1:-1], "+") if level[0] == "{" else level for level in self.levels
        )
        return "/".join((ROOT, node, *filled))


@dataclass(frozen=True, kw_only=True)
class Place(Generic[M]):
    """A topic read back: which kind of message, whose node, and the names of its open levels."""

    kind: Topic[M]
    node: str
    names: Mapping[str, str]

    @property
    def participant(self) -> str:
        """The requester, responder or person that the topic names, as `acme.io/drain`."""
        return f"{self.names['domain']}/{self.names['key']}"

    @property
    def namespaced_name(self) -> str:
        """The workload or Eviction that the topic names, as `shop/web`."""
        return f"{self.names['namespace']}/{self.names['name']}"


OBSERVATION = Topic(
    path="observation", message=Observation, writer=Role.COLLECTOR, judge=Role.EVALUATOR
)
PRESSURE = Topic(path="pressure", message=Pressure, writer=Role.EVALUATOR, judge=Role.EVICTOR)
DECISION = Topic(path="decision", message=Decision, writer=Role.EVICTOR, judge=None)
REQUEST = Topic(
    path="evictionrequests/{domain}/{key}/{namespace}/{name}",
    message=EvictionRequest,
    writer=Role.REQUESTER,
    judge=Role.CONTROLLER,
)
REQUEST_STATUS = Topic(
    path="evictionrequests/{domain}/{key}/{namespace}/{name}/status",
    message=RequestStatus,
    writer=Role.CONTROLLER,
    judge=None,
)
EVICTION = Topic(
    path="evictions/{namespace}/{name}",
    message=Eviction,
    writer=Role.CONTROLLER,
    judge=Role.RESPONDER,
)
REPORT = Topic(
    path="evictions/{namespace}/{name}/responders/{domain}/{key}",
    message=Report,
    writer=Role.ANY_RESPONDER,
    judge=Role.CONTROLLER,
)
REGISTRATION = Topic(
    path="responders/{domain}/{key}",
    message=Registration,
    writer=Role.ANY_RESPONDER,
    judge=Role.CONTROLLER,
)
ORDER = Topic(path="orders/{name}", message=Order, writer=Role.EVICTOR, judge=Role.RESPONDER)
ORDER_STATUS = Topic(
    path="orders/{name}/status", message=OrderStatus, writer=Role.RESPONDER, judge=Role.EVICTOR
)
STOPPED = Topic(
    path="stopped/{namespace}/{name}",
    message=Stopped,
    writer=Role.RESPONDER,
    judge=Role.EVICTOR,
)
WISH = Topic(
    path="wishes/{domain}/{key}/{name}", message=Wish, writer=Role.PERSON, judge=Role.EVICTOR
)
EVENT = Topic(
    path="events/{worker}/{reason}",
    message=Event,
    writer=Role.ANY_WORKER,
    judge=None,
    retained=False,
)
WORKER = Topic(path="workers/{worker}", message=WorkerStatus, writer=Role.ANY_WORKER, judge=None)

TOPICS: tuple[Topic[Any], ...] = (
    OBSERVATION,
    PRESSURE,
    DECISION,
    REQUEST,
    REQUEST_STATUS,
    EVICTION,
    REPORT,
    REGISTRATION,
    ORDER,
    ORDER_STATUS,
    STOPPED,
    WISH,
    EVENT,
    WORKER,
)


def segment_problem(segment: str) -> str | None:
    """Why a name cannot be one level of a topic, or None. [contract 1]"""
    if not segment:
        return "it is empty"
    if len(segment.encode(errors="surrogatepass")) > SEGMENT_BYTES_MAX:
        return f"it is longer than {SEGMENT_BYTES_MAX} bytes"
    if segment.startswith("$"):
        return "it begins with $"
    if any(character in "/+#" for character in segment):
        return "it holds one of / + #"
    if any(character.isspace() or not character.isprintable() for character in segment):
        return "it holds a blank or a control character"
    return None


def is_outside(topic: str) -> bool:
    """Whether a topic belongs to others: to neither evictd, in any version, nor the broker."""
    first = topic.partition("/")[0]
    return first != OWN and not first.startswith("$")


def cut(name: str, bytes_max: int = SEGMENT_BYTES_MAX) -> str:
    """As much of the beginning of a name as fits, in whole characters."""
    return name.encode()[:bytes_max].decode(errors="ignore")


def levels(participant: str) -> dict[str, str]:
    """The two levels that a domain-prefixed name takes in a topic."""
    domain, _, key = participant.partition("/")
    return {"domain": domain, "key": key}


def place(topic: str) -> Place[Any] | None:
    """Read a topic back.

    None when it is none of the table, or below what can be no node: there nothing could be said
    either.
    """
    words = topic.split("/")
    if words[:2] != ROOT.split("/") or len(words) < 4:
        return None
    node, rest = words[2], tuple(words[3:])
    if segment_problem(node) is not None:
        return None
    for kind in TOPICS:
        if (names := _match(kind.levels, rest)) is not None:
            return Place(kind=kind, node=node, names=names)
    return None


def _match(pattern: tuple[str, ...], levels: tuple[str, ...]) -> dict[str, str] | None:
    if len(pattern) != len(levels):
        return None
    names = {}
    for expected, level in zip(pattern, levels, strict=True):
        if expected[0] == "{":
            names[expected[1:-1]] = level
        elif expected != level:
            return None
    return names


def matches(topic_filter: str, topic: str) -> bool:
    """Whether a subscription filter with `+` and `#` takes a topic. [MQTT 5, 4.7]"""
    return _levels_match(iter(topic_filter.split("/")), iter(topic.split("/")))


def _levels_match(wanted: Iterator[str], levels: Iterator[str]) -> bool:
    for expected in wanted:
        if expected == "#":
            return True
        level = next(levels, None)
        if level is None or expected not in ("+", level):
            return False
    return next(levels, None) is None
