"""The engine's answers as Structs.

Only what is read here, every field optional where engines differ.

Podman leaves out much; older engines leave out some. What is absent is None or empty, never a
guess.
"""

import re
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field

NANOSECONDS = re.compile(r"(\.\d{6})\d+")
"""Digits of a moment beyond what `datetime` holds."""


STOPPING = "stopping"
"""Podman's word for a container whose grace runs."""


class Health(Struct, frozen=True, kw_only=True, rename="pascal"):
    """Its own check: `starting`, `healthy` or `unhealthy`; empty where it has none."""

    status: str = ""

    @property
    def is_good(self) -> bool:
        """Whether nothing speaks against it."""
        return self.status in ("healthy", "none", "")


class ContainerState(Struct, frozen=True, kw_only=True, rename="pascal"):
    """`started_at` as the engine writes it: it names the life. `finished_at` of the last one."""

    status: str = ""
    said_running: bool = field(default=False, name="Running")
    paused: bool = False
    restarting: bool = False
    pid: int = 0
    exit_code: int = 0
    started_at: str = ""
    finished_at: str = ""
    health: Health | None = None

    @property
    def is_ready(self) -> bool:
        """Whether it works, as far as the engine knows."""
        settled = not (self.paused or self.restarting)
        return settled and (self.health is None or self.health.is_good)

    @property
    def has_never_run(self) -> bool:
        """Whether it was made and not started yet."""
        return self.status in ("created", "configured") or self.started_at.startswith("0001-")

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


class LogSettings(Struct, frozen=True, kw_only=True, rename="pascal"):
    """Who writes the container's log."""

    type: str = ""


class HostSettings(Struct, frozen=True, kw_only=True, rename="pascal"):
    """Resources in bytes and billionths of a core; 0 and absurdly large both say "no limit"."""

    memory: int | None = None
    memory_reservation: int | None = None
    nano_cpus: int | None = None
    cgroup_parent: str | None = None
    network_mode: str = ""
    log_config: LogSettings | None = None


class StorageDriver(Struct, frozen=True, kw_only=True, rename="pascal"):
    """Where the writable layer is, for drivers that tell it as `UpperDir`."""

    data: dict[str, str] | None = None


class Mount(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One mount; `source` on the machine. A volume's has a name."""

    source: str = ""
    type: str = ""
    name: str = ""

    @property
    def is_volume(self) -> bool:
        """Whether the engine keeps it."""
        return self.type == "volume"


class Published(Struct, frozen=True, kw_only=True):
    """One port of the machine that leads into the container."""

    host_ip: str = field(default="", name="HostIp")
    host_port: str = field(default="", name="HostPort")


class Attached(Struct, frozen=True, kw_only=True):
    """One network that the container is in."""

    address: str = field(default="", name="IPAddress")
    gateway: str = field(default="", name="Gateway")
    aliases: tuple[str, ...] | None = field(default=None, name="Aliases")
    names: tuple[str, ...] | None = field(default=None, name="DNSNames")

    @property
    def called(self) -> frozenset[str]:
        """Everything under which others in that network reach it."""
        known = (self.address, *(self.aliases or ()), *(self.names or ()))
        return frozenset(name for name in known if name)


class Networking(Struct, frozen=True, kw_only=True, rename="pascal"):
    """Where it can be reached. A port that is not published has no bindings."""

    ports: dict[str, tuple[Published, ...] | None] | None = None
    networks: dict[str, Attached | None] | None = None


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
    network_settings: Networking | None = None
    mounts: tuple[Mount, ...] | None = None

    size_rw: int | None = None

    @property
    def labels(self) -> dict[str, str]:
        """Its labels, those inherited from the image included."""
        return self.config.labels or {}

    def lends_network(self, network_mode: str) -> bool:
        """Whether one of that mode has no network of its own but this one's, by id or by name."""
        kind, _, other = network_mode.partition(":")
        own_name = self.name.strip("/")
        meant = self.id.startswith(other) or other.strip("/") == own_name
        return kind == "container" and bool(other) and meant

    @property
    def volumes(self) -> tuple[Mount, ...]:
        """What it has mounted of the engine's own."""
        return tuple(mount for mount in self.mounts or () if mount.is_volume)


class NetworkSettings(Struct, frozen=True, kw_only=True, rename="pascal"):
    """As much of a container's settings as the list of all has."""

    network_mode: str = ""


TROUBLES = ("(Paused)", "(unhealthy)", "(health: starting)")
"""What an engine adds to "Up 8 minutes"."""


class Summary(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One entry of GET /containers/json. Older engines say "running" of a paused container too."""

    id: str
    names: tuple[str, ...] | None = None
    labels: dict[str, str] | None = None
    state: str = ""
    status: str = ""
    image_id: str = field(default="", name="ImageID")
    host_config: NetworkSettings | None = None

    @property
    def is_troubled(self) -> bool:
        """Whether its line for people says so: of old engines that is the only word on it."""
        return any(mark in self.status for mark in TROUBLES)


class ImageSettings(Struct, frozen=True, kw_only=True, rename="pascal"):
    """The labels with which an image was built."""

    labels: dict[str, str] | None = None


class ImageMetadata(Struct, frozen=True, kw_only=True, rename="pascal"):
    """What the engine knows of an image that is not in it: when it was named here last."""

    last_tag_time: str = ""


class Image(Struct, frozen=True, kw_only=True, rename="pascal"):
    """GET /images/{id}/json."""

    id: str = ""
    config: ImageSettings | None = None
    metadata: ImageMetadata | None = None


class ImageSummary(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One entry of GET /images/json. `size` with what it shares with others."""

    id: str
    parent_id: str = ""
    repo_tags: tuple[str, ...] | None = None
    repo_digests: tuple[str, ...] | None = None
    size: int = 0


class CacheRecord(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One piece of build cache."""

    id: str = field(default="", name="ID")
    size: int = 0
    in_use: bool = False
    last_used_at: str | None = None


class DiskUsage(Struct, frozen=True, kw_only=True, rename="pascal"):
    """GET /system/df, of which only the build cache is ever asked."""

    build_cache: tuple[CacheRecord, ...] | None = None


class Information(Struct, frozen=True, kw_only=True, rename="pascal"):
    """GET /info. `memory_limit` False: the kernel keeps no account of memory.

    Podman answers in Docker's words; `buildah_version` and `rootless` are words of its own.
    """

    name: str = ""
    cgroup_driver: str = "cgroupfs"
    memory_limit: bool = True
    mem_total: int = 0
    rootless: bool = False
    buildah_version: str = ""
    cgroup_version: str = ""
    docker_root_dir: str = ""
    driver_status: tuple[tuple[str, ...], ...] | None = None

    @property
    def has_containerd_images(self) -> bool:
        """Whether images are in containerd's store, which tells so as the type of its driver."""
        return any(
            "io.containerd.snapshotter" in row[-1] for row in self.driver_status or () if row
        )

    @property
    def has_digests_for_all(self) -> bool:
        """Whether it gives a repository digest to what was built here, too."""
        return self.is_podman or self.has_containerd_images

    @property
    def is_podman(self) -> bool:
        """Whether Podman answers for an engine."""
        return bool(self.buildah_version)

    @property
    def shares_groups(self) -> bool:
        """Whether containers have no control groups of their own, so that figures are not theirs.

        Podman without root on cgroup v1 tells of each what all of them use together.
        """
        return self.rootless and self.cgroup_version == "1"


class PrunedImage(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One thing that was done to an image: a name taken off, or a layer deleted."""

    deleted: str = ""


class Pruned(Struct, frozen=True, kw_only=True, rename="pascal"):
    """POST /images/prune and /build/prune."""

    space_reclaimed: int = 0
    images_deleted: tuple[PrunedImage, ...] | None = None
    caches_deleted: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What was deleted, as far as the engine tells it."""
        images = tuple(image.deleted[:19] for image in self.images_deleted or () if image.deleted)
        return images + (self.caches_deleted or ())


class EventActor(Struct, frozen=True, kw_only=True, rename="pascal"):
    """Whom an event is about."""

    id: str = field(default="", name="ID")
    attributes: dict[str, Any] | None = None

    @property
    def image(self) -> str:
        """The image of the container, as it was named when the container was made."""
        return str((self.attributes or {}).get("image", ""))


class EngineEvent(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One line of GET /events. Several of one second come in any order."""

    action: str = ""
    actor: EventActor = EventActor()
    time_nano: int = field(default=0, name="timeNano")


def time_of(text: str) -> datetime | None:
    """A moment as an engine writes it, to nanoseconds; None for none and for what does not read."""
    try:
        found = datetime.fromisoformat(NANOSECONDS.sub(r"\1", text))
    except ValueError:
        return None
    if found.year <= 1:  # how an engine says "never"
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
