"""Vectors of the decision: ranking, requests, usage, grace, messages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tests.conformance import scenarios
from tests.conformance.pods import pod_of, statistics_of
from tests.conformance.signals_operations import threshold_of

from evictd.core import pods, usage
from evictd.core.decision import grace, ranking
from evictd.core.decision.message import pressure_reason
from evictd.core.rules import KUBELET
from evictd.core.signals.layouts import DiskPart
from evictd.core.signals.names import Resource
from evictd.core.signals.quantities import round_away
from evictd.core.signals.thresholds import Judge, Threshold, value_text
from evictd_schemas import (
    ContainerStatistics,
    FileSystemStatistics,
    Layout,
    MemoryStatistics,
    Pod,
    PodStatistics,
    ProcessStatistics,
    ThresholdStatus,
)

PARTS = {
    "root": DiskPart.ROOT,
    "logs": DiskPart.LOGS,
    "localVolumeSource": DiskPart.LOCAL_VOLUMES,
}
COMPARATORS: Mapping[str, Callable[[ranking.Place], ranking.Key]] = {
    "exceed_memory_requests": ranking.by_exceeding,
    "exceed_disk_requests": ranking.by_exceeding,
    "priority": ranking.by_priority,
    "memory": ranking.by_excess,
    "disk": ranking.by_excess,
    "process": ranking.by_count,
}
JUDGE = Judge(single_precision=KUBELET.single_precision_percentages)


def rank(given: dict[str, Any]) -> dict[str, Any]:
    """The complete ranking of a signal, or some comparators on their own."""
    statistics = statistics_of(given["pod_stats"])
    listed = [pod_of(pod, statistics) for pod in given["pods"]]
    if "signal" in given:
        order = ranking.rank(KUBELET, given["signal"], _layout(given), listed)
        return {"order": [place.pod.name for place in order]}
    places = [_place(given, pod) for pod in listed]
    keys = [COMPARATORS[name] for name in given["comparators"]]
    ordered = sorted(places, key=lambda place: [key(place) for key in keys])
    return {"order": [place.pod.name for place in ordered]}


def comparison(given: dict[str, Any]) -> dict[str, Any]:
    """The order, or for two pods what the comparators say of them."""
    if "signal" in given or len(given["pods"]) != 2:
        return rank(given)
    statistics = statistics_of(given["pod_stats"])
    keys = [COMPARATORS[name] for name in given["comparators"]]
    first, second = (
        [key(_place(given, pod_of(pod, statistics))) for key in keys] for pod in given["pods"]
    )
    return {**rank(given), "comparison": (first > second) - (first < second)}


def compare_ranking(expected: Any, actual: Any) -> None:
    """A case expects an order or a comparison."""
    assert {key: actual[key] for key in expected} == expected


def requests(given: dict[str, Any]) -> dict[str, Any]:
    """Effective requests and the pod's storage limit."""
    pod = pod_of(given["pod"])
    level = given.get("pod_level_resources_enabled", True)
    return {
        "requests": {
            name: _milli(name, pods.effective_request(pod, _wire_name(name), pod_level=level))
            for name in given["resources"]
        },
        "ephemeral_storage_limit": pods.storage_limit(pod),
    }


def disk_usage(given: dict[str, Any]) -> dict[str, Any]:
    """Bytes and inodes of the selected parts."""
    pod = _pod_with_statistics(given)
    assert pod.stats is not None
    parts = [PARTS[name] for name in given["fs_stats"] if name in PARTS]
    return {
        "bytes": usage.disk_bytes(pod, pod.stats, parts),
        "inodes": usage.disk_inodes(pod, pod.stats, parts),
        "local_volumes": list(usage.local_volumes(pod)),
    }


def fallback(given: Any) -> dict[str, Any]:
    """Single figures of statistics of which some or all are absent: each is zero then.

    `asked`: the one that the case names by its function or kind, disk where it names none.
    """
    found, words = dict(_figures(given)), " ".join(_words(given))
    layer = FileSystemStatistics(
        used_bytes=found.get("usedbytes"), inodes_used=found.get("inodesused")
    )
    statistics = PodStatistics(
        memory=MemoryStatistics(working_set_bytes=found.get("workingsetbytes")),
        process_stats=ProcessStatistics(process_count=found.get("processcount")),
        containers=(ContainerStatistics(rootfs=layer),),
    )
    pod = Pod(namespace="default", name="p", uid="p")
    figures = {
        "disk": usage.disk_bytes(pod, statistics, [DiskPart.ROOT]),
        "inode": usage.disk_inodes(pod, statistics, [DiskPart.ROOT]),
        "memory": usage.memory_bytes(statistics),
        "process": usage.process_count(statistics),
    }
    return {**figures, "asked": figures[_figure_named(words) or "disk"]}


def compare_usage(expected: Any, actual: Any) -> None:
    """A case names the figures that it expects by what they measure."""
    if "asked" not in actual:
        assert expected == actual
        return
    for name, value in expected.items():
        assert value == actual[_figure_named(name) or "asked"]


NAMES = {
    "inode": "inode",
    "memory": "memory",
    "workingset": "memory",
    "process": "process",
    "pid": "process",
    "disk": "disk",
}
"""Words in the names of figures, and the figure that each is about."""


def _figure_named(text: str) -> str | None:
    plain = text.lower().replace("_", "")
    return next((figure for word, figure in NAMES.items() if word in plain), None)


def _figures(given: Any) -> Iterator[tuple[str, Any]]:
    """Every figure inside, whatever holds it, by its name without case and underscores."""
    for name, value in given.items() if isinstance(given, Mapping) else ():
        if isinstance(value, Mapping):
            yield from _figures(value)
        elif value is not None:
            yield name.lower().replace("_", ""), value


def _words(given: Any) -> Iterator[str]:
    """What a case says beside its figures."""
    values = given.values() if isinstance(given, Mapping) else ()
    return (value for value in values if isinstance(value, str))


def critical(given: dict[str, Any]) -> dict[str, Any]:
    """Critical, static, mirror."""
    pod = pod_of(given["pod"])
    return {
        "critical": pods.critical(pod),
        "static": pods.static(pod),
        "mirror": pods.mirror(pod),
    }


def qos(given: dict[str, Any]) -> dict[str, Any]:
    """The QoS class."""
    pod = pod_of(given["pod"])
    level = given.get("pod_level_resources_enabled", True)
    return {"qos": pods.qos_class(pod, pod_level=level)}


def effective_grace(given: dict[str, Any]) -> dict[str, Any]:
    """Seconds really given, and whether a running termination was shortened."""
    seconds, shortened = grace.effective_grace_seconds(
        own=given["pod_termination_grace_period_s"],
        deletion=given["pod_deletion_grace_period_s"],
        override=given["override_s"],
        running=given["already_running_s"],
    )
    return {"grace_period_s": seconds, "shortened": shortened}


def message(given: dict[str, Any]) -> dict[str, Any]:
    """Text and annotations of a pressure eviction."""
    reason = pressure_reason(
        "", Resource(given["resource"]), _statuses(given), _pod_with_statistics(given)
    )
    return {"message": reason.message, "annotations": reason.annotations}


def _statuses(given: dict[str, Any]) -> Sequence[ThresholdStatus]:
    return [
        _status(threshold_of(threshold), given["observations"].get(threshold["signal"]))
        for threshold in given["thresholds"]
    ]


def _status(threshold: Threshold, observation: Mapping[str, Any] | None) -> ThresholdStatus:
    """A threshold of the vectors as judged."""
    known = observation or {}
    capacity = known.get("capacity", 0)
    return ThresholdStatus(
        signal=threshold.signal,
        operator=threshold.operator,
        value=value_text(threshold.value, threshold.signal),
        grace_period_seconds=threshold.grace_seconds,
        quantity=round_away(JUDGE.absolute(threshold.value, capacity)),
        available=known.get("available"),
    )


def _pod_with_statistics(given: dict[str, Any]) -> Pod:
    entry = given["pod_stats"]
    return pod_of(given["pod"], statistics_of(entry if isinstance(entry, list) else [entry]))


def _layout(given: dict[str, Any]) -> Layout:
    return Layout(
        dedicated_image_fs=given.get("dedicated_image_fs", False),
        dedicated_container_fs=given.get("dedicated_container_fs", False),
    )


def _place(given: dict[str, Any], pod: Pod) -> ranking.Place:
    names = set(given["comparators"])
    if "process" in names:
        resource = Resource.PIDS
    elif names & {"disk", "exceed_disk_requests"}:
        resource = Resource(given["disk_resource"] or Resource.EPHEMERAL_STORAGE)
    else:
        resource = Resource.MEMORY
    parts = [PARTS[name] for name in given.get("fs_stats", ()) if name in PARTS]
    return ranking.place(KUBELET, resource, parts, pod)


def _wire_name(resource: str) -> str:
    return "cpu" if resource == "cpu_milli" else resource


def _milli(resource: str, amount: float) -> float:
    return round(amount * 1000) if resource == "cpu_milli" else amount


OPERATIONS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("rank_memory", "rank"): rank,
    ("rank_disk", "rank"): rank,
    ("rank_inodes", "rank"): rank,
    ("rank_process", "rank"): rank,
    ("rank_missing_stats", "rank"): comparison,
    ("pod_requests", "requests"): requests,
    ("pod_disk_usage", "disk_usage"): disk_usage,
    ("pod_disk_usage", "fallback"): fallback,
    ("critical_pods", "critical"): critical,
    ("qos_class", "qos"): qos,
    ("effective_grace", "effective_grace"): effective_grace,
    ("eviction_message", "message"): message,
    ("synchronize_scenarios", "scenario"): scenarios.scenario,
}

RANKINGS = ("rank_memory", "rank_disk", "rank_inodes", "rank_process", "rank_missing_stats")
COMPARISONS: dict[str, Callable[[Any, Any], None]] = {
    **dict.fromkeys(RANKINGS, compare_ranking),
    "pod_disk_usage": compare_usage,
    "synchronize_scenarios": scenarios.compare,
}
