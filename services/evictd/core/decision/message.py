"""The message and the annotations of a pressure eviction. [kubelet-eviction 9.3]"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from evictd.core.pods import MEMORY, container_request
from evictd.core.signals.amounts import bytes_text, exact_text
from evictd.core.signals.names import Resource, resource_of
from evictd.core.usage import memory_bytes
from evictd.core.wording import line_text
from evictd_schemas import ContainerStatistics, Number, Pod, Reason, ThresholdStatus

OFFENDING_CONTAINERS = "offending_containers"
OFFENDING_CONTAINERS_USAGE = "offending_containers_usage"
OFFENDING_POD = "offending_pod"
OFFENDING_POD_USAGE = "offending_pod_usage"
STARVED_RESOURCE = "starved_resource"


class Consumer(Struct, frozen=True, kw_only=True):
    """Who uses more than it asked for. Amounts in bytes."""

    kind: str
    name: str
    used: Number
    requested: Number


def pressure_reason(
    signal: str, resource: Resource, fresh: Sequence[ThresholdStatus], pod: Pod
) -> Reason:
    """Why this pod goes, for its request, its events and its annotations.

    `fresh` are the thresholds that compete in this pass, in the order of section 6.
    """
    whole, containers = _pod_consumer(resource, pod), tuple(_containers(resource, pod))
    named = containers if whole is None else (whole, *containers)
    sentences = [f"The node was low on resource: {resource}. ", _line(resource, fresh)]
    sentences += [_larger(resource, consumer) for consumer in named]
    return Reason(
        signal=signal,
        message="".join(sentences),
        annotations={} if pod.stats is None else _annotations(resource, whole, containers),
    )


def _line(resource: Resource, fresh: Sequence[ThresholdStatus]) -> str:
    """Quotes the first fresh threshold of the resource that has an observation."""
    for threshold in fresh:
        if resource_of(threshold.signal) is resource and threshold.available is not None:
            available = exact_text(threshold.signal, threshold.available)
            return f"Threshold quantity: {line_text(threshold)}, available: {available}. "
    return ""


def _pod_consumer(resource: Resource, pod: Pod) -> Consumer | None:
    """The pod itself, only for memory and only where it asks at pod level."""
    level = pod.pod_resources
    if resource is not Resource.MEMORY or level is None or MEMORY not in level.requests:
        return None
    if pod.stats is None or pod.stats.memory is None:
        return None
    used = memory_bytes(pod.stats)
    return Consumer(kind="Pod", name=pod.name, used=used, requested=level.requests[MEMORY])


def _containers(resource: Resource, pod: Pod) -> Iterator[Consumer]:
    """Containers of the specification, ephemeral ones aside, that use more than they ask for."""
    for entry in () if pod.stats is None else pod.stats.containers:
        used, requested = (
            _container_usage(resource, entry),
            container_request(pod, entry.name, resource.value),
        )
        if used is not None and requested is not None and used > requested:
            yield Consumer(kind="Container", name=entry.name, used=used, requested=requested)


def _container_usage(resource: Resource, entry: ContainerStatistics) -> Number | None:
    """The working set; for storage writable layer and logs, only if both are known."""
    if resource is Resource.MEMORY:
        return None if entry.memory is None else entry.memory.working_set_bytes
    if resource is not Resource.EPHEMERAL_STORAGE or entry.rootfs is None or entry.logs is None:
        return None
    layer, logs = entry.rootfs.used_bytes, entry.logs.used_bytes
    return None if layer is None or logs is None else layer + logs


def _larger(resource: Resource, consumer: Consumer) -> str:
    return (
        f"{consumer.kind} {consumer.name} was using {bytes_text(consumer.used)}, request is"
        f" {bytes_text(consumer.requested)}, has larger consumption of {resource}. "
    )


def _annotations(
    resource: Resource, whole: Consumer | None, containers: Sequence[Consumer]
) -> dict[str, str]:
    annotations = {
        OFFENDING_CONTAINERS: ",".join(consumer.name for consumer in containers),
        OFFENDING_CONTAINERS_USAGE: ",".join(bytes_text(consumer.used) for consumer in containers),
        STARVED_RESOURCE: resource.value,
    }
    if whole is not None:
        annotations[OFFENDING_POD] = whole.name
        annotations[OFFENDING_POD_USAGE] = bytes_text(whole.used)
    return annotations
