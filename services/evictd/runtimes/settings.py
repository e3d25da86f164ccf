"""What the machine's owner configured for single workloads, as values handed in.

Configuration wins over labels. [design, two profiles: `workloads:`] This room does not read files.
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, structs

from evictd_schemas import DeclaredResponder, Pod, Resources


class WorkloadSettings(Struct, frozen=True, kw_only=True):
    """Of one name pattern; None leaves what the runtime says. `requests` wins name by name."""

    priority: int | None = None
    protect: bool | None = None
    restore: str | None = None
    requests: Resources = {}
    responders: tuple[DeclaredResponder, ...] | None = None


SettingsFor: TypeAlias = Callable[[str, str], WorkloadSettings | None]
"""Namespace and name to what is configured for that workload, None for nothing."""


def nothing_configured(namespace: str, name: str) -> None:
    """The answer of a machine without `workloads:`."""
    del namespace, name


def configured(pod: Pod, settings: WorkloadSettings | None) -> Pod:
    """The pod as its machine's owner wants it seen; being named at all makes it `labelled`.

    What a runtime itself protects (a manager's, one of our own parts) it marks after this.
    """
    if settings is None:
        return pod
    wished: dict[str, object] = {
        "priority": settings.priority,
        "protected": settings.protect,
        "restore": settings.restore,
        "eviction_responders": settings.responders,
        "requests": {**pod.requests, **settings.requests},
    }
    given = {name: value for name, value in wished.items() if value is not None}
    return structs.replace(pod, labelled=True, **given)
