"""From configuration to the rules of one node: overrides, then the profile's defaults. Pure."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from evictd.core.rules import HOST, KUBELET, Candidates, Mode, Profile, Rules
from evictd.shell.configuration.lines import HOST_HARD, KUBELET_HARD, texts, thresholds_of
from evictd_schemas.configuration import Configuration, NodeOverride, NodeSettings

DEMONSTRATION = ("demo-*",)
"""Served without being asked on a loopback broker. [contract 2]"""


def override_of(configuration: Configuration, node: str) -> NodeOverride | None:
    """The first entry of `nodes` that matches, or None."""
    return next(
        (entry for entry in configuration.nodes if fnmatchcase(node, entry.match)),
        None,
    )


def settings_of(configuration: Configuration, node: str) -> NodeSettings:
    """What is given for a node: its override's keys before those of the top level."""
    override = override_of(configuration, node)
    values = {}
    for name in NodeSettings.__struct_fields__:
        own = None if override is None else getattr(override, name)
        values[name] = getattr(configuration, name) if own is None else own
    return NodeSettings(**values)


def served_patterns(configuration: Configuration) -> Sequence[str]:
    """Patterns of the foreign nodes that are decided for. [contract 2]"""
    if configuration.serve is not None:
        return configuration.serve
    return DEMONSTRATION if is_loopback(configuration.broker) else ()


def is_loopback(broker: str | None) -> bool:
    """Whether only programs of this machine can reach the broker; an owned one listens there."""
    if broker is None or broker.partition(":")[0] == "owned":
        return True
    host = urlsplit(broker).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def rules_for(configuration: Configuration, home: str, node: str) -> Rules | None:
    """The rules of the home node or of a served one; None for a node that is not served here."""
    if node == home or any(
        fnmatchcase(node, pattern) for pattern in served_patterns(configuration)
    ):
        return rules_of(configuration, node)
    return None


def rules_of(configuration: Configuration, node: str) -> Rules:
    """Compile the rules of one node. The configuration must have passed the loader's checks."""
    settings = settings_of(configuration, node)
    is_kubelet = settings.profile == "kubelet"
    return Rules(
        node=node,
        mode=Mode(settings.mode or "observe"),
        profile=_profile(settings, KUBELET if is_kubelet else HOST),
        candidates=Candidates(settings.candidates or ("all" if is_kubelet else "labelled")),
        thresholds=thresholds_of(
            texts(settings.eviction_hard)
            if settings.eviction_hard is not None
            else (KUBELET_HARD if is_kubelet else HOST_HARD)
        ),
    )


def _profile(settings: NodeSettings, profile: Profile) -> Profile:
    given = {
        "hard_grace_seconds": settings.eviction_hard_grace_period,
        "settle_seconds": settings.settle_seconds,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    return msgspec.structs.replace(profile, **changes)
