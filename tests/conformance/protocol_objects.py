"""Objects of the EvictionRequest vectors as objects of the wire, and back.

Times of the vectors are seconds; here they are counted from one fixed instant. What is absent and
what is null are the same: unset.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from evictd_schemas import Condition, Container, DeclaredResponder, Pod

T = TypeVar("T")

Operation = Callable[[Any], Any]

ORIGIN = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE = "ns"


class Plain(dict[str, Any]):
    """A document without nulls, whose absent keys read as None."""

    def __missing__(self, key: str) -> None:
        return None


def plain(value: Any) -> Any:
    """The same document, in which nothing is null and nothing has to be there."""
    if isinstance(value, Mapping):
        return Plain({key: plain(item) for key, item in value.items() if item is not None})
    return [plain(item) for item in value] if isinstance(value, list) else value


def over_plain(operation: Operation) -> Operation:
    """An operation that is given its documents so."""
    return lambda given: operation(plain(given))


def time_of(seconds: float | None) -> datetime | None:
    """The instant of a number of seconds."""
    return None if seconds is None else ORIGIN + timedelta(seconds=seconds)


def at(seconds: float) -> datetime:
    """The instant of seconds that are there."""
    return ORIGIN + timedelta(seconds=seconds)


def seconds_of(time: datetime | None) -> float | None:
    """The seconds of an instant, whole where they are."""
    return None if time is None else whole((time - ORIGIN).total_seconds())


def whole(seconds: float) -> float:
    """A number of seconds as the vectors write it: whole where it is."""
    return int(seconds) if seconds == int(seconds) else seconds


def with_times(value: Any) -> Any:
    """The same document with its seconds as times."""
    if isinstance(value, Mapping):
        return {
            key: time_of(item)
            if key.endswith(("Time", "Timestamp", "finishedAt")) and isinstance(item, int | float)
            else with_times(item)
            for key, item in value.items()
            if item is not None
        }
    return [with_times(item) for item in value] if isinstance(value, list) else value


def read(given: Any, kind: type[T]) -> T:
    """A document of the vectors as a Struct."""
    return msgspec.convert(with_times(given or {}), kind)


def pod_of(given: Mapping[str, Any] | None) -> Pod | None:
    """A Kubernetes pod as evictd's."""
    if given is None:
        return None
    given = plain(given)
    metadata, spec, status = (given.get(part, {}) for part in ("metadata", "spec", "status"))
    group = spec.get("schedulingGroup")
    return Pod(
        namespace=metadata.get("namespace", NAMESPACE),
        name=metadata.get("name", ""),
        uid=metadata.get("uid", ""),
        phase=status.get("phase", "Running"),
        deletion_time=time_of(metadata.get("deletionTimestamp")),
        scheduling_group=None if group is None else group.get("podGroupName", ""),
        eviction_responders=tuple(
            msgspec.convert(item, DeclaredResponder) for item in spec.get("evictionResponders", ())
        ),
        containers=tuple(_container(item, {}) for item in status.get("containerStatuses", ())),
        init_containers=_init_containers(spec, status),
    )


def _init_containers(spec: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[Container, ...]:
    declared = {item.get("name", ""): item for item in spec.get("initContainers", ())}
    return tuple(
        _container(item, declared.get(item.get("name", ""), {}))
        for item in status.get("initContainerStatuses", ())
    )


def _container(status: Mapping[str, Any], declared: Mapping[str, Any]) -> Container:
    ended = status.get("state", {}).get("terminated") or {}
    return Container(
        name=status.get("name", ""),
        restart_policy=declared.get("restartPolicy"),
        finish_time=time_of(ended.get("finishedAt")),
    )


def condition_document(condition: Condition) -> dict[str, Any]:
    """A condition as the vectors write it."""
    return {
        "type": str(condition.type),
        "status": str(condition.status),
        "reason": str(condition.reason),
        "message": condition.message,
        "lastTransitionTime": seconds_of(condition.last_transition_time),
    }
