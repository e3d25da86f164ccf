"""Namespace and name of a container: Compose's project and service, or its own name."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct

from evictd.runtimes.docker.inspection import Summary

PROJECT = "com.docker.compose.project"
SERVICE = "com.docker.compose.service"
NUMBER = "com.docker.compose.container-number"
ONE_OFF = "com.docker.compose.oneoff"
DEPENDS_ON = "com.docker.compose.depends_on"
NO_PROJECT = "_"
SHORT_ID_LENGTH = 12


Replicas: TypeAlias = Mapping[str, tuple[str, ...]]


class Name(Struct, frozen=True, kw_only=True, order=True):
    """What a workload is called on the bus, whatever its life."""

    namespace: str
    name: str

    @property
    def words(self) -> tuple[str, str]:
        """Both, in this order."""
        return self.namespace, self.name


def names(summaries: Iterable[Summary]) -> dict[str, Name]:
    """Container id to name.

    Stopped replicas count too, so that a name does not change when one of them is stopped.
    """
    known = tuple(summaries)
    replicas = Counter(_service(item.labels or {}) for item in known)
    found: dict[str, Name] = {}
    taken: set[Name] = set()
    for item in sorted(known, key=lambda summary: summary.id):
        name = _name(item, replicas)
        if name in taken:
            clear = f"{name.name}-{item.id[:SHORT_ID_LENGTH]}"
            name = Name(namespace=name.namespace, name=clear)
        taken.add(name)
        found[item.id] = name
    return found


def replicas(named: Iterable[Name], summaries: Iterable[Summary]) -> Replicas:
    """`project/service` to the names of its containers, where they are called otherwise.

    `named` in the order of `summaries`.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, item in zip(named, summaries, strict=True):
        service = _service(item.labels or {})
        if service is not None and service[1] != name.name:
            key = "/".join(service)
            found[key] = (*found.get(key, ()), f"{name.namespace}/{name.name}")
    return {service: tuple(sorted(names)) for service, names in found.items()}


def every(needed: Iterable[str], known: Replicas) -> tuple[str, ...]:
    """Each name once; that of a service of several containers as all of theirs."""
    names = (one for name in needed for one in known.get(name, (name,)))
    return tuple(dict.fromkeys(names))


def own_name(summary: Summary) -> str:
    """The container's own name without its slash, or its short id."""
    given = (summary.names or ("",))[0].strip("/")
    return given or summary.id[:SHORT_ID_LENGTH]


def _name(summary: Summary, replicas: Mapping[tuple[str, str] | None, int]) -> Name:
    labels = summary.labels or {}
    service = _service(labels)
    if service is None:
        namespace = labels.get(PROJECT) or NO_PROJECT
        return Name(namespace=namespace, name=own_name(summary))
    project, name = service
    number = labels.get(NUMBER, "1")
    if number == "1" and replicas[service] == 1:
        return Name(namespace=project, name=name)
    return Name(namespace=project, name=f"{name}-{number}")


def _service(labels: Mapping[str, str]) -> tuple[str, str] | None:
    """Project and service, None for what Compose did not start as a service."""
    project, name = labels.get(PROJECT), labels.get(SERVICE)
    if not project or not name or one_off(labels):
        return None
    return project, name


def one_off(labels: Mapping[str, str]) -> bool:
    """Whether it is a `compose run`: somebody waits for its end."""
    return labels.get(ONE_OFF, "False").lower() == "true"


def dependencies(labels: Mapping[str, str], namespace: str) -> tuple[str, ...]:
    """What Compose recorded as `depends_on`: `db:service_started:false,cache:...`."""
    entries = (entry.partition(":")[0] for entry in labels.get(DEPENDS_ON, "").split(","))
    return tuple(f"{namespace}/{name.strip()}" for name in entries if name.strip())
