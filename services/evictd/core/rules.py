"""Compiled configuration of one node: what every step of a decision is given as `rules`.

A profile is a value with one field a switch; nothing compares its name. [design, two profiles]
"""

from enum import StrEnum

from msgspec import Struct

from evictd.core.signals.thresholds import Threshold
from evictd_schemas import Pod


class Mode(StrEnum):
    """What a node does about its decisions; they are the same in each. [design, law 8]"""

    OBSERVE = "observe"
    DRY_RUN = "dry-run"
    ACT = "act"


class Candidates(StrEnum):
    """Who may be a victim of pressure at all."""

    ALL = "all"
    LABELLED = "labelled"


class Profile(Struct, frozen=True, kw_only=True):
    """The named switches in which a plain host differs from the kubelet, each with its default
    there.

    `single_precision_percentages`: the kubelet computes percentages with a 32-bit fraction.
    `priority_first`: priority before "exceeds its request" in the ranking, and a pod without
    statistics last.
    `inodes_minus_bytes`: the kubelet subtracts the storage request in bytes from an inode count.
    `memory_view`: which of a reading's `views` counts; None takes `available`.
    `hard_grace_seconds`: SIGKILL after that on a hard eviction.
    `hard_grace_is_cap`: the workload's own grace counts, up to `hard_grace_seconds`.
    `grace_ends_when_worse`: SIGKILL sooner when the signal falls below half its line, or when
    everything waits for memory for more than 40 per cent of the time.
    `negative_soft_cap_is_own`: a negative maximum soft grace means the workload's own.
    `settle_seconds`: after a victim is gone, the next needs an observation at least that much
    later.
    `failed_victim_moves_on`: a victim that did not go is `Failed` for ten minutes and the next is
    taken.
    `reclaim_pause_seconds`: after a pass that found nobody to evict, reclaiming is not repeated
    sooner; the kubelet reclaims in each pass, but has one only every ten seconds.
    `goes_on_to_next_shortage`: where nothing can relieve the most urgent shortage, the next one has
    its turn in the same pass; the kubelet looks at one a pass.
    `stop_one_growing_writer`: disk and inode pressure stops at most the one workload whose growth
    explains it.
    `one_event_a_crossing`: `EvictionThresholdMet` once while a threshold stays met, not in each
    pass.
    `warns_before_first_act`: a line that is already crossed when `act` first starts is told of, and
    acted on only `hard_grace_seconds` later.
    `slope_cuts_grace`: a soft line is due before its grace ends when its signal falls so fast that
    the hard line would come first.
    `recheck_revises_state`: the observation after a reclaim is a pass of its own; the kubelet's
    re-check leaves conditions and first-observed times alone.
    """

    single_precision_percentages: bool = True
    priority_first: bool = False
    inodes_minus_bytes: bool = True
    memory_view: str | None = None
    hard_grace_seconds: int = 1
    hard_grace_is_cap: bool = False
    grace_ends_when_worse: bool = False
    negative_soft_cap_is_own: bool = False
    settle_seconds: float = 0
    failed_victim_moves_on: bool = False
    reclaim_pause_seconds: float = 0
    goes_on_to_next_shortage: bool = False
    stop_one_growing_writer: bool = False
    one_event_a_crossing: bool = False
    warns_before_first_act: bool = False
    slope_cuts_grace: bool = False
    recheck_revises_state: bool = False


KUBELET = Profile()
"""Exactly the decisions of kubelet v1.36. [kubelet-eviction]"""

HOST = Profile(
    single_precision_percentages=False,
    priority_first=True,
    inodes_minus_bytes=False,
    memory_view="mem_available",
    hard_grace_seconds=10,
    hard_grace_is_cap=True,
    grace_ends_when_worse=True,
    negative_soft_cap_is_own=True,
    settle_seconds=1,
    failed_victim_moves_on=True,
    reclaim_pause_seconds=10,
    goes_on_to_next_shortage=True,
    stop_one_growing_writer=True,
    one_event_a_crossing=True,
    warns_before_first_act=True,
    slope_cuts_grace=True,
    recheck_revises_state=True,
)
"""A machine without a kubelet. [design, two profiles]"""


class Portion(Struct, frozen=True, kw_only=True):
    """A number of workloads, or a percentage of them."""

    amount: int
    is_percent: bool = False

    def of(self, whole: int) -> int:
        """How many that is; a part of one counts as one, as in Kubernetes."""
        return -(-whole * self.amount // 100) if self.is_percent else self.amount

    def __str__(self) -> str:
        return f"{self.amount}%" if self.is_percent else str(self.amount)


class Budget(Struct, frozen=True, kw_only=True):
    """How many of some workloads have to stay, or may be away, one of the two. `namespace` None:
    those of every namespace count together. No labels select every workload."""

    name: str
    namespace: str | None = None
    match_labels: dict[str, str] = {}
    minimum_available: Portion | None = None
    maximum_unavailable: Portion | None = None

    def covers(self, pod: Pod) -> bool:
        """Whether it is about this workload."""
        at_home = self.namespace is None or self.namespace == pod.namespace
        return at_home and all(
            pod.labels.get(label) == value for label, value in self.match_labels.items()
        )

    def healthy_needed(self, expected: int) -> int:
        """How many healthy ones have to stay where so many are expected."""
        if self.minimum_available is not None:
            return self.minimum_available.of(expected)
        if self.maximum_unavailable is not None:
            return max(0, expected - self.maximum_unavailable.of(expected))
        return 0

    def __str__(self) -> str:
        if self.minimum_available is not None:
            return f"{self.name} (minAvailable {self.minimum_available})"
        return f"{self.name} (maxUnavailable {self.maximum_unavailable})"


class Rules(Struct, frozen=True, kw_only=True):
    """Everything configured that a decision about one node depends on. Durations in seconds."""

    node: str
    mode: Mode = Mode.OBSERVE
    profile: Profile = HOST
    candidates: Candidates = Candidates.LABELLED
    thresholds: tuple[Threshold, ...] = ()
    transition_seconds: float = 300
    maximum_pod_grace_seconds: int = 0
    local_storage_capacity_isolation: bool = True
    separate_disk_gc: bool = True
    """The gate KubeletSeparateDiskGC: without it a split layout ends the pass. [kubelet-eviction
    2.3]"""
    reclaim_steps: tuple[str, ...] | None = None
    """Reclaim steps of a plain host; None takes the kubelet's table by layout. [kubelet-eviction
    7]"""
    hard_requesters: tuple[str, ...] = ("evictd.io/node-pressure", "evictd.io/local-storage")
    budgets: tuple[Budget, ...] = ()
    """What has to stay when somebody else than node pressure asks for a workload."""
