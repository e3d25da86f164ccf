"""Pods of the vectors as pods of the wire: cores for `cpu_milli`, UUIDs for their short uids."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import msgspec

from evictd_schemas import (
    Container,
    Pod,
    PodResources,
    PodStatistics,
    Resources,
    Toleration,
    Volume,
)


def uid_of(name: str) -> str:
    """The UUID that stands for a uid of the vectors."""
    return str(uuid5(NAMESPACE_OID, name))


def pod_of(given: Mapping[str, Any], statistics: Mapping[str, PodStatistics] | None = None) -> Pod:
    """One pod; `statistics` by the uid as the vectors write it."""
    own_uid = given.get("uid") or given["name"]
    level = given.get("pod_resources")
    return Pod(
        namespace=given.get("namespace") or "",
        name=given["name"],
        uid=uid_of(own_uid),
        priority=given.get("priority"),
        termination_grace_period_seconds=given.get("termination_grace_period_s"),
        qos_class=given.get("qos_class") or None,
        annotations=given.get("annotations") or {},
        pod_resources=None if level is None else _pod_resources(level),
        overhead=resources_of(given.get("overhead")),
        containers=containers_of(given.get("containers")),
        init_containers=containers_of(given.get("init_containers")),
        ephemeral_containers=containers_of(given.get("ephemeral_containers")),
        volumes=tuple(_volume(volume) for volume in given.get("volumes") or ()),
        tolerations=tuple(
            msgspec.convert(toleration, Toleration) for toleration in given.get("tolerations") or ()
        ),
        stats=(statistics or {}).get(own_uid),
    )


def containers_of(given: Sequence[Mapping[str, Any]] | None) -> tuple[Container, ...]:
    """The containers of one list."""
    return tuple(
        Container(
            name=container["name"],
            requests=resources_of(container.get("requests")),
            limits=resources_of(container.get("limits")),
            restart_policy=container.get("restart_policy"),
        )
        for container in given or ()
    )


def resources_of(given: Mapping[str, int] | None) -> Resources:
    """A resource map with cores under `cpu`."""
    return {
        "cpu" if name == "cpu_milli" else name: amount / 1000 if name == "cpu_milli" else amount
        for name, amount in (given or {}).items()
    }


def statistics_of(entries: Sequence[Mapping[str, Any]] | None) -> dict[str, PodStatistics]:
    """The Summary's `pods` list by uid; of two entries with one uid the later wins."""
    return {
        entry["podRef"]["uid"]: msgspec.convert(_without_times(entry), PodStatistics)
        for entry in entries or ()
    }


def _without_times(entry: Any) -> Any:
    """The same document without the offsets that the vectors write for times."""
    if isinstance(entry, Mapping):
        return {key: _without_times(value) for key, value in entry.items() if key != "time_s"}
    if isinstance(entry, list):
        return [_without_times(item) for item in entry]
    return entry


def _pod_resources(given: Mapping[str, Any]) -> PodResources:
    return PodResources(
        requests=resources_of(given.get("requests")), limits=resources_of(given.get("limits"))
    )


def _volume(given: Mapping[str, Any]) -> Volume:
    return Volume(
        name=given["name"],
        kind=given.get("kind") or "",
        medium=given.get("medium") or "",
        size_limit=given.get("size_limit"),
    )
