"""The order in which pods would go, first to go first, with the figures behind it.

Whether a pod may go is not asked here (`candidates`); every active pod has its place.
[kubelet-eviction 8.3] [design, profile host]
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from msgspec import Struct

from evictd.core import usage
from evictd.core.pods import MEMORY, STORAGE, effective_request, priority
from evictd.core.rules import Profile
from evictd.core.signals.layouts import DiskPart, parts_measured
from evictd.core.signals.names import Resource, resource_of
from evictd_schemas import Layout, Number, Pod

Key = tuple[Number, ...]


class Place(Struct, frozen=True, kw_only=True):
    """One pod's figures.

    `usage` None: no statistics, which is not zero. Amounts in the unit of the signal; `exceeds` and
    `request` None where the signal does not ask for requests.
    """

    pod: Pod
    priority: int
    usage: Number | None = None
    request: Number | None = None
    exceeds: bool | None = None
    excess: Number | None = None
    """Usage minus the request that it is compared with in the last place."""
    freed: Number | None = None
    """What a stop would give back."""


Comparator = Callable[[Place], Key]


def rank(profile: Profile, signal: str, layout: Layout, pods: Sequence[Pod]) -> tuple[Place, ...]:
    """All these pods in order; ties keep the order given. Empty for a signal without a ranking.

    [kubelet-eviction 8.3]
    """
    resource = resource_of(signal)
    if resource is None:
        return ()
    parts = parts_measured(layout).get(signal, ())
    places = [place(profile, resource, parts, pod) for pod in pods]
    applied = comparators(profile, resource)
    return tuple(sorted(places, key=lambda item: [by(item) for by in applied]))


def place(profile: Profile, resource: Resource, parts: Collection[DiskPart], pod: Pod) -> Place:
    """One pod's figures for a shortage of this resource."""
    match resource:
        case Resource.MEMORY:
            return _memory_place(pod, absent_is_zero=not profile.priority_first)
        case Resource.PIDS:
            count = None if pod.stats is None else usage.process_count(pod.stats)
            return Place(pod=pod, priority=priority(pod), usage=count, freed=count)
        case Resource.EPHEMERAL_STORAGE:
            return _disk_place(pod, parts)
        case Resource.INODES:
            return _inode_place(pod, parts, minus_bytes=profile.inodes_minus_bytes)


def _memory_place(pod: Pod, *, absent_is_zero: bool) -> Place:
    """Statistics that say nothing of memory are zero bytes to the kubelet, and none to a host."""
    request = effective_request(pod, MEMORY)
    if pod.stats is None or (pod.stats.memory is None and not absent_is_zero):
        return Place(pod=pod, priority=priority(pod), request=request)
    used = usage.memory_bytes(pod.stats)
    return Place(
        pod=pod,
        priority=priority(pod),
        usage=used,
        request=request,
        exceeds=used > request,
        excess=used - request,
        freed=usage.freed_bytes(pod.stats),
    )


def _disk_place(pod: Pod, parts: Collection[DiskPart]) -> Place:
    request = effective_request(pod, STORAGE)
    if pod.stats is None:
        return Place(pod=pod, priority=priority(pod), request=request)
    used = usage.disk_bytes(pod, pod.stats, parts)
    return Place(
        pod=pod,
        priority=priority(pod),
        usage=used,
        request=request,
        exceeds=used > request,
        excess=used - request,
        freed=used,
    )


def _inode_place(pod: Pod, parts: Collection[DiskPart], *, minus_bytes: bool) -> Place:
    """Nobody can ask for inodes, so that one inode is too many.

    The kubelet then subtracts the storage request in bytes. [kubelet-eviction 8.3, inodes]
    """
    if pod.stats is None:
        return Place(pod=pod, priority=priority(pod), request=0)
    used = usage.disk_inodes(pod, pod.stats, parts)
    return Place(
        pod=pod,
        priority=priority(pod),
        usage=used,
        request=0,
        exceeds=used > 0,
        excess=used - (effective_request(pod, STORAGE) if minus_bytes else 0),
        freed=used,
    )


def by_exceeding(item: Place) -> Key:
    """No statistics, then over the request, then the rest."""
    return (0,) if item.usage is None else (1, 0 if item.exceeds else 1)


def by_priority(item: Place) -> Key:
    """Lower first, statistics or not."""
    return (item.priority,)


def by_excess(item: Place) -> Key:
    """No statistics, then the larger difference of usage and request."""
    return (0,) if item.usage is None else (1, -(item.excess or 0))


def by_count(item: Place) -> Key:
    """No statistics, then the larger usage; requests play no role."""
    return (0,) if item.usage is None else (1, -item.usage)


def by_having_statistics(item: Place) -> Key:
    """Who is not measured goes last."""
    return (1 if item.usage is None else 0,)


def by_freed(item: Place) -> Key:
    """The larger share of what a stop would give back first."""
    return (-(item.freed or 0),)


def by_youth(item: Place) -> Key:
    """The youngest first; an unknown start counts as old."""
    started: datetime | None = item.pod.start_time
    return (0.0 if started is None else -started.timestamp(),)


def comparators(profile: Profile, resource: Resource) -> tuple[Comparator, ...]:
    """Applied in order, later ones only break ties."""
    if profile.priority_first:
        return (by_priority, by_having_statistics, by_exceeding, by_freed, by_youth)
    if resource is Resource.PIDS:
        return (by_priority, by_count)
    return (by_exceeding, by_priority, by_excess)
