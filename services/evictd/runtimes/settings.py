"""What the machine's owner configured for single workloads, as values handed in.

Configuration wins over labels. [design, two profiles: `workloads:`] This room does not read files.
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, structs

from evictd.core.ways import Way
from evictd_schemas import DeclaredResponder, Pod, Resources


class WorkloadSettings(Struct, frozen=True, kw_only=True):
    """Of one workload; None leaves what the runtime says. `requests` wins name by name.

    `named`: there is an entry for it, which makes it `labelled`. `enable` False: it is left alone.
    `webhooks`: every configured responder that asks a URL and works in its namespace.
    """

    named: bool = True
    priority: int | None = None
    enable: bool | None = None
    protect: bool | None = None
    restore: str | None = None
    action: str | None = None
    group: str | None = None
    depends_on: tuple[str, ...] | None = None
    requests: Resources = {}
    responders: tuple[DeclaredResponder, ...] | None = None
    webhooks: tuple[DeclaredResponder, ...] = ()


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
        "protected": True if settings.enable is False else settings.protect,
        "restore": settings.restore,
        "action": settings.action,
        "group": settings.group,
        "depends_on": settings.depends_on,
        "eviction_responders": settings.responders,
        "requests": {**pod.requests, **settings.requests},
    }
    given = {name: value for name, value in wished.items() if value is not None}
    found = structs.replace(pod, labelled=pod.labelled or settings.named, **given)
    return _with_webhooks(found, settings.webhooks)


def _with_webhooks(pod: Pod, webhooks: tuple[DeclaredResponder, ...]) -> Pod:
    """Whom its end is left to: the webhooks that it names among its responders, else all."""
    if pod.action != Way.WEBHOOK:
        return pod
    declared = pod.eviction_responders
    known = {webhook.name for webhook in webhooks}
    if any(responder.name in known for responder in declared):
        return pod
    return structs.replace(pod, eviction_responders=(*declared, *webhooks))
