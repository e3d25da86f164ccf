"""What runs workloads here, and what the configuration says about them."""

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from evictd.cli.machine import engine_address
from evictd.runtimes import Runtime
from evictd.runtimes.cgroup import CgroupRuntime
from evictd.runtimes.cgroup.runtime import Places as CgroupPlaces
from evictd.runtimes.docker import DockerRuntime, Engine
from evictd.runtimes.docker.runtime import Places as DockerPlaces
from evictd.runtimes.settings import SettingsFor, WorkloadSettings
from evictd.shell.configuration import bytes_of
from evictd_schemas import Resources
from evictd_schemas.configuration import Configuration, Requests, Workload


def runtimes(configuration: Configuration) -> Iterator[Runtime]:
    """The configured runtimes, the engine first."""
    sources = configuration.sources
    cgroup, proc = Path(sources.cgroup_path), Path(sources.proc_path)
    settings_for = settings_of(configuration)
    if (address := engine_address(configuration)) is not None:
        places = DockerPlaces(cgroup=cgroup, proc=proc)
        yield DockerRuntime(Engine(address), places=places, settings_for=settings_for)
    if (parent := sources.runtimes.cgroup.parent) is not None:
        yield CgroupRuntime(
            parent,
            own_process_id=os.getpid(),
            places=CgroupPlaces(cgroup=cgroup, proc=proc),
            settings_for=settings_for,
        )


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
