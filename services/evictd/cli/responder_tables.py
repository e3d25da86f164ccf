"""Responders as rows: those that have registered, the built-in ones, and those only named."""

from collections.abc import Iterator
from datetime import datetime

from evictd.cli.eviction_texts import document
from evictd.cli.kinds import Kind
from evictd.cli.tables import NOTHING, Item, age, listed
from evictd.client import Found, Mirror
from evictd.core.protocol.chain import REGISTERED_PRIORITY
from evictd.core.protocol.progression import SILENCE_SECONDS
from evictd.core.protocol.vocabulary import DEFAULT_PRIORITY, DEFAULT_RESPONDER, State
from evictd.core.wording import name_text
from evictd_schemas import Pod, Registration, topics
from evictd_schemas.topics import ALL, Role

UPSTREAM_PATIENCE = age(SILENCE_SECONDS)
"""How long a responder is waited for that names no deadline of its own."""


def responders(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """Those that have registered, those that workloads name, and the built-in one of each node."""
    del now
    nodes = sorted({found.place.node for found in mirror.objects(topics.WORKER)})
    for node in nodes:
        yield from _built_in(mirror, node)
    registered = {}
    for found in mirror.objects(topics.REGISTRATION):
        name = found.place.participant
        registered[found.place.node, name] = found
        yield _registered(mirror, found, name)
    for (node, name), pods in sorted(_declared(mirror).items()):
        if (node, name) not in registered:
            yield _only_declared(mirror, node, name, pods)


def at_work(mirror: Mirror, node: str, responder: str) -> str:
    """The Evictions in which it is a responder's turn."""
    return listed(
        found.message.metadata.name
        for found in mirror.objects(topics.EVICTION, node)
        for item in found.message.status.target_responders
        if item.name == responder and item.state == State.ACTIVE
    )


def _built_in(mirror: Mirror, node: str) -> Iterator[Item]:
    """Its worker stands for it. [contract 3, Registration]"""
    for worker in (Role.RESPONDER.value, ALL):
        status = mirror.get(topics.WORKER, node, worker=worker)
        if status is not None:
            yield Item(
                name=DEFAULT_RESPONDER,
                cells=(
                    node,
                    DEFAULT_RESPONDER,
                    status.status,
                    str(DEFAULT_PRIORITY),
                    "all",
                    at_work(mirror, node, DEFAULT_RESPONDER),
                ),
                wide=(UPSTREAM_PATIENCE, UPSTREAM_PATIENCE, "yes"),
                document={"node": node, "name": DEFAULT_RESPONDER, "status": status.status},
            )
            return


def _registered(mirror: Mirror, found: Found[Registration], name: str) -> Item:
    message, node = found.message, found.place.node
    start, heartbeat = message.start_deadline_seconds, message.heartbeat_deadline_seconds
    return Item(
        name=name,
        cells=(
            node,
            name,
            message.status,
            str(message.priority or REGISTERED_PRIORITY),
            _selected(message),
            at_work(mirror, node, name),
        ),
        wide=(
            UPSTREAM_PATIENCE if start is None else age(start),
            UPSTREAM_PATIENCE if heartbeat is None else age(heartbeat),
            "yes" if message.supports_dry_run else "no",
        ),
        document=document(found, name=name),
    )


def _selected(message: Registration) -> str:
    labels = message.selector.match_labels if message.selector is not None else {}
    places = [f"{namespace}/*" for namespace in message.namespaces]
    texts = [f"{label}={value}" for label, value in sorted(labels.items())]
    return ", ".join((*places, *texts)) or "all"


def _declared(mirror: Mirror) -> dict[tuple[str, str], list[Pod]]:
    found: dict[tuple[str, str], list[Pod]] = {}
    for observed in mirror.objects(topics.OBSERVATION):
        for pod in observed.message.pods or ():
            for responder in pod.eviction_responders:
                found.setdefault((observed.place.node, responder.name), []).append(pod)
    return found


def _only_declared(mirror: Mirror, node: str, name: str, pods: list[Pod]) -> Item:
    priorities = {
        str(item.priority) for pod in pods for item in pod.eviction_responders if item.name == name
    }
    names = [name_text(pod) for pod in pods]
    return Item(
        name=name,
        cells=(
            node,
            name,
            "not registered",
            listed(sorted(priorities)),
            listed(names),
            at_work(mirror, node, name),
        ),
        wide=(NOTHING, NOTHING, NOTHING),
        document={"node": node, "name": name, "declaredBy": names},
    )


RESPONDERS = Kind(
    head=("NODE", "RESPONDER", "STATUS", "PRIORITY", "WORKLOADS", "AT WORK ON"),
    wide_head=("START DEADLINE", "HEARTBEAT DEADLINE", "DRY RUN"),
    items=responders,
)
