"""Local storage limits of the pods themselves: they need no pressure and no fresh statistics.

[kubelet-eviction 10]
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from evictd.core.pods import STORAGE, storage_limit
from evictd.core.signals.amounts import bytes_text
from evictd_schemas import ContainerStatistics, Layout, Pod

EMPTY_DIR_LIMIT = "emptydirfs.limit"
POD_LIMIT = "ephemeralpodfs.limit"
CONTAINER_LIMIT = "ephemeralcontainerfs.limit"


class Offence(Struct, frozen=True, kw_only=True):
    """A pod over one of its limits: which, and the sentence that says so."""

    pod: Pod
    signal: str
    message: str


def offences(
    pods: Iterable[Pod], layout: Layout, evictable: Callable[[Pod], bool]
) -> tuple[Offence, ...]:
    """Every pod over a limit, in list order, each with the first limit that it breaks.

    Who may not be evicted commits no offence, and pods without statistics are passed over.
    """
    return tuple(
        offence
        for pod in pods
        if pod.stats is not None and evictable(pod)
        for offence in _first(pod, layout)
    )


def _first(pod: Pod, layout: Layout) -> Iterator[Offence]:
    offence = _volume_offence(pod) or _pod_offence(pod) or _container_offence(pod, layout)
    if offence is not None:
        yield offence


def _volume_offence(pod: Pod) -> Offence | None:
    """The first emptyDir, of any medium, over its size limit; of two entries the last counts."""
    entries = () if pod.stats is None else pod.stats.volume
    used_bytes = {entry.name: entry.used_bytes for entry in entries}
    for volume in pod.volumes:
        limit, used = volume.size_limit or 0, used_bytes.get(volume.name)
        if volume.kind == "emptyDir" and limit > 0 and used is not None and used > limit:
            shown = bytes_text(limit)
            message = f'Usage of EmptyDir volume "{volume.name}" exceeds the limit "{shown}". '
            return Offence(pod=pod, signal=EMPTY_DIR_LIMIT, message=message)
    return None


def _pod_offence(pod: Pod) -> Offence | None:
    limit = storage_limit(pod)
    storage = None if pod.stats is None else pod.stats.ephemeral_storage
    used = 0 if storage is None else storage.used_bytes or 0
    if limit is None or used <= limit:
        return None
    message = (
        "Pod ephemeral local storage usage exceeds the total limit of containers "
        f"{bytes_text(limit)}. "
    )
    return Offence(pod=pod, signal=POD_LIMIT, message=message)


def _container_offence(pod: Pod, layout: Layout) -> Offence | None:
    """Regular containers only, as in kubelet 1.36; sidecars are left alone."""
    limits = {container.name: container.limits.get(STORAGE, 0) for container in pod.containers}
    for entry in () if pod.stats is None else pod.stats.containers:
        limit = limits.get(entry.name, 0)
        if limit and _container_bytes(entry, layout) > limit:
            message = (
                f'Container {entry.name} exceeded its local ephemeral storage limit "'
                f'{bytes_text(limit)}". '
            )
            return Offence(pod=pod, signal=CONTAINER_LIMIT, message=message)
    return None


def _container_bytes(entry: ContainerStatistics, layout: Layout) -> int:
    """Logs, and the writable layer unless it lies on a disk of its own."""
    logs = 0 if entry.logs is None else entry.logs.used_bytes or 0
    layer = 0 if entry.rootfs is None else entry.rootfs.used_bytes or 0
    return logs if layout.dedicated_image_fs else logs + layer
