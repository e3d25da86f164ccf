"""What runs workloads here."""

import os
from collections.abc import Iterator
from pathlib import Path
from socket import gethostname
from urllib.parse import urlsplit

from evictd.cli.broker import state_folder_of
from evictd.cli.machine import engine_address
from evictd.runtimes import Runtime
from evictd.runtimes.cgroup import CgroupRuntime
from evictd.runtimes.cgroup.runtime import Places as CgroupPlaces
from evictd.runtimes.docker import DockerRuntime, Engine
from evictd.runtimes.docker.image_memory import FILE_NAME as IMAGE_MEMORY
from evictd.runtimes.docker.runtime import Places as DockerPlaces
from evictd.runtimes.reclaims import reclaims_of
from evictd.runtimes.systemd import Manager, Selection, Systemctl, SystemdRuntime
from evictd.runtimes.systemd import Places as SystemdPlaces
from evictd.runtimes.systemd.companion_memory import FILE_NAME as COMPANION_MEMORY
from evictd.runtimes.systemd.never import BROKERS
from evictd.runtimes.workloads import settings_of
from evictd.shell.configuration import is_owned
from evictd.shell.configuration.compile import is_loopback
from evictd_schemas.configuration import Configuration


def runtimes(configuration: Configuration) -> Iterator[Runtime]:
    """The configured runtimes, the engine first."""
    sources = configuration.sources
    cgroup, proc = Path(sources.cgroup_path), Path(sources.proc_path)
    settings_for = settings_of(configuration)
    if (address := engine_address(configuration)) is not None:
        places = DockerPlaces(cgroup=cgroup, proc=proc)
        yield DockerRuntime(
            Engine(address),
            own_names=own_names(configuration),
            broker=None if is_owned(configuration.broker) else configuration.broker,
            systemd=Manager(Systemctl(of_user=os.geteuid() != 0)),
            places=places,
            settings_for=settings_for,
            reclaims=reclaims_of(configuration),
            image_memory=state_folder_of(configuration) / IMAGE_MEMORY,
        )
    if (parent := sources.runtimes.cgroup.parent) is not None:
        yield CgroupRuntime(
            parent,
            own_process_id=os.getpid(),
            places=CgroupPlaces(cgroup=cgroup, proc=proc),
            settings_for=settings_for,
        )
    if (selection := Selection(sources.runtimes.systemd)).patterns:
        yield SystemdRuntime(
            selection,
            own_units=own_units(configuration),
            engine_listed=address is not None,
            places=SystemdPlaces(
                cgroup=cgroup, memory=state_folder_of(configuration) / COMPANION_MEMORY
            ),
            settings_for=settings_for,
        )


def own_units(configuration: Configuration) -> tuple[str, ...]:
    """Units of this machine without which evictd is deaf. [design, law 9]

    The broker's, where it is here and not started by evictd, whose own unit it is in then.
    """
    if is_owned(configuration.broker):
        return ()
    host = urlsplit(configuration.broker or "").hostname or ""
    here = host.partition(".")[0] == gethostname().partition(".")[0].lower()
    return BROKERS if here or is_loopback(configuration.broker) else ()


def own_names(configuration: Configuration) -> tuple[str, ...]:
    """Containers without which evictd is deaf.

    On a network of containers the broker's host is the name of its service. [design, law 9]
    """
    host = urlsplit(configuration.broker or "").hostname
    return () if host is None else (host,)
