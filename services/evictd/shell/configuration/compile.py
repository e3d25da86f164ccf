"""From configuration to the rules of one node: overrides, then the profile's defaults. Pure."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from evictd.core.rules import HOST, KUBELET, Candidates, Mode, Profile, Rules
from evictd.shell.configuration.lines import lines_of, seconds_of
from evictd_schemas.configuration import Configuration, NodeOverride, NodeSettings

DEMONSTRATION = ("demo-*",)
"""Served without being asked on a loopback broker. [contract 2]"""
OWNED = "owned"
"""The broker that evictd starts itself."""
TRANSITION_SECONDS = 300.0
"""Also what zero means. [kubelet-eviction 3.1]"""
HARD_REQUESTERS = ("evictd.io/node-pressure", "evictd.io/local-storage")
"""[contract 3, EvictionRequest]"""
OWN_GRACE = -1
"""A maximum soft grace that leaves a workload its own."""


def override_of(configuration: Configuration, node: str) -> NodeOverride | None:
    """The first entry of `nodes` that matches, or None."""
    return next(
        (entry for entry in configuration.nodes if fnmatchcase(node, entry.match)),
        None,
    )


def resolved(configuration: Configuration, override: NodeOverride | None) -> NodeSettings:
    """What is given for a node: its override's keys before those of the top level."""
    values = {}
    for name in NodeSettings.__struct_fields__:
        own = None if override is None else getattr(override, name)
        values[name] = getattr(configuration, name) if own is None else own
    return NodeSettings(**values)


def serves(configuration: Configuration, home: str, node: str) -> bool:
    """Whether decisions are taken here for a node: the home node, or one that matches `serve`."""
    patterns = served_patterns(configuration)
    return node == home or any(fnmatchcase(node, pattern) for pattern in patterns)


def served_patterns(configuration: Configuration) -> Sequence[str]:
    """Patterns of the foreign nodes that are decided for. [contract 2]"""
    if configuration.serve is not None:
        return configuration.serve
    return DEMONSTRATION if is_loopback(configuration.broker) else ()


def is_loopback(broker: str | None) -> bool:
    """Whether only programs of this machine can reach the broker; an owned one listens there."""
    if broker is None or broker.partition(":")[0] == OWNED:
        return True
    host = urlsplit(broker).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def rules_for(configuration: Configuration, home: str, node: str) -> Rules | None:
    """The rules of the home node or of a served one; None for a node that is not served here."""
    return rules_of(configuration, node) if serves(configuration, home, node) else None


def rules_of(configuration: Configuration, node: str) -> Rules:
    """Compile the rules of one node. The configuration must have passed the loader's checks."""
    settings = resolved(configuration, override_of(configuration, node))
    is_kubelet = settings.profile == "kubelet"
    return Rules(
        node=node,
        mode=Mode(settings.mode or "observe"),
        profile=_profile(settings, KUBELET if is_kubelet else HOST),
        candidates=Candidates(settings.candidates or ("all" if is_kubelet else "labelled")),
        thresholds=lines_of(settings).thresholds,
        transition_seconds=_transition_seconds(settings),
        maximum_pod_grace_seconds=_maximum_grace(settings, is_kubelet=is_kubelet),
        local_storage_capacity_isolation=settings.local_storage_capacity_isolation is not False,
        hard_requesters=HARD_REQUESTERS
        if settings.hard_requesters is None
        else settings.hard_requesters,
    )


def _profile(settings: NodeSettings, profile: Profile) -> Profile:
    """The profile with the switches that have a key of their own."""
    given = {
        "hard_grace_seconds": settings.eviction_hard_grace_period,
        "settle_seconds": settings.settle_seconds,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    return msgspec.structs.replace(profile, **changes)


def _transition_seconds(settings: NodeSettings) -> float:
    """An explicit zero also becomes the default. [kubelet-eviction 3.1]"""
    text = settings.eviction_pressure_transition_period
    return (seconds_of(text) if text is not None else None) or TRANSITION_SECONDS


def _maximum_grace(settings: NodeSettings, *, is_kubelet: bool) -> int:
    if settings.eviction_max_pod_grace_period is not None:
        return settings.eviction_max_pod_grace_period
    return 0 if is_kubelet else OWN_GRACE
