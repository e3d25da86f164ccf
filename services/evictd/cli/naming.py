"""Whom a person means by a name: the names of everything that a verb takes one for."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from evictd.cli.eviction_texts import target_of
from evictd.cli.situation import NotFoundError
from evictd.cli.tables import Item
from evictd.cli.wishing import down
from evictd.client import Found, Mirror
from evictd.core.protocol.facts import terminal
from evictd.core.wording import name_text
from evictd_schemas import Eviction, EvictionRequest, Pod, PodReference, topics

T = TypeVar("T")

NOTHING_DOWN = "nothing is down because of evictd"

NAMES_MAX = 20
"""Names told to somebody who mistyped one."""
ELSEWHERE = {"eviction": "; `evictd history` tells what has ended"}
"""Where else somebody may find what is not on the bus any more."""


def the_one(kind: str, text: str, found: Iterable[T], names_of: Callable[[T], Iterable[str]]) -> T:
    """Whom a person means by a name. Raises `NotFoundError`, also where it may be several.

    The first of an object's names is the longest one, which is told to somebody who mistyped.
    """
    every = {next(iter(names_of(one))): one for one in found}
    meant = {name: one for name, one in every.items() if text in tuple(names_of(one))}
    if len(meant) == 1:
        return next(iter(meant.values()))
    if meant:
        several = ", ".join(list(meant)[:NAMES_MAX])
        raise NotFoundError(f"{text!r} may be any of {several}; --node or the whole name tells")
    known = ", ".join(list(every)[:NAMES_MAX])
    others = f"; there are {known}" if known else ""
    raise NotFoundError(f"there is no {kind} {text!r}{others}{ELSEWHERE.get(kind, '')}")


def eviction_names(found: Found[Eviction]) -> Iterable[str]:
    """How an Eviction may be called: with the node where two have it, without the namespace, or by
    the workload that it is about."""
    name = found.place.namespaced_name
    return f"{found.place.node} {name}", name, *_short_names(found)


def request_names(found: Found[EvictionRequest]) -> Iterable[str]:
    """The same of a request, which its requester tells apart, or by the workload it is about."""
    name = found.place.namespaced_name
    full_name = f"{found.place.participant}/{name}"
    return f"{found.place.node} {full_name}", full_name, name, *_short_names(found)


def _short_names(found: Found[Eviction] | Found[EvictionRequest]) -> Iterable[str]:
    target = target_of(found)
    return found.place.names["name"], target, target.partition("/")[2], found.topic


def responder_names(item: Item) -> Iterable[str]:
    """How a responder may be called: with the node where several have it."""
    return f"{item.cells[0]} {item.name}", item.name


def pod_names(found: tuple[str, Pod | PodReference]) -> Iterable[str]:
    """How a workload may be called."""
    node, pod = found
    return f"{node} {name_text(pod)}", name_text(pod), pod.name, pod.uid


def observed_pod(mirror: Mirror, name: str) -> tuple[str, Pod]:
    """The workload of that name and its node. Raises `NotFoundError`, also for one that is down."""
    every = [
        (found.place.node, pod)
        for found in mirror.objects(topics.OBSERVATION)
        for pod in found.message.pods or ()
        if not terminal(pod)
    ]
    stopped = next((one for one in down(mirror) if name in tuple(pod_names(one))), None)
    if stopped is not None and not any(name in tuple(pod_names(one)) for one in every):
        node, life = stopped
        raise NotFoundError(
            f"{name_text(life)} on {node} is down because of evictd: `evictd status` tells what "
            "keeps it there, and `evictd restore` starts it"
        )
    return the_one("workload", name, every, pod_names)


def stopped_pod(found: Sequence[tuple[str, PodReference]], name: str) -> tuple[str, PodReference]:
    """The one of that name that is down because of evictd, and its node. Raises `NotFoundError`."""
    if not found:
        raise NotFoundError(NOTHING_DOWN)
    if not any(name in tuple(pod_names(one)) for one in found):
        others = ", ".join(name_text(pod) for _, pod in found[:NAMES_MAX])
        raise NotFoundError(f"{name!r} is not down because of evictd; what is: {others}")
    return the_one("workload", name, found, pod_names)
