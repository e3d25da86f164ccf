"""Which container answers at an address that evictd itself depends on.

By its own address in a network of containers, or by a port that it publishes on this machine. A
container in the machine's own network publishes nothing, and is not found here.
"""

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct, structs

from evictd.runtimes.docker.inspection import Inspected, Networking

LOOPBACKS = ("localhost", "ip6-localhost", "host.docker.internal", "host.containers.internal")
"""Names of this machine, from itself or from inside of a container."""
PORTS = {"mqtt": 1883, "mqtts": 8883, "tcp": 2375, "http": 2375, "https": 2376}
"""Where an address says no port."""


class Address(Struct, frozen=True, kw_only=True):
    """Host and port; `here`: the host is known to be this machine."""

    host: str
    port: int
    here: bool = False


def address(url: str) -> Address | None:
    """Of a URL, None where it names no host."""
    parts = urlsplit(url)
    try:
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    if parts.hostname is None or port is None:
        return None
    return Address(host=parts.hostname, port=port)


def located(wanted: Address | None, machine_name: str) -> Address | None:
    """With whether its host is this machine. Asks the kernel, and never a name server."""
    if wanted is None:
        return None
    names = {socket.gethostname().lower(), machine_name.lower()} - {""}
    return structs.replace(wanted, here=_is_here(wanted.host.lower(), names))


def answers(container: Inspected, wanted: Address) -> bool:
    """Whether it is this container that is reached there."""
    settings = container.network_settings or Networking()
    networks = [attached for attached in (settings.networks or {}).values() if attached is not None]
    if any(wanted.host in attached.called for attached in networks):
        return True
    gateway = any(wanted.host == attached.gateway for attached in networks)
    return any(
        binding.host_port == str(wanted.port)
        and (wanted.here or gateway or binding.host_ip == wanted.host)
        for bindings in (settings.ports or {}).values()
        for binding in bindings or ()
    )


def _is_here(host: str, names: set[str]) -> bool:
    if host in LOOPBACKS or host.partition(".")[0] in {name.partition(".")[0] for name in names}:
        return True
    try:
        number = ip_address(host)
    except ValueError:
        return False
    return number.is_loopback or _is_own(host, is_version_6=number.version == 6)


def _is_own(host: str, *, is_version_6: bool) -> bool:
    """Only an address of this machine can be bound to; nothing is sent."""
    family = socket.AF_INET6 if is_version_6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as unused:
            unused.bind((host, 0))
    except OSError:
        return False
    return True
