"""The engine's socket as a file, and what the engine says behind it."""

import getpass
import grp
import os
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from msgspec import structs

from evictd.cli.checkup.engine import EngineFacts, SocketFacts
from evictd.cli.examination import roles
from evictd.cli.machine import engine_address
from evictd.cli.workloads import runtimes
from evictd.core.errors import EvictdError
from evictd.core.rules import Mode, Rules
from evictd.runtimes.docker import DockerRuntime
from evictd.runtimes.docker.rights import asked
from evictd.shell.blocking import in_thread
from evictd_schemas.configuration import Configuration

LIST_SECONDS = 5.0
"""A runtime's whole list; a person waits."""


def reached(configuration: Configuration, rules: Rules, container: str) -> EngineFacts:
    """Where it is, and who asks; it is not asked yet. Blocks."""
    docker = configuration.sources.runtimes.docker
    address = engine_address(configuration)
    socket = docker.socket if address is None else _path(address)
    return EngineFacts(
        address=address,
        wanted=docker.enabled is True,
        named="DOCKER_HOST" in os.environ,
        images=configuration.reclaim.unused_images.enabled,
        containers=configuration.reclaim.dead_containers.enabled,
        socket=None if socket is None else socket_facts(Path(socket)),
        user=_user(),
        acts=rules.mode is Mode.ACT,
        stops=roles.stops(configuration, container),
    )


async def answered(facts: EngineFacts) -> EngineFacts:
    """The same with all that it says."""
    if facts.address is None:
        return facts
    sight = await asked(facts.address, images=facts.images, containers=facts.containers)
    return structs.replace(facts, sight=sight)


def _path(address: str) -> str | None:
    """Of a socket on this machine, None for an engine behind a network."""
    parts = urlsplit(address)
    return parts.path if parts.scheme == "unix" else None


async def label_problems(configuration: Configuration) -> tuple[str, ...]:
    """What the runtime has to say about labels; nothing where it cannot be asked."""
    made = await in_thread(lambda: tuple(runtimes(configuration)))
    async with AsyncExitStack() as stack:
        for runtime in made:
            stack.push_async_callback(runtime.close)
        docker = next((one for one in made if isinstance(one, DockerRuntime)), None)
        if docker is None:
            return ()
        with anyio.move_on_after(LIST_SECONDS), suppress(EvictdError):  # a refusal has its own line
            listing = await docker.list()
            return tuple(text for text in listing.problems if "label" in text)
    return ()


def socket_facts(path: Path) -> SocketFacts:
    """What the file system says about it."""
    try:
        group = grp.getgrgid(path.stat().st_gid).gr_name
    except KeyError:
        group = str(path.stat().st_gid)
    except PermissionError:
        return SocketFacts(path=str(path), exists=True)  # in a folder that is not for this user
    except OSError:
        return SocketFacts(path=str(path))
    usable = os.access(path, os.R_OK | os.W_OK)
    return SocketFacts(path=str(path), exists=True, usable=usable, group=group)


def _user() -> str:
    """By name where this machine knows it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.geteuid()}"
