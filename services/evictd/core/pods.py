"""What one pod asks for, how important it is, and whether it may be touched at all.

Figures of the specification of a pod, never of its statistics (`usage`) and nothing of pressure.
[kubelet-eviction 8.1, 10, 11, 12]
"""

from collections.abc import Callable, Iterable

from evictd_schemas import Container, Number, Pod, PodReference, PodResources, Resources

MEMORY = "memory"
STORAGE = "ephemeral-storage"
CPU = "cpu"
PRIORITY_SYSTEM_CRITICAL = 2_000_000_000
"""From here on a pod is critical. [kubelet-eviction 12]"""
DEFAULT_GRACE_SECONDS = 30
"""Of one that names no grace of its own: the default of Kubernetes."""
SOURCE_ANNOTATION = "kubernetes.io/config.source"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
FINAL_PHASES = frozenset({"Succeeded", "Failed"})

_HUGE_PAGES = "hugepages-"


def reference(pod: Pod) -> PodReference:
    """This life of this pod."""
    return PodReference(namespace=pod.namespace, name=pod.name, uid=pod.uid)


def priority(pod: Pod) -> int:
    """Its priority; unset is 0. [kubelet-eviction 8.3]"""
    return pod.priority or 0


def active(pod: Pod) -> bool:
    """Not in a final phase; one that is terminating counts. [kubelet-eviction 4: 3]"""
    return pod.phase not in FINAL_PHASES


def static(pod: Pod) -> bool:
    """Its source is not the API. [kubelet-eviction 12]"""
    return pod.annotations.get(SOURCE_ANNOTATION, "api") != "api"


def mirror(pod: Pod) -> bool:
    """It mirrors a static pod. [kubelet-eviction 12]"""
    return MIRROR_ANNOTATION in pod.annotations


def critical(pod: Pod) -> bool:
    """Never evicted, always admitted.

    `critical: false` does not lift the rules. [kubelet-eviction 12] [contract 3, Observation]
    """
    return pod.critical or static(pod) or mirror(pod) or priority(pod) >= PRIORITY_SYSTEM_CRITICAL


def effective_request(pod: Pod, resource: str, *, pod_level: bool = True) -> Number:
    """What the pod asks for of one resource, with its overhead where it asks for any.

    An effective figure of the observation stands as it is. `pod_level`: pod-level resources blank
    the containers' requests, all of them. [kubelet-eviction 8.1] [contract 3, Observation]
    """
    if resource in pod.requests:
        return pod.requests[resource]
    level = pod.pod_resources
    if level is not None and (own := _pod_level_request(level, resource)) is not None:
        request = own
    elif pod_level and level is not None and _sets_pod_level(level):
        request = 0
    else:
        request = _sum_with_init(pod, resource, lambda container: container.requests)
    return request + pod.overhead.get(resource, 0) if request else 0


def storage_limit(pod: Pod) -> Number | None:
    """The pod's limit of ephemeral storage in bytes, None where nothing declares one.

    A declared 0 is a limit; pod-level resources do not blank it. [kubelet-eviction 10: 2]
    """
    if STORAGE in pod.limits:
        return pod.limits[STORAGE]
    if not any(STORAGE in container.limits for container in _named(pod)):
        return None
    limit = _sum_with_init(pod, STORAGE, lambda container: container.limits)
    return limit + pod.overhead.get(STORAGE, 0) if limit else 0


def container_request(pod: Pod, name: str, resource: str) -> Number | None:
    """The request of the regular or init container of that name.

    None when there is no such container. [kubelet-eviction 9.3]
    """
    for container in _named(pod):
        if container.name == name:
            return container.requests.get(resource, 0)
    return None


def qos_class(pod: Pod, *, pod_level: bool = True) -> str:
    """Guaranteed, Burstable or BestEffort; the class recorded in the status wins.

    `pod_level`: pod-level resources, where there are any, count alone. [kubelet-eviction 11]
    """
    if pod.qos_class:
        return pod.qos_class
    holders = _qos_holders(pod, pod_level=pod_level)
    requests = [_counted(requests) for requests, _ in holders]
    limits = [_counted(limits) for _, limits in holders]
    if not any(requests) and not any(limits):
        return "BestEffort"
    bounded = all(len(limit) == 2 for limit in limits)
    if bounded and _total(requests) == _total(limits):
        return "Guaranteed"
    return "Burstable"


def _qos_holders(pod: Pod, *, pod_level: bool) -> list[tuple[Resources, Resources]]:
    """Pod-level resources alone, even an empty block.

    Else the containers and the effective figures.
    """
    if pod_level and pod.pod_resources is not None:
        return [(pod.pod_resources.requests, pod.pod_resources.limits)]
    holders = [(container.requests, container.limits) for container in _named(pod)]
    if pod.requests or pod.limits:
        holders.append((pod.requests, pod.limits))
    return holders


def _counted(amounts: Resources) -> Resources:
    return {name: amounts[name] for name in (CPU, MEMORY) if amounts.get(name, 0) > 0}


def _total(parts: Iterable[Resources]) -> Resources:
    total: Resources = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = round(total.get(name, 0) + amount, 6)  # cores are fractions
    return total


def _named(pod: Pod) -> tuple[Container, ...]:
    """The containers that may have requests; ephemeral ones have none."""
    return pod.containers + pod.init_containers


def _sets_pod_level(level: PodResources) -> bool:
    """Whether a resource that Kubernetes knows at this level is set. [kubelet-eviction 8.1: 1]"""
    return any(_known_pod_level(name) for name in (*level.requests, *level.limits))


def _pod_level_request(level: PodResources, resource: str) -> Number | None:
    return level.requests.get(resource) if _known_pod_level(resource) else None


def _known_pod_level(resource: str) -> bool:
    return resource in {CPU, MEMORY} or resource.startswith(_HUGE_PAGES)


def _sum_with_init(pod: Pod, resource: str, of: Callable[[Container], Resources]) -> Number:
    """Regular containers and sidecars together, or one init container, whichever needs more.

    An init container runs beside the sidecars declared before it. [kubelet-eviction 8.1: 2]
    """
    total = sum(of(container).get(resource, 0) for container in pod.containers)
    sidecars: Number = 0
    init_peak: Number = 0
    for container in pod.init_containers:
        own = of(container).get(resource, 0)
        if container.restart_policy == "Always":
            sidecars += own
            own = sidecars
        else:
            own += sidecars
        init_peak = max(init_peak, own)
    return max(total + sidecars, init_peak)
