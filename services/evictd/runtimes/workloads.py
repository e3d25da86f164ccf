"""The configuration's `workloads:` as the settings that runtimes take. It reads no file."""

from fnmatch import fnmatchcase

import msgspec

from evictd.core.protocol.chain import REGISTERED_PRIORITY
from evictd.core.ways import names_in, priority_number
from evictd.runtimes.settings import SettingsFor, WorkloadSettings
from evictd.shell.configuration import bytes_of
from evictd_schemas import DeclaredResponder, Resources
from evictd_schemas.configuration import Configuration, Requests, Workload


def settings_of(configuration: Configuration) -> SettingsFor:
    """The first entry of `workloads` that matches a name, and the webhooks that work there."""

    def settings_for(namespace: str, name: str) -> WorkloadSettings | None:
        webhooks = _webhooks(configuration, namespace)
        for pattern, workload in configuration.workloads.items():
            whole = f"{namespace}/{name}" if "/" in pattern else name
            if fnmatchcase(whole, pattern):
                return _settings(workload, namespace, webhooks)
        return WorkloadSettings(named=False, webhooks=webhooks) if webhooks else None

    return settings_for


def _settings(
    workload: Workload, namespace: str, webhooks: tuple[DeclaredResponder, ...]
) -> WorkloadSettings:
    needed = workload.depends_on
    return WorkloadSettings(
        priority=None if workload.priority is None else priority_number(workload.priority),
        enable=workload.enable,
        protect=workload.protect,
        restore=workload.restore,
        action=workload.action,
        group=workload.group,
        depends_on=None if needed is None else names_in(namespace, needed),
        requests=_requests(workload.request),
        responders=workload.responders,
        webhooks=webhooks,
    )


def _webhooks(configuration: Configuration, namespace: str) -> tuple[DeclaredResponder, ...]:
    return tuple(
        DeclaredResponder(name=responder.name, priority=responder.priority or REGISTERED_PRIORITY)
        for responder in configuration.responders
        if responder.webhook is not None
        and (not responder.namespaces or namespace in responder.namespaces)
    )


def _requests(requests: Requests | None) -> Resources:
    """In bytes; the loader has refused what is no quantity."""
    given = {} if requests is None else msgspec.to_builtins(requests)
    amounts = ((name, bytes_of(text)) for name, text in given.items())
    return {name: amount for name, amount in amounts if amount is not None}
