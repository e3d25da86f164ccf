"""What runs workloads here."""

import os
from collections.abc import Iterator
from pathlib import Path

from evictd.cli.machine import engine_address
from evictd.runtimes import Runtime
from evictd.runtimes.cgroup import CgroupRuntime
from evictd.runtimes.cgroup.runtime import Places as CgroupPlaces
from evictd.runtimes.docker import DockerRuntime, Engine
from evictd.runtimes.docker.runtime import Places as DockerPlaces
from evictd.runtimes.workloads import settings_of
from evictd_schemas.configuration import Configuration


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
