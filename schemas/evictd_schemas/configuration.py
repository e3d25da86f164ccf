"""The configuration file as Structs, under the kubelet's names wherever the meaning is the same.

A Struct checks types only. Rules about values, and what a profile puts in the place of an absent
value, are in `evictd.shell.configuration`. `None` always means "not given", so that the default of
the profile applies. [design, two profiles] [kubelet-eviction 3.1]
"""

from typing import Literal

from msgspec import field

from evictd_schemas.observation import DeclaredResponder
from evictd_schemas.reclaim import Reclaim
from evictd_schemas.section import Section
from evictd_schemas.sources import Sources

ModeName = Literal["observe", "dry-run", "act"]
ProfileName = Literal["host", "kubelet"]
CandidatesName = Literal["labelled", "all"]


class Signals(Section, frozen=True, kw_only=True):
    """One text a signal; which kind of text depends on the map. A signal that is absent is off.

    Names are case-sensitive, and every threshold means "less than". [kubelet-eviction 2]
    """

    memory_available: str | None = field(default=None, name="memory.available")
    """Bytes that can be had without hurting anybody; the profile picks the view."""
    nodefs_available: str | None = field(default=None, name="nodefs.available")
    """Bytes free on the file system of volumes and logs."""
    nodefs_inodes_free: str | None = field(default=None, name="nodefs.inodesFree")
    """Inodes free there: a count, so a value in Mi is nearly always a mistake."""
    imagefs_available: str | None = field(default=None, name="imagefs.available")
    """Bytes free on the file system of images."""
    imagefs_inodes_free: str | None = field(default=None, name="imagefs.inodesFree")
    """Inodes free there."""
    containerfs_available: str | None = field(default=None, name="containerfs.available")
    """Bytes free on the file system of writable layers. Derived: what is given here is overridden
    as soon as the layout is known. [kubelet-eviction 3.4]"""
    containerfs_inodes_free: str | None = field(default=None, name="containerfs.inodesFree")
    """Inodes free there, derived as well."""
    pid_available: str | None = field(default=None, name="pid.available")
    """Process ids free: a count of threads."""
    allocatable_memory_available: str | None = field(
        default=None, name="allocatableMemory.available"
    )
    """Bytes free below the parent cgroup of all workloads; a copy of `memory.available` where
    `enforceNodeAllocatable` holds `pods`."""
    swap_available: str | None = field(default=None, name="swap.available")
    """Bytes of swap free; no observation, and so never met, without swap. evictd's own."""
    psi_memory_some: str | None = field(default=None, name="psi.memory.some.avg10")
    """100 minus the percentage of time in which some task waited for memory. evictd's own."""
    psi_memory_full: str | None = field(default=None, name="psi.memory.full.avg10")
    """100 minus the percentage of time in which every task waited for memory. evictd's own."""
    psi_io_full: str | None = field(default=None, name="psi.io.full.avg10")
    """100 minus the percentage of time in which every task waited for a disk; shown only."""


class NodeSettings(Section, frozen=True, kw_only=True):
    """What decides about one node; the same keys at the top level and in an entry of `nodes`."""

    mode: ModeName | None = None
    """What is done about decisions. Default `observe`: nothing is stopped until a person says so.
    [design, law 8]"""
    profile: ProfileName | None = None
    """Whose rules hold. Default `host`: a machine without a kubelet; `kubelet` decides exactly as
    the kubelet does. [design, two profiles]"""
    candidates: CandidatesName | None = None
    """Who may be taken off at all. Default `labelled` in profile host (only what its owner named),
    `all` in profile kubelet."""
    eviction_hard: Signals | None = None
    """Signal to value (`500Mi`, `5%`): below it a workload goes at once. Default: the profile's
    lines. One signal given switches all other defaults off, unless `mergeDefaultEvictionSettings`;
    `0%` switches one signal off. [kubelet-eviction 3.1]"""
    eviction_soft: Signals | None = None
    """Signal to value: below it for the signal's grace period a workload goes. Default: none in
    profile kubelet."""
    eviction_soft_grace_period: Signals | None = None
    """Signal to duration (`1m30s`); each soft signal needs one, since no figure suits all."""
    eviction_minimum_reclaim: Signals | None = None
    """Signal to value: how far above its line a signal must get before it counts as cleared.
    Default: none."""
    eviction_pressure_transition_period: str | None = None
    """Duration for which a condition stays after its signals recovered. Default `5m0s`; zero means
    the default, as in the kubelet."""
    eviction_max_pod_grace_period: int | None = None
    """Seconds that a soft eviction may leave a workload at most. Default 0: none, as in the
    kubelet; profile host: -1, the workload's own."""
    eviction_hard_grace_period: int | None = None
    """Seconds from SIGTERM to SIGKILL in a hard eviction. Default: host at most 10, so that a
    database can close its files, and none any more once the signal is below half its line or stalls
    pass 40%; kubelet 1."""
    settle_seconds: float | None = None
    """Seconds that an observation must be younger than the end of a victim before the next one is
    chosen. Default: host 1, since the kernel frees late; kubelet 0."""
    merge_default_eviction_settings: bool | None = None
    """True: `evictionHard` adds to the default lines instead of replacing them. Default false, as
    in the kubelet."""
    enforce_node_allocatable: tuple[str, ...] | None = None
    """Holds `pods`: hard memory lines count for the parent cgroup of all workloads too. Default:
    kubelet `[pods]`, host none, because a plain host has no such parent."""
    local_storage_capacity_isolation: bool | None = None
    """True: a workload over its own storage limit goes without any pressure. Default true, as in
    the kubelet. [kubelet-eviction 10]"""
    hard_requesters: tuple[str, ...] | None = None
    """Requesters whose `Hard` type, or grace below the workload's own, is accepted. Default: the
    two pressure requesters. [contract 3, EvictionRequest]"""


class NodeOverride(NodeSettings, frozen=True, kw_only=True):
    """Settings for the nodes that `match`.

    Each key given here wins over the same key anywhere else, environment and flags included. The
    first entry that matches a node holds for it.
    """

    match: str
    """Pattern of node names with `*`, `?` and `[…]`, such as `demo-*`."""


class Requests(Section, frozen=True, kw_only=True):
    """What a workload is meant to use; the ranking looks at what exceeds it."""

    memory: str | None = None
    """Bytes as a quantity. Default: what the runtime says."""
    ephemeral_storage: str | None = field(default=None, name="ephemeral-storage")
    """Bytes as a quantity, of writable layer and logs together. Default: none."""


class Workload(Section, frozen=True, kw_only=True):
    """What the machine's owner says about the workloads of a name; it wins over their labels."""

    priority: int | str | None = None
    """Greater stays longer; `low` is -1000, `normal` 0, `high` 1000. Default: the label's, else 0.
    """
    enable: bool | None = None
    """True: it may be taken off under `candidates: labelled`. False: it is left alone, under
    `candidates: all` too. Default: the label's; else being named here is enough."""
    protect: bool | None = None
    """True: never taken off. Default: the label's, else false."""
    restore: Literal["auto", "manual", "never"] | None = None
    """Whether it is started again when the pressure has gone, or (`manual`) only when somebody asks
    for it. Default: the label's, else `auto`."""
    request: Requests | None = None
    """What it is meant to use. Default: the runtime's reservation."""
    responders: tuple[DeclaredResponder, ...] | None = None
    """Who may drain or move it before it is stopped. Default: the label's, else none."""
    action: Literal["stop", "restart", "webhook"] | None = None
    """How it is taken off: `stop`; `restart`, for what leaks: stopped and started again at once; or
    `webhook`: left to the webhooks of `responders:`, unless it is hard. Default: the label's, else
    `stop`."""
    group: str | None = None
    """A word; all workloads of a namespace with the same word go together. Default: the label's,
    else none."""
    depends_on: tuple[str, ...] | None = None
    """Names of those that it needs, with a namespace or of its own one: it goes before them and
    comes back after them. Default: the label's, else Compose's."""


class Selector(Section, frozen=True, kw_only=True):
    """Which workloads a budget is about; the equality part of Kubernetes' selector."""

    match_labels: dict[str, str] = field(default_factory=dict)
    """Labels that a workload must have, each with this value. Default: none, so that every workload
    counts."""


class Budget(Section, frozen=True, kw_only=True):
    """What has to stay of some workloads, as in a PodDisruptionBudget.

    One that runs and is ready counts as healthy; those that evictd has stopped are still expected.
    A percentage is one of all expected, and a part of a workload counts as one. A workload under
    several budgets goes only if all of them allow it.
    """

    name: str
    """What it is called in reports; each name once."""
    namespace: str | None = None
    """Namespace of its workloads. Default: all of them, counted together."""
    selector: Selector = Selector()
    """Which workloads it is about. Default: every one."""
    min_available: int | str | None = None
    """So many healthy ones (`2`), or such a share of all (`50%`), have to stay. Either this or
    `maxUnavailable`."""
    max_unavailable: int | str | None = None
    """So many (`1`), or such a share of all (`25%`), may be away at a time. Either this or
    `minAvailable`."""


class ConfiguredResponder(Section, frozen=True, kw_only=True):
    """Something that is done for a workload before it is stopped, in one of three ways.

    A command is run, a URL is asked, or the workload itself is asked on a topic of its own. `evictd
    respond` runs all of them. Never configured by a label.
    """

    name: str
    """Its name in the chain, such as `acme.io/drain`; each name once."""
    command: tuple[str, ...] = ()
    """Program and arguments; no shell is put between. This, `webhook` or `topic`."""
    webhook: str | None = None
    """URL that is asked by POST. This, `command` or `topic`."""
    topic: str | None = None
    """Topic on which the workload itself is asked, such as `plant/{namespace}/{name}/evict`, with
    `{node}` too, each in a level of its own; never below `evictd/`, nor where somebody answers.
    This, `command` or `webhook`."""
    answer_topic: str | None = None
    """Topic on which it answers, in the same form. Default: `topic` and `/answer`."""
    timeout_seconds: float | None = None
    """Seconds that one turn may take. Default 600."""
    selector: Selector | None = None
    """For which workloads it works besides those that name it; without labels, for all of them.
    Default: only for those that name it."""
    namespaces: tuple[str, ...] = ()
    """Namespaces in which it works. Default: all of them."""
    priority: int | None = None
    """Greater gets its turn earlier; at least 1000. Default 10000."""
    supports_dry_run: bool = False
    """True: it is asked in dry runs as well, and told so. Default false."""


class Configuration(NodeSettings, frozen=True, kw_only=True):
    """The whole file. A change needs a restart."""

    node: str | None = None
    """Name of this machine on the bus. Default: the engine's name, else the host name; a name that
    changes with each container would leave ghosts on the bus."""
    serve: tuple[str, ...] | None = None
    """Patterns of other nodes for which evaluator, evictor, controller and gateway decide. Default
    `["demo-*"]` on a loopback broker, where a demonstration can harm nobody, else none.
    [contract 2]"""
    broker: str | None = None
    """`mqtt://host:1883`, or `owned` (with a port: `owned:1883`): evictd starts its own Mosquitto.
    Default `owned` for `evictd up`; a single worker needs an address."""
    broker_user: str | None = None
    """Login name at the broker. Default: the worker's role, as the access list has it."""
    broker_password: str | None = None
    """Password at the broker. Better given as a file by `EVICTD_BROKERPASSWORD_FILE`. Default:
    none."""
    state_folder: str | None = None
    """Folder of journals and of the owned broker. Default `/var/lib/evictd` for root, else
    `~/.local/state/evictd`, because a restart must find what it had promised."""
    sources: Sources = Sources()
    """What the collector reads. Default: this machine's `/proc`, `/sys/fs/cgroup` and the engine's
    socket where there is one."""
    reclaim: Reclaim = Reclaim()
    """What may be given back on this machine before a workload is stopped for disk or inodes,
    besides dangling images and build cache of over a day. Default: nothing."""
    workloads: dict[str, Workload] = field(default_factory=dict)
    """Pattern of `namespace/name`, or of the name alone, to settings; the first that matches holds.
    Default: none, labels decide."""
    budgets: tuple[Budget, ...] = ()
    """How many of a group of workloads have to stay whoever asks for one of them, except for node
    pressure, which ignores budgets and says so. Who is refused is asked again after 5 s, doubling
    to 10 min. Default: none."""
    responders: tuple[ConfiguredResponder, ...] = ()
    """Commands, URLs and topics of the workloads themselves that get their turn before a workload
    is stopped; `evictd respond` runs them. Default: none."""
    nodes: tuple[NodeOverride, ...] = ()
    """Exceptions for single nodes, the first match holds. Default: none."""
