"""Units that are never stopped, however they are configured. [design, law 9]

One table, read for every name of a unit: its aliases count as much as its own.
"""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

from evictd.runtimes.systemd.unit import Unit
from evictd.runtimes.systemd.whole import Whole

LOGIN = "people log in by it"
SYSTEM = "it is a part of systemd"
BUS = "programs of this machine talk over it"
NETWORK = "it is this machine's network"
ENGINE = "it is a container engine"
CONTAINER = "it is a container of an engine"
GUESTS = "it holds containers and virtual machines of others"
OURSELVES = "it is evictd"
BROKER = "it may be the broker of evictd"

NEVER: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        LOGIN,
        (
            "ssh*",
            "dropbear*",
            "tailscaled*",
            "getty*",
            "serial-getty*",
            "console-getty*",
            "container-getty*",
            "autovt*",
            "user@*",
            "user-*.slice",
            "user-runtime-dir@*",
            "user.slice",
            "session-*.scope",
            "display-manager*",
        ),
    ),
    (
        SYSTEM,
        (
            "systemd-*",
            "init.scope",
            "system.slice",
            "-.slice",
            "emergency*",
            "rescue*",
            "initrd-*",
            "dracut-*",
            "debug-shell*",
            "plymouth*",
        ),
    ),
    (BUS, ("dbus*", "messagebus*", "polkit*", "udev*")),
    (
        NETWORK,
        (
            "NetworkManager*",
            "networking*",
            "network.service",
            "network-manager*",
            "wpa_supplicant*",
            "connman*",
            "dhcpcd*",
            "dhclient*",
            "udhcpc*",
            "ifup@*",
            "iwd*",
            "ModemManager*",
            "netplan*",
            "wicked*",
            "hostapd*",
            "resolvconf*",
            "nftables*",
            "iptables*",
            "firewalld*",
            "ufw.*",
            "wg-quick@*",
            "openvpn*",
        ),
    ),
    (
        ENGINE,
        (
            "docker.*",
            "dockerd*",
            "docker-socket-proxy*",
            "containerd*",
            "podman.*",
            "podman@*",
            "podman-restart*",
            "podman-auto-update*",
            "crio*",
            "cri-docker*",
            "kubelet*",
            "k3s*",
            "k0s*",
            "rke2*",
            "microk8s*",
            "snap.microk8s.*",
            "snap.docker.*",
            "kubepods*",
            "balena*",
            "nomad.*",
            "buildkit*",
            "lxd*",
            "snap.lxd.*",
            "incus*",
            "libvirtd*",
            "virtqemud*",
        ),
    ),
    (
        CONTAINER,
        (
            "docker-*.scope",
            "libpod*.scope",
            "libpod*.slice",
            "crio-*.scope",
            "cri-containerd-*.scope",
            "nerdctl-*.scope",
            "buildkit-*.scope",
        ),
    ),
    (
        GUESTS,
        (
            "machine.slice",
            "machine-*.slice",
            "machine-*.scope",
            "lxc*",
            "systemd-nspawn@*",
            "libvirt*",
        ),
    ),
    (OURSELVES, ("evictd*",)),
)
"""Reason and patterns of names, the first that matches holds."""

BROKERS = ("mosquitto*", "emqx*", "nanomq*", "vernemq*", "rabbitmq*", "hivemq*", "bifromq*")
"""Units of programs that are MQTT brokers: one of them is ours where the broker is on this
machine."""


def reason(names: Iterable[str]) -> str | None:
    """Why a unit of these names is never stopped, None for one that may be."""
    known = tuple(names)
    return next((why for why, patterns in NEVER if matches(known, patterns)), None)


def protection(whole: Whole, reason_of: Callable[[Unit], str | None] | None = None) -> str | None:
    """Why it is never stopped, for itself or for what goes with it; None when it may be.

    `reason_of` tells of one unit why not; without it the table and its file count.
    """
    ask = reason_of or of_unit
    if (why := ask(whole.unit)) is not None:
        return why
    for unit in whole.along:
        if (why := ask(unit)) is not None:
            place = "is in it" if unit in whole.contents else "stops with it"
            return f"{unit.id} {place}, and {why}"
    return None


def of_unit(unit: Unit) -> str | None:
    """Why this one is never stopped, None when it may be."""
    if (why := reason(unit.names)) is not None:
        return why
    return "its file says RefuseManualStop=yes" if unit.refuses_stop else None


def matches(names: Iterable[str], patterns: Iterable[str]) -> bool:
    """Whether any of the names is of any of the patterns."""
    known = tuple(patterns)
    return any(fnmatchcase(name, pattern) for name in names for pattern in known)


def is_container(name: str) -> bool:
    """Whether an engine has made it for one of its containers: that runtime's, never listed."""
    return reason((name,)) == CONTAINER
