"""Observation: what a collector saw of one node. [contract 3, Observation]

The statistics keep the field names of the kubelet's Summary API, so that an entry of it can be
pasted in. Absent statistics are not zero.
"""

from msgspec import Struct, field

from evictd_schemas.common import Number, Segment, Timestamp, Uid

Resources = dict[str, Number]
"""Resource name to amount: bytes for `memory` and `ephemeral-storage`, cores for `cpu`."""


class MemoryStatistics(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Bytes.

    `working_set_bytes` is usage without inactive file pages; the others tell what a stop frees.
    """

    time: Timestamp | None = None
    available_bytes: int | None = None
    usage_bytes: int | None = None
    working_set_bytes: int | None = None
    rss_bytes: int | None = None
    shmem_bytes: int | None = None
    swap_bytes: int | None = None
    estimated: bool = False
    """True where the host has no memory controller and the figure is a sum over processes."""
    includes_cache: bool = False
    """True where the source does not tell file pages apart: a stop may free less."""


class FileSystemStatistics(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Bytes and inodes of one writable layer, log, volume or file system."""

    time: Timestamp | None = None
    available_bytes: int | None = None
    capacity_bytes: int | None = None
    used_bytes: int | None = None
    inodes_free: int | None = None
    inodes: int | None = None
    inodes_used: int | None = None


class VolumeStatistics(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One entry of the Summary's `volume` list."""

    name: str = ""
    used_bytes: int | None = None
    inodes_used: int | None = None


class ContainerStatistics(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One container: memory, writable layer (`rootfs`) and logs."""

    name: str = ""
    memory: MemoryStatistics | None = None
    rootfs: FileSystemStatistics | None = None
    logs: FileSystemStatistics | None = None


class ProcessStatistics(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The Summary API spells this one in snake case."""

    process_count: int | None = None


class PodStatistics(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One entry of the Summary's `pods` list, without its reference."""

    memory: MemoryStatistics | None = None
    process_stats: ProcessStatistics | None = field(default=None, name="process_stats")
    containers: tuple[ContainerStatistics, ...] = ()
    volume: tuple[VolumeStatistics, ...] = ()
    ephemeral_storage: FileSystemStatistics | None = field(default=None, name="ephemeral-storage")


class PodResources(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Pod-level resources of Kubernetes; where set they blank the containers' requests."""

    requests: Resources = {}
    limits: Resources = {}


class Container(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A container of the specification.

    `restart_policy` Always makes an init container a sidecar. `finish_time` once it has ended.
    """

    name: str = ""
    requests: Resources = {}
    limits: Resources = {}
    restart_policy: str | None = None
    finish_time: Timestamp | None = None


class Volume(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A volume of the specification; `kind` is Kubernetes' name of the source (`emptyDir`, ...)."""

    name: str = ""
    kind: str = ""
    medium: str = ""
    size_limit: int | None = None


class Toleration(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A Kubernetes toleration, for admission only."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class DeclaredResponder(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A responder named on the pod. [eviction-request-api 2.4] Deadlines are evictd's addition."""

    name: str = ""
    priority: int | None = None
    start_deadline_seconds: float | None = None
    heartbeat_deadline_seconds: float | None = None


class Pod(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One workload: a container, a cgroup, a unit or a Kubernetes pod.

    `requests` and `limits` are effective figures: what is named there is not computed from
    containers.
    `critical` adds to the rules of the specification; `protected` is the owner's wish.
    """

    namespace: Segment
    name: Segment
    uid: Uid
    runtime: str = ""
    runtime_id: str = ""
    priority: int | None = None
    critical: bool = False
    protected: bool = False
    labelled: bool = False
    """True when a label of ours or `workloads:` names it: what `candidates: labelled` asks for."""
    phase: str = "Running"
    ready: bool = True
    start_time: Timestamp | None = None
    deletion_time: Timestamp | None = None
    termination_grace_period_seconds: int | None = None
    qos_class: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    group: str | None = None
    depends_on: tuple[str, ...] = ()
    restore: str = "auto"
    action: str = "stop"
    """How its owner wants it taken off: `stop`, `restart` (ended and started again at once) or
    `webhook` (left to the configured webhooks unless the request is Hard)."""
    managed_by: str | None = None
    scheduling_group: str | None = None
    requests: Resources = {}
    limits: Resources = {}
    pod_resources: PodResources | None = None
    overhead: Resources = {}
    eviction_responders: tuple[DeclaredResponder, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    stats: PodStatistics | None = None


class SignalReading(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One signal. Its `time` absent: that of the observation. `views`: the profile picks one."""

    available: Number
    capacity: Number
    time: Timestamp | None = None
    views: dict[str, Number] = {}


class Layout(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Which file systems images and writable layers have to themselves. [kubelet-eviction 2.3]"""

    dedicated_image_fs: bool = False
    dedicated_container_fs: bool = False
    error: str | None = None


class Observation(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a collector saw of one node, whole. `pods` absent: only the signals changed."""

    node: Segment
    time: Timestamp
    signals: dict[str, SignalReading]
    sequence: int | None = None
    boot_id: str | None = None
    uptime_seconds: float | None = None
    interval_seconds: float | None = None
    layout: Layout | None = None
    pods: tuple[Pod, ...] | None = None
    pods_complete: bool = True
