"""The engine's answers as Structs.

Only what is read here, every field optional where engines differ.

Podman leaves out much; older engines leave out some. What is absent is None or empty, never a
guess.
"""

from msgspec import Struct, field


STOPPING = "stopping"
"""Podman's word for a container whose grace runs."""


class ContainerState(Struct, frozen=True, kw_only=True, rename="pascal"):
    """`started_at` as the engine writes it: it names the life."""

    status: str = ""
    said_running: bool = field(default=False, name="Running")
    paused: bool = False
    restarting: bool = False
    pid: int = 0
    exit_code: int = 0
    started_at: str = ""

    @property
    def running(self) -> bool:
        """Whether it lives. Podman denies that from its stop signal on, until it has ended."""
        return self.said_running or self.status == STOPPING


class ContainerSettings(Struct, frozen=True, kw_only=True, rename="pascal"):
    """What the container was made with. `stop_timeout` in seconds."""

    hostname: str = ""
    image: str = ""
    labels: dict[str, str] | None = None
    stop_timeout: int | None = None


class HostSettings(Struct, frozen=True, kw_only=True, rename="pascal"):
    """Resources in bytes and billionths of a core; 0 and absurdly large both say "no limit"."""

    memory: int | None = None
    memory_reservation: int | None = None
    nano_cpus: int | None = None
    cgroup_parent: str | None = None


class StorageDriver(Struct, frozen=True, kw_only=True, rename="pascal"):
    """Where the writable layer is, for drivers that tell it as `UpperDir`."""

    data: dict[str, str] | None = None


class Mount(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One mount; `source` on the machine."""

    source: str = ""


class Inspected(Struct, frozen=True, kw_only=True, rename="pascal"):
    """GET /containers/{id}/json."""

    id: str
    name: str = ""
    image: str = ""
    state: ContainerState = ContainerState()
    config: ContainerSettings = ContainerSettings()
    host_config: HostSettings = HostSettings()
    log_path: str = ""
    graph_driver: StorageDriver | None = None
    mounts: tuple[Mount, ...] | None = None

    @property
    def labels(self) -> dict[str, str]:
        """Its labels, those inherited from the image included."""
        return self.config.labels or {}


class Summary(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One entry of GET /containers/json. Older engines say "running" of a paused container too."""

    id: str
    names: tuple[str, ...] | None = None
    labels: dict[str, str] | None = None
    state: str = ""


class ImageSettings(Struct, frozen=True, kw_only=True, rename="pascal"):
    """The labels with which an image was built."""

    labels: dict[str, str] | None = None


class Image(Struct, frozen=True, kw_only=True, rename="pascal"):
    """GET /images/{id}/json."""

    config: ImageSettings | None = None


class Information(Struct, frozen=True, kw_only=True, rename="pascal"):
    """GET /info. `memory_limit` False: the kernel keeps no account of memory."""

    cgroup_driver: str = "cgroupfs"
    memory_limit: bool = True


class Component(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One part of what answers."""

    name: str = ""


class Version(Struct, frozen=True, kw_only=True, rename="pascal"):
    """GET /version. Podman answers in Docker's words and tells itself among the components."""

    components: tuple[Component, ...] | None = None

    @property
    def is_podman(self) -> bool:
        """Whether Podman answers for an engine."""
        return any(part.name.startswith("Podman") for part in self.components or ())


class Pruned(Struct, frozen=True, kw_only=True, rename="pascal"):
    """POST /images/prune and /build/prune."""

    space_reclaimed: int = 0


class EventActor(Struct, frozen=True, kw_only=True, rename="pascal"):
    """Whom an event is about."""

    id: str = field(default="", name="ID")


class EngineEvent(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One line of GET /events. Several of one second come in any order."""

    action: str = ""
    actor: EventActor = EventActor()
    time_nano: int = field(default=0, name="timeNano")
