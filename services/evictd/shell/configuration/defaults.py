"""What holds where nothing is given: one value a key and profile. [design, two profiles]

The hard and soft lines are in `lines`, because those of profile host are more than a signal each.
"""

import os
from pathlib import Path

from msgspec import structs

from evictd.core.protocol.vocabulary import PRESSURE_REQUESTERS
from evictd.core.rules import HOST, KUBELET
from evictd_schemas.configuration import NodeSettings

OWNED = "owned"
"""The broker that evictd starts itself."""
DEMONSTRATION = ("demo-*",)
"""Served without being asked on a loopback broker. [contract 2]"""
OWN_GRACE = -1
"""A maximum soft grace that leaves a workload its own."""

HOST_DEFAULTS = NodeSettings(
    mode="observe",
    profile="host",
    candidates="labelled",
    eviction_pressure_transition_period="5m0s",
    eviction_max_pod_grace_period=OWN_GRACE,
    eviction_hard_grace_period=HOST.hard_grace_seconds,
    settle_seconds=HOST.settle_seconds,
    merge_default_eviction_settings=False,
    enforce_node_allocatable=(),
    local_storage_capacity_isolation=True,
    hard_requesters=PRESSURE_REQUESTERS,
)
KUBELET_DEFAULTS = structs.replace(
    HOST_DEFAULTS,
    profile="kubelet",
    candidates="all",
    eviction_max_pod_grace_period=0,
    eviction_hard_grace_period=KUBELET.hard_grace_seconds,
    settle_seconds=KUBELET.settle_seconds,
    enforce_node_allocatable=("pods",),
)
"""[kubelet-eviction 3.1]"""


def over(upper: NodeSettings | None, lower: NodeSettings) -> NodeSettings:
    """The keys given in the upper settings, the rest from the lower ones."""
    values = {}
    for name in NodeSettings.__struct_fields__:
        own = None if upper is None else getattr(upper, name)
        values[name] = getattr(lower, name) if own is None else own
    return NodeSettings(**values)


def complete(settings: NodeSettings) -> NodeSettings:
    """Settings in which only the lines may be absent."""
    return over(settings, KUBELET_DEFAULTS if settings.profile == "kubelet" else HOST_DEFAULTS)


SYSTEM_STATE = Path("/var/lib/evictd")
"""Of an evictd that runs as root."""


def state_folder() -> Path:
    """Where journals and the owned broker are kept."""
    if os.geteuid() == 0:
        return SYSTEM_STATE
    return Path.home() / ".local" / "state" / "evictd"
