"""Names of Evictions, `pod-<n>-<pod name>`, and the topics of what is said of them.

[eviction-request-api 5.7] [contract 2]
"""

import re
from collections.abc import Iterable

from evictd_schemas import Eviction, topics

_NAME = re.compile(r"pod-([0-9]+)-(.+)", re.DOTALL)


def eviction_name(pod_name: str, number: int) -> str:
    """The name of a target's Eviction, cut at 253 bytes and never ending in a dash or a dot."""
    return topics.cut(f"pod-{number}-{pod_name}").rstrip("-.")


def next_number(pod_name: str, existing: Iterable[str]) -> int:
    """One past the highest number among the Evictions of a namespace that are named after the pod.

    A name that was cut stands for every pod whose name begins with what is left of it.
    """
    numbers = (_number(pod_name, name) for name in existing)
    return 1 + max((number for number in numbers if number is not None), default=0)


def eviction_topic(node: str, eviction: Eviction) -> str:
    """Where an Eviction stands."""
    metadata = eviction.metadata
    return topics.EVICTION.at(node, namespace=metadata.namespace, name=metadata.name)


def report_topic(node: str, eviction: Eviction, responder: str) -> str:
    """Where a responder reports on it."""
    metadata = eviction.metadata
    return topics.REPORT.at(
        node, namespace=metadata.namespace, name=metadata.name, **topics.levels(responder)
    )


def _number(pod_name: str, name: str) -> int | None:
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    number, rest = match.groups()
    cut = eviction_name(pod_name, int(number)) == name
    return int(number) if rest == pod_name or cut else None
