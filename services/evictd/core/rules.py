"""Compiled configuration of one node: what every step of a decision is given as `rules`.

A profile is a value with one field a switch; nothing compares its name. [design, two profiles]
"""

from enum import StrEnum

from msgspec import Struct

from evictd.core.protocol.vocabulary import PRESSURE_REQUESTERS
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
    """The named switches in which a plain host differs from the kubelet, whose way is the default.

    Each says what it does and why a host wants it otherwise. [design, two profiles]
    """

    single_precision_percentages: bool = True
    """Percentages are computed with a 32-bit fraction, as the kubelet does. A host computes them in
    double precision, so that 10% of a large disk is the figure that people work out themselves."""
    priority_first: bool = False
    """In the ranking priority comes before "uses more than it asked for", then what a stop would
    give back, then youth, and a workload without statistics goes last. On a host hardly anybody
    asks for an amount, so that the kubelet's first question would rank everybody alike, and who is
    not measured would go before who is known to have taken the memory."""
    inodes_minus_bytes: bool = True
    """From an inode count the storage request in bytes is subtracted, as the kubelet does; the
    difference means nothing, so that a host leaves it out."""
    memory_view: str | None = None
    """Which view of memory counts; none takes the kubelet's, in which active file pages are used
    up. A host takes the kernel's own estimate: cache that can be dropped is no shortage."""
    hard_grace_seconds: int = 1
    """Seconds from SIGTERM to SIGKILL in a hard eviction. A host leaves a database time to close
    its files. Its key is `evictionHardGracePeriod`."""
    hard_grace_is_cap: bool = False
    """A workload whose own stop time-out is shorter than the hard grace gets its own. It said
    itself that it needs no more."""
    grace_ends_when_worse: bool = False
    """SIGKILL comes sooner when the signal falls below half its line, or when everything waits for
    memory for more than 40% of the time. The machine may not last for the rest of the grace."""
    negative_soft_cap_is_own: bool = False
    """A negative maximum soft grace leaves a workload its own. The kubelet refuses such a value; on
    a host it is the default, because a soft eviction has the time."""
    settle_seconds: float = 0
    """After a victim is gone, the next one needs an observation at least so many seconds younger.
    The kernel frees memory after the process is gone, and who looks at once takes a second victim
    for nothing. Its key is `settleSeconds`."""
    failed_victim_moves_on: bool = False
    """A victim that did not go, or that something else started again within a minute, is passed
    over for ten minutes and the next one is taken. The kubelet asks the same one again; on a host
    one stuck process, or a healer that undoes each stop, would hold up all relief. A hard shortage
    of memory or process ids that finds nobody else takes it again before that."""
    goes_together: bool = False
    """Workloads of one `group` are taken off one after the other, all of them, and what depends on
    a workload goes before it; whoever may not go keeps those with whom it would have to. A kubelet
    knows neither; on a host half a stack is of no use, and what has lost its database only fails
    until somebody looks."""
    reclaim_pause_seconds: float = 0
    """After a pass that found nobody to evict, reclaiming is not repeated for so many seconds. The
    kubelet reclaims in each pass, but has one only every ten seconds; a host looks far more often
    when it is short."""
    goes_on_to_next_shortage: bool = False
    """Where nothing can relieve the most urgent shortage, the next one has its turn in the same
    pass. The kubelet looks at one a pass, and a full disk that nobody can empty would hide a lack
    of memory for ever."""
    stop_one_growing_writer: bool = False
    """Disk and inode pressure stops at most the one workload whose growth explains the loss. A stop
    ends growth and frees no space: to stop one after the other would take all of them down and
    leave the disk as full."""
    one_event_a_crossing: bool = False
    """`EvictionThresholdMet` is told once while a line stays crossed, not in each pass. On a host
    people read the events."""
    warns_before_first_act: bool = False
    """A line that is already crossed when acting first begins is told of, and acted on only
    `hard_grace_seconds` later. Nobody should lose a workload in the second in which evictd is
    switched on."""
    slope_cuts_grace: bool = False
    """A soft line is due before its grace ends when its signal falls so fast that the hard line
    would come first. What can still go gently should not go hard."""
    recheck_revises_state: bool = False
    """The observation after a reclaim is a pass of its own. The kubelet's re-check leaves
    conditions and first-observed times alone, so that they stay wrong until the next pass."""


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
    goes_together=True,
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
    """How many of some workloads have to stay, or may be away, one of the two.

    `namespace` None: those of every namespace count together. No labels select every workload.
    """

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
    hard_requesters: tuple[str, ...] = PRESSURE_REQUESTERS
    budgets: tuple[Budget, ...] = ()
    """What has to stay when somebody else than node pressure asks for a workload."""
