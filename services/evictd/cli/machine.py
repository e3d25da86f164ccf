"""Facts about this machine that the assembly needs: its name, the engine's name, its identity."""

import http.client
import os
import re
import socket
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from evictd.cli import engines
from evictd.core.errors import InputError
from evictd.runtimes import hierarchies
from evictd.shell.causes import UNREADABLE
from evictd_schemas.configuration import Configuration
from evictd_schemas.topics import segment_problem

ENGINE_SECONDS = 3.0
"""An engine that does not say its name by then is not waited for."""
ANSWER_BYTES_MAX = 1 << 20
"""An engine's description of itself has some kilobytes."""
CONTAINER_ID = re.compile(r"[0-9a-f]{12}([0-9a-f]{52})?")
"""The host name that engines give a container: it changes with each one."""
SHARED_IDENTITY = Path("/run/node/machine-id")
"""What `evictd node-name --write` leaves for the other containers of a machine: a container has no
identity that outlives it."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
IDENTITIES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"), SHARED_IDENTITY)


class EngineFacts(Struct, frozen=True, kw_only=True, rename="pascal"):
    """What is needed of an engine's description of itself."""

    name: str = ""


class SocketConnection(http.client.HTTPConnection):
    """HTTP over the engine's socket."""

    def __init__(self, path: str) -> None:
        super().__init__("engine", timeout=ENGINE_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def home_node(configuration: Configuration) -> str:
    """The name of this machine on the bus: the configured one, the engine's, the host's.

    Raises `InputError` when there is only a container's id, which would be another node each time.
    """
    if configuration.node is not None:
        return configuration.node
    name = engine_name(engine_address(configuration)) or socket.gethostname()
    if CONTAINER_ID.fullmatch(name):
        raise InputError(
            f"{name!r} is a container's id, not a machine's name: give one by EVICTD_NODE or --node"
        )
    if (problem := segment_problem(name)) is not None:
        raise InputError(
            f"the host name {name!r} cannot be a level of a topic ({problem}): "
            "give a name by EVICTD_NODE or --node"
        )
    return name


def engine_address(configuration: Configuration) -> str | None:
    """`unix:///…` or `tcp://…` of the engine that is looked at; None where none is.

    `DOCKER_HOST` wins over the configured socket, as in every other client of an engine. Where
    nobody has configured one, Podman's sockets and those of engines without root count too.
    """
    docker = configuration.sources.runtimes.docker
    if docker.enabled is False:
        return None
    if host := engines.named_address(os.environ):
        return host
    place = engines.socket_place(docker.socket, os.environ)
    exists = os.path.lexists(place) and Path(place).is_socket()
    return f"unix://{place}" if exists or docker.enabled else None


def engine_name(address: str | None) -> str | None:
    """What the engine calls its machine; None without an engine that answers."""
    if address is None:
        return None
    parts = urlsplit(address)
    connection = (
        SocketConnection(parts.path)
        if parts.scheme == "unix"
        else http.client.HTTPConnection(parts.netloc, timeout=ENGINE_SECONDS)
    )
    try:
        connection.request("GET", "/info")
        answer = connection.getresponse().read(ANSWER_BYTES_MAX)
        return msgspec.json.decode(answer, type=EngineFacts).name or None
    except (OSError, http.client.HTTPException, *UNREADABLE):
        return None
    finally:
        connection.close()


def identity() -> str:
    """A hash by which two machines of one name are told apart, and no machine is found out."""
    texts = ((hierarchies.text(path) or "").strip() for path in IDENTITIES)
    text = next(filter(None, texts), os.uname().nodename)
    return blake2b(f"evictd {text}".encode(), digest_size=8).hexdigest()


def boot_id() -> str | None:
    """The kernel's name of this boot, as observations of this machine carry it; None without."""
    return (hierarchies.text(BOOT_ID) or "").strip() or None
