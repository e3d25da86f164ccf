"""The `sources` section of the configuration: where a collector looks, and how often.

Plain values with defaults; unknown fields are refused, so that a misspelt path is not silently the
default. Paths are those of the collector's own view: in a container the host's `/proc` is mounted
read-only somewhere else, and that place is named here.
"""

from evictd_schemas.section import Section


class MemorySource(Section, frozen=True, kw_only=True):
    """Whose memory is the node's.

    `cgroup`: a path below the hierarchies, such as `/pods`. Then `memory.available` is that
    cgroup's limit less its working set, and the stall signals are that cgroup's too. Default: the
    whole machine.
    """

    cgroup: str | None = None


class PidSource(Section, frozen=True, kw_only=True):
    """Whose process ids are the node's.

    `cgroup`: a parent whose `pids.max` is a budget too; of machine and parent the one with the
    smaller share left counts. Default: the machine alone.
    """

    cgroup: str | None = None


class FileSystemSources(Section, frozen=True, kw_only=True):
    """A folder on each file system. [kubelet-eviction 2.3]

    `nodefs` holds volumes and logs (default `/`), `imagefs` the images (default: on nodefs),
    `containerfs` the writable layers (default: with the images).
    """

    nodefs: str = "/"
    imagefs: str | None = None
    containerfs: str | None = None


class DockerSource(Section, frozen=True, kw_only=True):
    """The engine's containers, of Docker or of Podman's compatible socket.

    `enabled` absent: where the socket exists. `socket`: the default stands for all usual places, of
    Podman and of engines without root too.
    """

    enabled: bool | None = None
    socket: str = "/var/run/docker.sock"


class CgroupSource(Section, frozen=True, kw_only=True):
    """Each child of this cgroup is a workload. Default: none."""

    parent: str | None = None


class SystemdSource(Section, frozen=True, kw_only=True):
    """Units of systemd that are workloads; none unless listed. [design, law 9]

    `units` are names and patterns of services and scopes, `slices` of slices, each of which is one
    workload with all that is in it.
    """

    units: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()


class RuntimeSources(Section, frozen=True, kw_only=True):
    """What runs workloads on this node."""

    docker: DockerSource = DockerSource()
    cgroup: CgroupSource = CgroupSource()
    systemd: SystemdSource = SystemdSource()


class Sources(Section, frozen=True, kw_only=True):
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
