"""From configuration to the rules of one node: overrides, then the profile's defaults. Pure."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from evictd.core.orders import CHOSEN_RECLAIM_STEPS
from evictd.core.rules import Candidates, Mode, Profile, Rules
from evictd.shell.configuration import budgets
from evictd.shell.configuration.defaults import (
    DEMONSTRATION,
    OWNED,
    complete,
    over,
)
from evictd.shell.configuration.lines import lines_of, seconds_of
from evictd.shell.configuration.profiles import profile_of
from evictd_schemas.configuration import Configuration, NodeOverride, NodeSettings

TRANSITION_SECONDS = 300.0
"""What an explicit zero becomes. [kubelet-eviction 3.1]"""


def override_of(configuration: Configuration, node: str) -> NodeOverride | None:
    """The first entry of `nodes` that matches, or None."""
    return next(
        (entry for entry in configuration.nodes if fnmatchcase(node, entry.match)),
        None,
    )


def settings_of(configuration: Configuration, node: str) -> NodeSettings:
    """What is given for a node: its override's keys before those of the top level."""
    return over(override_of(configuration, node), configuration)


def serves(configuration: Configuration, home: str, node: str) -> bool:
    """Whether decisions are taken here for a node: the home node, or one that matches `serve`."""
    patterns = served_patterns(configuration)
    return node == home or any(fnmatchcase(node, pattern) for pattern in patterns)


def served_patterns(configuration: Configuration) -> Sequence[str]:
    """Patterns of the foreign nodes that are decided for. [contract 2]"""
    if configuration.serve is not None:
        return configuration.serve
    return DEMONSTRATION if is_loopback(configuration.broker) else ()


def is_owned(broker: str | None) -> bool:
    """Whether evictd starts the broker itself."""
    return broker is None or broker.partition(":")[0] == OWNED


def owned_port(broker: str | None) -> int | None:
    """The port of `owned:1883`; None leaves it to the broker."""
    port = (broker or "").partition(":")[2]
    return int(port) if port else None


def is_loopback(broker: str | None) -> bool:
    """Whether only programs of this machine can reach the broker; an owned one listens there."""
    if broker is None or is_owned(broker):
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
    given = settings_of(configuration, node)
    settings = complete(given)
    return Rules(
        node=node,
        mode=Mode(settings.mode or Mode.OBSERVE),
        profile=_profile(settings),
        candidates=Candidates(settings.candidates or Candidates.LABELLED),
        thresholds=lines_of(given).thresholds,
        transition_seconds=_transition_seconds(settings),
        maximum_pod_grace_seconds=settings.eviction_max_pod_grace_period or 0,
        local_storage_capacity_isolation=settings.local_storage_capacity_isolation is not False,
        reclaim_steps=_reclaim_steps(configuration, settings),
        hard_requesters=settings.hard_requesters or (),
        budgets=budgets.compiled(configuration),
    )


def _reclaim_steps(configuration: Configuration, settings: NodeSettings) -> tuple[str, ...] | None:
    """The profile's, then those that are switched on."""
    own = profile_of(settings).reclaim_steps
    if own is None:
        return None
    given = configuration.reclaim
    switches = (
        given.unused_images.enabled,
        given.dead_containers.enabled,
        given.truncate_logs.enabled,
    )
    chosen = zip(CHOSEN_RECLAIM_STEPS, switches, strict=True)
    return own + tuple(step for step, is_on in chosen if is_on)


def _profile(settings: NodeSettings) -> Profile:
    """The profile with the switches that have a key of their own."""
    return msgspec.structs.replace(
        profile_of(settings).switches,
        hard_grace_seconds=settings.eviction_hard_grace_period or 0,
        settle_seconds=settings.settle_seconds or 0.0,
    )


def _transition_seconds(settings: NodeSettings) -> float:
    return seconds_of(settings.eviction_pressure_transition_period or "0") or TRANSITION_SECONDS
