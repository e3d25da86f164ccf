"""The `sources` section of the configuration: where a collector looks, and how often.

Plain values with defaults; unknown fields are refused, so that a misspelt path is not silently the
default. Paths are those of the collector's own view: in a container the host's `/proc` is mounted
read-only somewhere else, and that place is named here.
"""

from msgspec import Struct


class MemorySource(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Whose memory is the node's.

    `cgroup`: a path below the hierarchies, such as `/pods`. Then `memory.available` is that
    cgroup's limit less its working set, and the stall signals are that cgroup's too. Default: the
    whole machine.
    """

    cgroup: str | None = None


class PidSource(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Whose process ids are the node's.

    `cgroup`: a parent whose `pids.max` is a budget too; of machine and parent the one with the
    smaller share left counts. Default: the machine alone.
    """

    cgroup: str | None = None


class FileSystemSources(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A folder on each file system. [kubelet-eviction 2.3]

    `nodefs` holds volumes and logs (default `/`), `imagefs` the images (default: on nodefs),
    `containerfs` the writable layers (default: with the images).
    """

    nodefs: str = "/"
    imagefs: str | None = None
    containerfs: str | None = None


class DockerSource(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """The engine's containers, of Docker or of Podman's compatible socket.

    `enabled` absent: where the socket exists. `socket`: the default stands for all usual places, of
    Podman and of engines without root too.
    """

    enabled: bool | None = None
    socket: str = "/var/run/docker.sock"


class CgroupSource(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Each child of this cgroup is a workload. Default: none."""

    parent: str | None = None


class SystemdSource(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Units of systemd that are workloads; none unless listed. [design, law 9]

    `units` are names and patterns of services and scopes, `slices` of slices, each of which is one
    workload with all that is in it.
    """

    units: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()


class RuntimeSources(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """What runs workloads on this node."""

    docker: DockerSource = DockerSource()
    cgroup: CgroupSource = CgroupSource()
    systemd: SystemdSource = SystemdSource()


class Sources(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Everything a collector is told about its machine.

    `interval_seconds` (10, as the kubelet's) is the longest time between two looks;
    `minimum_interval_seconds` (0.1) is the shortest, whatever asks for another one: a look costs
    some milliseconds, so that even a storm of wishes takes a few per cent of one core.
    """

    proc_path: str = "/proc"
    cgroup_path: str = "/sys/fs/cgroup"
    memory: MemorySource = MemorySource()
    pids: PidSource = PidSource()
    file_systems: FileSystemSources = FileSystemSources()
    runtimes: RuntimeSources = RuntimeSources()
    interval_seconds: float = 10.0
    minimum_interval_seconds: float = 0.1
