"""The configuration's `workloads:` as the settings that runtimes take. It reads no file."""

from fnmatch import fnmatchcase

import msgspec

from evictd.runtimes.settings import SettingsFor, WorkloadSettings
from evictd.shell.configuration import bytes_of
from evictd_schemas import Resources
from evictd_schemas.configuration import Configuration, Requests, Workload


def settings_of(configuration: Configuration) -> SettingsFor:
    """The first entry of `workloads` that matches a name."""

    def settings_for(namespace: str, name: str) -> WorkloadSettings | None:
        for pattern, workload in configuration.workloads.items():
            whole = f"{namespace}/{name}" if "/" in pattern else name
            if fnmatchcase(whole, pattern):
                return _settings(workload)
        return None

    return settings_for


def _settings(workload: Workload) -> WorkloadSettings:
    return WorkloadSettings(
        priority=workload.priority,
        protect=workload.protect,
        restore=workload.restore,
        requests=_requests(workload.request),
        responders=workload.responders,
    )


def _requests(requests: Requests | None) -> Resources:
    """In bytes; the loader has refused what is no quantity."""
    given = {} if requests is None else msgspec.to_builtins(requests)
    amounts = ((name, bytes_of(text)) for name, text in given.items())
    return {name: amount for name, amount in amounts if amount is not None}
