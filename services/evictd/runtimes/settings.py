"""What the machine's owner configured for single workloads, as values handed in.

Configuration wins over labels. [design, two profiles: `workloads:`] This room does not read files.
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, structs

from evictd_schemas import DeclaredResponder, Pod


class WorkloadSettings(Struct, frozen=True, kw_only=True):
    """Of one name pattern; None leaves what the runtime says. `memory_request_bytes` is the
    request."""

    priority: int | None = None
    protect: bool | None = None
    restore: str | None = None
    memory_request_bytes: int | None = None
    responders: tuple[DeclaredResponder, ...] | None = None


SettingsFor: TypeAlias = Callable[[str, str], WorkloadSettings | None]
"""Namespace and name to what is configured for that workload, None for nothing."""


def nothing_configured(namespace: str, name: str) -> None:  # noqa: ARG001 - the shape of SettingsFor
    """The answer of a machine without `workloads:`."""
    return


def configured(pod: Pod, settings: WorkloadSettings | None) -> Pod:
    """The pod as its machine's owner wants it seen; being named at all makes it `labelled`.

    Protection that the runtime itself found (a manager, one of our own parts) is never lifted.
    """
    if settings is None:
        return pod
    changes: dict[str, object] = {"labelled": True}
    if settings.priority is not None:
        changes["priority"] = settings.priority
    if settings.restore is not None:
        changes["restore"] = settings.restore
    if settings.memory_request_bytes is not None:
        changes["requests"] = {**pod.requests, "memory": settings.memory_request_bytes}
    if settings.responders is not None:
        changes["eviction_responders"] = settings.responders
    return structs.replace(pod, **changes)
