"""Where an engine's socket is on this machine: Docker's, Podman's, those without root.

No engine is asked.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from evictd_schemas.sources import DockerSource

ADDRESSES = ("DOCKER_HOST", "CONTAINER_HOST")
"""Variables of Docker's clients and of Podman's own, in this order."""
SCHEMES = frozenset({"unix", "tcp", "http", "https"})
"""Of addresses that are spoken to directly; `ssh://` is a client's affair."""
DOCKER = DockerSource().socket
PODMAN = "/run/podman/podman.sock"
ROOTLESS = ("docker.sock", "podman/podman.sock")
"""Below the runtime folder of the user who runs the engine without root."""
USERS = Path("/run/user")
"""The runtime folders of all users; root may speak to their engines too."""


def named_address(environment: Mapping[str, str]) -> str | None:
    """The engine that the environment names, None where it names none."""
    given = ((name, environment.get(name, "")) for name in ADDRESSES)
    return next(
        (
            address
            for name, address in given
            if address and (name == ADDRESSES[0] or urlsplit(address).scheme in SCHEMES)
        ),
        None,
    )


def socket_place(configured: str, environment: Mapping[str, str]) -> str:
    """The configured socket; where that is only the default and cannot be used, one that can."""
    if configured != DOCKER or usable(configured):
        return configured
    return next(filter(usable, _others(environment)), configured)


def usable(socket: str) -> bool:
    """Whether it is a socket that this process may speak to."""
    return os.access(socket, os.R_OK | os.W_OK) and Path(socket).is_socket()


def _others(environment: Mapping[str, str]) -> Iterator[str]:
    """Root's Podman, our own user's engines, and as root those of other users."""
    yield PODMAN
    if own := environment.get("XDG_RUNTIME_DIR"):
        yield from (f"{own}/{name}" for name in ROOTLESS)
    for folder in sorted(USERS.glob("*")):
        yield from (f"{folder}/{name}" for name in ROOTLESS)
