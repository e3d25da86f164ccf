"""What a profile means to a configuration: one value with one field a difference.

The name that people write is looked up here and nowhere compared. [design, two profiles]
"""

from collections.abc import Mapping

from msgspec import Struct, structs

from evictd.core.orders import HOST_RECLAIM_STEPS
from evictd.core.protocol.vocabulary import PRESSURE_REQUESTERS
from evictd.core.rules import HOST, KUBELET, Profile
from evictd.core.signals.names import (
    MEMORY_AVAILABLE,
    NODEFS_AVAILABLE,
    NODEFS_INODES_FREE,
    PID_AVAILABLE,
    PSI_MEMORY_FULL,
    SWAP_AVAILABLE,
)
from evictd.core.signals.threshold_settings import Fault, line_of
from evictd.core.signals.thresholds import Part, Threshold, Value
from evictd_schemas.configuration import NodeSettings

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

KUBELET_HARD: Mapping[str, str] = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
"""[kubelet-eviction 3.1]"""

STALL_SECONDS = 10.0
"""A stall that lasts this long ends by itself only rarely."""
SOFT_SECONDS = 30.0
"""Long enough for a build or a page load to pass."""


def line(text: str) -> Value:
    """A value that is written in this file."""
    value = line_of(text)
    assert value is not None and not isinstance(value, Fault)  # noqa: S101, PT018 - constants
    return value


HOST_HARD: tuple[Threshold, ...] = (
    Threshold(
        name="memory is nearly gone",
        signal=MEMORY_AVAILABLE,
        value=line("max(5%,100Mi)"),
        any_of=(
            Part(signal=SWAP_AVAILABLE, value=line("10%"), met_when_absent=True),
            Part(signal=PSI_MEMORY_FULL, value=line("80%")),
        ),
    ),
    Threshold(
        name="work stalls for memory",
        signal=PSI_MEMORY_FULL,
        value=line("60%"),
        any_of=(
            Part(signal=MEMORY_AVAILABLE, value=line("20%")),
            Part(signal=SWAP_AVAILABLE, value=line("10%")),
        ),
        sustained_seconds=STALL_SECONDS,
    ),
    Threshold(
        signal=NODEFS_AVAILABLE,
        value=line("min(10%,20Gi)"),
    ),
    Threshold(signal=NODEFS_INODES_FREE, value=line("5%")),
    Threshold(signal=PID_AVAILABLE, value=line("5%")),
)
"""A stall of 40 per cent leaves 60 available. [design, two profiles: lines]"""
HOST_SOFT: tuple[Threshold, ...] = (
    Threshold(
        name="memory gets short and work stalls",
        signal=MEMORY_AVAILABLE,
        value=line("10%"),
        all_of=(Part(signal=PSI_MEMORY_FULL, value=line("90%")),),
        grace_seconds=SOFT_SECONDS,
    ),
)


class ProfileSettings(Struct, frozen=True, kw_only=True):
    """A profile as a configuration sees it."""

    switches: Profile
    """How its decisions differ."""
    defaults: NodeSettings
    """What holds where nothing is given. Its lines stand apart, because those of profile host are
    more than a signal each."""
    reclaim_steps: tuple[str, ...] | None
    """What is given back before anybody is stopped; None: by the kubelet's own table."""
    named_hard: Mapping[str, str] = {}
    """Its hard lines as texts, each below the one that is given for its signal."""
    hard: tuple[Threshold, ...] = ()
    """Its hard lines for signals of which none is given, after those that are."""
    soft: tuple[Threshold, ...] = ()
    """Its soft lines, where none is given."""
    expressions: bool = False
    """A value may say `max(5%,100Mi)`."""
    own_signals: bool = False
    """Signals that no kubelet has are expected."""


PROFILES: Mapping[str, ProfileSettings] = {
    "host": ProfileSettings(
        switches=HOST,
        defaults=HOST_DEFAULTS,
        reclaim_steps=HOST_RECLAIM_STEPS,
        hard=HOST_HARD,
        soft=HOST_SOFT,
        expressions=True,
        own_signals=True,
    ),
    "kubelet": ProfileSettings(
        switches=KUBELET,
        defaults=KUBELET_DEFAULTS,
        reclaim_steps=None,
        named_hard=KUBELET_HARD,
    ),
}
"""By the name that people write."""


def profile_of(settings: NodeSettings) -> ProfileSettings:
    """The profile that is given, that of a plain host where none is."""
    return PROFILES[settings.profile or "host"]
