"""A kubelet's Summary document as figures, pods and the level at which the kernel would call."""

from collections.abc import Iterator, Mapping

import msgspec

from evictd.core.rules import Rules
from evictd.core.signals.names import ALLOCATABLE_MEMORY_AVAILABLE, MEMORY_AVAILABLE
from evictd.core.signals.summary import Summary, notifier_usage_bytes, readings
from evictd.core.signals.thresholds import Judge
from evictd.simulation.scenario import Figure, PodEntry, SummaryForm
from evictd_schemas import SignalReading

MEMORY_SIGNALS = (MEMORY_AVAILABLE, ALLOCATABLE_MEMORY_AVAILABLE)


def figures_of_readings(found: Mapping[str, SignalReading]) -> dict[str, Figure]:
    """Readings of any source, each with the time that it has."""
    return {
        name: Figure(
            available=reading.available,
            capacity=reading.capacity,
            views=reading.views,
            time=reading.time,
        )
        for name, reading in found.items()
    }


def figures_of_summary(form: SummaryForm) -> dict[str, Figure]:
    """The signals whose figures are all there. [kubelet-eviction 2.1]"""
    return figures_of_readings(readings(Summary(node=form.node)))


def pods_of_summary(form: SummaryForm, known: Mapping[tuple[str, str], PodEntry]) -> list[PodEntry]:
    """Statistics for the pods, found by uid, else by name; of two entries the later wins.

    A pod that only the Summary knows is taken as it stands. [kubelet-eviction 2.1]
    """
    names = {entry["uid"]: name for name, entry in known.items() if entry.get("uid")}
    found: list[PodEntry] = []
    for pod in form.pods:
        key = pod.pod_ref
        namespace, name = names.get(key.uid, (key.namespace, key.name))
        statistics = msgspec.to_builtins(pod)
        del statistics["podRef"]
        entry = {"namespace": namespace, "name": name, "stats": statistics}
        if key.uid and (namespace, name) not in known:
            entry["uid"] = key.uid
        found.append(entry)
    return found


def notifier_levels(rules: Rules, form: SummaryForm) -> Iterator[tuple[str, int | None]]:
    """For each memory line the usage at which cgroup v1 would call; None: a figure is missing.

    [kubelet-eviction 14.3]
    """
    judge = Judge(single_precision=rules.profile.single_precision_percentages)
    summary = Summary(node=form.node)
    for threshold in rules.thresholds:
        if threshold.signal in MEMORY_SIGNALS:
            kind = "hard" if threshold.hard else "soft"
            name = f"{threshold.signal}/{kind}"
            yield name, notifier_usage_bytes(threshold, summary, judge)
