"""How one machine stands, as a value: what is short, who leaves, is down, is next, is late.

Read from the bus here; `offline` finds out the same without one. Printing it is `standing_text`.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from fnmatch import fnmatchcase

from msgspec import Struct

from evictd.cli import absence
from evictd.cli.eviction_texts import deadline_of, end_time, name_told
from evictd.cli.node_tables import held_conditions, node_names
from evictd.client import Mirror
from evictd.core.decision import Judged, Plan
from evictd.core.decision.candidates import Verdict
from evictd.core.decision.explanation import Situation, explained
from evictd.core.decision.filling import spares
from evictd.core.moments import Now
from evictd.core.node_conditions import unknown
from evictd.core.protocol.chain import active
from evictd.core.protocol.vocabulary import PresenceStatus, Status
from evictd.shell.configuration import rules_of
from evictd_schemas import Eviction, Pressure, RankedPod, WorkerStatus, topics
from evictd_schemas.configuration import Configuration
from evictd_schemas.topics import ALL, WORKERS, Role

LATE_SECONDS = 1.0
"""A loop that was late by more, or somebody who has been waited for longer, is worth a line."""
WAITING = " waiting"
"""How the figure of a source ends that says how long it has been waited for."""
GOING = frozenset({Verdict.VICTIM, Verdict.CANDIDATE})
NEEDED = tuple(role for role in WORKERS if role is not Role.GATEWAY)


class Held(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A condition that is not plainly false; `since` None where only this moment is known."""

    type: str
    status: str
    message: str = ""
    since: datetime | None = None


class Leaving(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An Eviction that runs; `responder` None: nobody has the turn."""

    namespace: str
    name: str
    node: str
    responder: str | None = None
    dry_run: bool = False
    deadline_time: datetime | None = None


class Down(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What does not run because of evictd. `returns`: when it comes back, in words."""

    namespace: str
    name: str
    since: datetime
    returns: str
    signal: str | None = None
    next_try_time: datetime | None = None


class Following(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who would go first."""

    namespace: str
    name: str
    why: str = ""


class Gone(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What was evicted lately."""

    namespace: str
    name: str
    node: str
    time: datetime | None = None
    why: str = ""


class Neighbour(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Another node of the bus, and the conditions that hold there."""

    node: str
    conditions: tuple[str, ...] = ()


class Standing(Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything. `source`: `bus`, or `machine` where no broker answers.

    `known`: anybody has judged the node; `workers`: who is ready, `served_by`: whose workers decide
    where it has none; `holds`: what a person leaves as it is; `journal`: why the journal tells
    nothing.
    """

    node: str
    source: str
    mode: str
    observed: datetime | None = None
    known: bool = True
    conditions: tuple[Held, ...] = ()
    leaving: tuple[Leaving, ...] = ()
    down: tuple[Down, ...] = ()
    holds: tuple[str, ...] = ()
    next: Following | None = None
    workers: tuple[str, ...] = ()
    served_by: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    evicted: tuple[Gone, ...] = ()
    journal: str = ""
    others: tuple[Neighbour, ...] = ()


def standing(mirror: Mirror, configuration: Configuration, node: str, now: datetime) -> Standing:
    """Of a node, by what is on the bus."""
    pressure = mirror.get(topics.PRESSURE, node)
    decision = mirror.get(topics.DECISION, node)
    observation = mirror.get(topics.OBSERVATION, node)
    statuses = [found.message for found in mirror.objects(topics.WORKER, node)]
    names = {status.worker for status in statuses}
    running = tuple(_leaving(mirror, node))
    return Standing(
        node=node,
        source="bus",
        mode=decision.mode if decision is not None else rules_of(configuration, node).mode,
        observed=None if observation is None else observation.time,
        known=is_known(pressure),
        conditions=tuple(held(pressure)),
        leaving=running,
        down=tuple(_down(mirror, node, now)),
        holds=tuple(absence.holds(mirror, node, now)),
        next=following(ranking(mirror, configuration, node, now), running),
        workers=tuple(
            status.worker for status in statuses if status.status == PresenceStatus.READY
        ),
        served_by=() if statuses else tuple(served_from(mirror, node)),
        late=tuple(late(statuses)),
        missing=()
        if ALL in names or not names
        else tuple(role.value for role in NEEDED if role not in names),
        others=tuple(neighbours(mirror, node)),
    )


def is_known(pressure: Pressure | None) -> bool:
    """Whether anything can be said about its conditions."""
    return pressure is not None and not unknown(pressure)


def held(pressure: Pressure | None) -> Iterator[Held]:
    """Conditions that hold, or of which nothing is known."""
    for condition in () if pressure is None else pressure.conditions:
        if condition.status != Status.FALSE:
            yield Held(
                type=condition.type,
                status=condition.status,
                message=condition.message or condition.reason,
                since=condition.last_transition_time,
            )


def leaving(eviction: Eviction, namespace: str) -> Leaving | None:
    """None for one that is over."""
    status = eviction.status
    if end_time(status) is not None:
        return None
    current = active(status.target_responders)
    return Leaving(
        namespace=namespace,
        name=name_told(eviction),
        node=status.node or "",
        responder=None if current is None else current.name,
        dry_run=bool(status.dry_run),
        deadline_time=deadline_of(status),
    )


def _leaving(mirror: Mirror, node: str) -> Iterator[Leaving]:
    for found in mirror.objects(topics.EVICTION, node):
        running = leaving(found.message, found.place.names["namespace"])
        if running is not None:
            yield running


def _down(mirror: Mirror, node: str, now: datetime) -> Iterator[Down]:
    said = absence.absent(mirror, node)
    for found in mirror.objects(topics.STOPPED, node):
        stopped, names = found.message, found.place.names
        namespace, name = names["namespace"], names["name"]
        yield Down(
            namespace=namespace,
            name=name,
            since=stopped.time,
            signal=stopped.signal,
            next_try_time=stopped.next_try_time,
            returns=absence.return_text(stopped, said.get(f"{namespace}/{name}"), now),
        )


def following(order: Iterable[RankedPod], running: Iterable[Leaving]) -> Following | None:
    """The first who may go and is not on its way already, whoever asked for that."""
    gone = {(one.namespace, one.name) for one in running}
    free = (row for row in order if (row.pod.namespace, row.pod.name) not in gone)
    row = next((row for row in free if row.verdict in GOING), None)
    if row is None:
        return None
    return Following(namespace=row.pod.namespace, name=row.pod.name, why=row.why)


def ranking(
    mirror: Mirror, configuration: Configuration, node: str, now: datetime
) -> tuple[RankedPod, ...]:
    """The order of the last decision; with the present figures where that had none."""
    decision = mirror.get(topics.DECISION, node)
    rules = rules_of(configuration, node)
    if decision is not None and decision.ranking:
        return eligible(decision.ranking, spared=spares(rules, decision.signal or ""))
    observation = mirror.get(topics.OBSERVATION, node)
    pressure = mirror.get(topics.PRESSURE, node)
    if observation is None or pressure is None:
        return ()
    given = Judged(pressure=pressure, observation=observation)
    moment = Now(boot_seconds=observation.uptime_seconds or 0.0, utc=now)
    found = explained(Situation(rules=rules, plan=Plan(), given=given, now=moment))
    return eligible(found.ranking, spared=found.spared)


def eligible(order: tuple[RankedPod, ...], *, spared: bool) -> tuple[RankedPod, ...]:
    """Whose turn it may be; where a stop frees nothing, only who is seen to fill the disk."""
    return tuple(row for row in order if row.verdict == Verdict.VICTIM or not spared)


def late(statuses: Iterable[WorkerStatus]) -> Iterator[str]:
    """Who is not ready, what a worker complains of, and what it says to wait for."""
    for status in statuses:
        if status.status != PresenceStatus.READY:
            yield f"{status.worker} is {status.status} {status.message}".rstrip()
            continue
        if status.message:
            yield f"{status.worker}: {status.message}"
        for name, seconds in sorted(status.lag.items()):
            text = _lag_text(name, seconds)
            if seconds > LATE_SECONDS and text and name.removesuffix(WAITING) not in status.message:
                yield f"{status.worker}: {text}"


def _lag_text(name: str, seconds: float) -> str:
    """Of those figures that are seconds somebody has to wait; "" for all others."""
    if name == "loop":
        return f"its loop was late by {seconds:g} s"
    if name == "broker":
        return f"the broker took {seconds:g} s to answer"
    if name.endswith(WAITING) and not name.endswith("storage" + WAITING):
        source = name.removesuffix(WAITING).partition(" ")[2]
        return f"{source} had not answered for {seconds:g} s"
    return ""


def served_from(mirror: Mirror, node: str) -> list[str]:
    """Other nodes whose workers decide for this one too. [contract 2]"""
    every = ((found.place.node, found.message) for found in mirror.objects(topics.WORKER))
    return sorted(
        {
            host
            for host, status in every
            if status.status == PresenceStatus.READY
            and any(fnmatchcase(node, one) for one in status.serves)
        }
    )


def neighbours(mirror: Mirror, node: str) -> Iterator[Neighbour]:
    """What else is on the bus."""
    for name in node_names(mirror):
        if name != node:
            yield Neighbour(
                node=name, conditions=held_conditions(mirror.get(topics.PRESSURE, name))
            )
