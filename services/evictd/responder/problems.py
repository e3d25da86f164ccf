"""Which messages the built-in responder refuses to judge, and why.

It knows the messages alone, neither what is known already nor what comes of them.
[contract 3, Eviction, Order]
"""

from collections.abc import Sequence
from typing import Any

from evictd.core.admission import names
from evictd.core.problems import Problem
from evictd_schemas import Eviction, Order, topics
from evictd_schemas.topics import Place


def problems(place: Place[Any], message: Any) -> Sequence[Problem]:
    """The rules about values; nothing, where a message is judged."""
    if isinstance(message, Eviction) and place.kind is topics.EVICTION:
        return _eviction_problems(place, message)
    if isinstance(message, Order) and place.kind is topics.ORDER and not message.uid:
        return (Problem(field="uid", reason="it is empty"),)
    return ()


def _eviction_problems(place: Place[Any], eviction: Eviction) -> Sequence[Problem]:
    metadata, pod = eviction.metadata, eviction.spec.target.pod
    expected = {
        "metadata.namespace": (metadata.namespace, place.names["namespace"]),
        "metadata.name": (metadata.name, place.names["name"]),
    }
    found = [
        Problem(field=field, reason=f"{given!r} is not that of the topic, {wanted!r}")
        for field, (given, wanted) in expected.items()
        if given != wanted
    ]
    if not metadata.uid:
        found.append(Problem(field="metadata.uid", reason="it is empty"))
    if pod is None or not pod.name:
        reason = "a pod with name and uid is needed"
        found.append(Problem(field="spec.target.pod", reason=reason))
    else:
        found.extend(names.uid("spec.target.pod.uid", pod.uid))
    return found
