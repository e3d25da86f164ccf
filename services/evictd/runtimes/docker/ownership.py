"""Who manages a container, and which containers are evictd's own parts. [design, law 9]

What is found here is protected, whatever labels and configuration say.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from evictd.runtimes.docker import reaching
from evictd.runtimes.docker.inspection import Inspected
from evictd.runtimes.docker.naming import SERVICE, Name
from evictd.runtimes.docker.reaching import Address
from evictd.shell.kernel_text import lines

MANAGERS: tuple[tuple[str, str], ...] = (
    ("com.docker.swarm.service.id", "Swarm"),
    ("com.docker.swarm.task.id", "Swarm"),
    ("io.kubernetes.pod.name", "kubelet"),
    ("io.kubernetes.pod.uid", "kubelet"),
    ("com.hashicorp.nomad.alloc_id", "Nomad"),
    ("com.amazonaws.ecs.task-arn", "ECS"),
    ("io.balena.service-id", "balena Supervisor"),
    ("io.resin.service-id", "balena Supervisor"),
    ("io.hass.type", "Home Assistant Supervisor"),
    ("io.rancher.container.uuid", "Rancher"),
)
"""Labels by which managers mark what is theirs: they would start it again, or lose count."""
PROXY_IMAGES = re.compile(r"(^|/)(docker-)?socket-proxy([:@]|$)")
"""Images of proxies before the engine's socket; without it nobody can be stopped any more."""
INFRA_IMAGES = re.compile(r"(^|/)podman-pause([:@]|$)")
"""Images of what holds the network of one of Podman's pods; all others in it need it."""
OWN_ROLES = {"broker": "evictd's broker", "proxy": "the socket proxy", "evictd": "evictd"}
"""Values of the label `evictd.role`."""
FULL_ID = re.compile(r"[0-9a-f]{64}")
OWN_MOUNTS = ("/etc/hostname", "/etc/hosts", "/etc/resolv.conf")
"""Files that engines mount into a container from a folder that carries its id."""


class Parts(Struct, frozen=True, kw_only=True):
    """How evictd's own parts are known.

    Our container, the image we run, names that were configured (container, `namespace/name` or
    Compose service: the broker, the proxy), and addresses where we need somebody to answer.
    """

    container_id: str | None = None
    image: str | None = None
    names: frozenset[str] = frozenset()
    broker: Address | None = None
    engine: Address | None = None


def manager(container: Inspected, name: Name, role: str | None, parts: Parts) -> str | None:
    """Who manages it, None where nobody does but the engine."""
    if (part := _own_part(container, name, role, parts)) is not None:
        return part
    if PROXY_IMAGES.search(container.config.image):
        return OWN_ROLES["proxy"]
    if INFRA_IMAGES.search(container.config.image):
        return "its Podman pod"
    return next((who for label, who in MANAGERS if label in container.labels), None)


def _own_part(container: Inspected, name: Name, role: str | None, parts: Parts) -> str | None:
    if role is not None:
        return OWN_ROLES.get(role, "evictd")
    if container.id == parts.container_id:
        return "evictd"
    if parts.image is not None and container.image == parts.image:
        return "evictd"
    called = {
        container.name.strip("/"),
        f"{name.namespace}/{name.name}",
        container.labels.get(SERVICE, ""),
    }
    if called & parts.names:
        return "evictd"
    if parts.broker is not None and reaching.answers(container, parts.broker):
        return OWN_ROLES["broker"]
    if parts.engine is not None and reaching.answers(container, parts.engine):
        return OWN_ROLES["proxy"]
    return None


def own_container_id(files: Mapping[str, str]) -> str | None:
    """The id of the container this process is in, None outside of one.

    `files` are the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`, under those names. Only
    the files that an engine mounts into every container count: the machine itself sees folders of
    all containers among its mounts.
    """
    for line in lines(files.get("mountinfo", "")):
        fields = line.split()
        if len(fields) > 4 and fields[4] in OWN_MOUNTS and (found := FULL_ID.search(fields[3])):
            return found.group()
    for line in lines(files.get("cgroup", "")):
        if found := FULL_ID.search(line.rpartition("/")[2]):
            return found.group()
    return None
