"""Nodes, their workers, signals, conditions and workloads as rows."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from evictd.cli.eviction_tables import document, end_time
from evictd.cli.tables import NOTHING, Item, ago, listed
from evictd.client import Found, Mirror
from evictd.core.pods import active
from evictd.core.signals.amounts import reading_text
from evictd.core.signals.names import MEMORY_AVAILABLE, SIGNALS
from evictd.core.wording import name_text
from evictd_schemas import (
    Number,
    Observation,
    Pod,
    Pressure,
    RankedPod,
    SignalReading,
    Stopped,
    Term,
    ThresholdStatus,
    WorkerStatus,
    topics,
)
from evictd_schemas.topics import Topic

SIGNAL_HEAD = ("NODE", "SIGNAL", "AVAILABLE", "CAPACITY", "LEFT", "LINES")
SIGNAL_WIDE = ("AGE", "VIEWS")
CONDITION_HEAD = ("NODE", "CONDITION", "STATUS", "REASON", "SINCE")
CONDITION_WIDE = ("MESSAGE",)
WORKLOAD_HEAD = ("NODE", "WORKLOAD", "STATE", "PRIORITY", "MEMORY", "ASKED FOR", "VERDICT", "AGE")
WORKLOAD_WIDE = ("RUNTIME", "RESTORE", "RESPONDERS", "WHY", "UID")
NODE_HEAD = ("NODE", "MODE", "CONDITIONS", "WORKLOADS", "STOPPED", "EVICTIONS", "OBSERVED")
NODE_WIDE = ("WORKERS", "ACTION", "REASON")
WORKER_HEAD = ("NODE", "WORKER", "STATUS", "VERSION", "UP", "LATE", "MESSAGE")
WORKER_WIDE = ("SERVES", "FIGURES")
TRUE = "True"


def amount_text(signal: str, amount: Number | None) -> str:
    """An amount of a signal for people."""
    return NOTHING if amount is None else reading_text(signal, amount)


def signals(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """One row a signal of each observation, the known ones first."""
    for found in mirror.objects(topics.OBSERVATION):
        pressure = mirror.get(topics.PRESSURE, found.place.node)
        known = [name for name in SIGNALS if name in found.message.signals]
        others = sorted(found.message.signals.keys() - SIGNALS.keys())
        for name in (*known, *others):
            yield _signal(found, pressure, name, now)


def _signal(found: Found[Observation], pressure: Pressure | None, name: str, now: datetime) -> Item:
    reading = found.message.signals[name]
    lines = [] if pressure is None else [*_lines(pressure, name)]
    return Item(
        name=name,
        cells=(
            found.place.node,
            name,
            amount_text(name, reading.available),
            amount_text(name, reading.capacity),
            _share(reading),
            listed(lines),
        ),
        wide=(
            ago(reading.time or found.message.time, now),
            listed(f"{view}={amount_text(name, amount)}" for view, amount in reading.views.items()),
        ),
        document={"node": found.place.node, "signal": name, **msgspec.to_builtins(reading)},
    )


def _share(reading: SignalReading) -> str:
    return f"{100 * reading.available / reading.capacity:.0f}%" if reading.capacity else NOTHING


def _lines(pressure: Pressure, signal: str) -> Iterator[str]:
    """Every line in which the signal has a part, `!` where it is met."""
    for threshold in pressure.thresholds:
        if threshold.signal == signal:
            yield line_text(threshold)
        for term in (*(threshold.all_of or ()), *(threshold.any_of or ())):
            if term.signal == signal:
                yield _term_text(threshold, term)


def line_text(threshold: ThresholdStatus) -> str:
    """Hard or soft, the line, and whether it is met; a line with further terms is a part."""
    grace = threshold.grace_period_seconds
    kind = f"soft {grace:g}s" if grace else "hard"
    if threshold.all_of or threshold.any_of:
        kind = f"{kind} part"
    return f"{kind} <{threshold.value}{'!' if threshold.met else ''}"


def _term_text(threshold: ThresholdStatus, term: Term) -> str:
    kind = "soft" if threshold.grace_period_seconds else "hard"
    return f"{kind} part <{term.value}{'!' if term.met else ''}"


def conditions(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """All three of every node that is judged."""
    for found in mirror.objects(topics.PRESSURE):
        for condition in found.message.conditions:
            yield Item(
                name=condition.type,
                cells=(
                    found.place.node,
                    condition.type,
                    condition.status,
                    condition.reason,
                    ago(condition.last_transition_time, now),
                ),
                wide=(condition.message or NOTHING,),
                document={"node": found.place.node, **msgspec.to_builtins(condition)},
            )


def workloads(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """Those that are observed, and those that are down because of evictd."""
    for found in mirror.objects(topics.OBSERVATION):
        node = found.place.node
        decision = mirror.get(topics.DECISION, node)
        ranked = {row.pod.uid: row for row in decision.ranking} if decision is not None else {}
        leaving = leaving_uids(mirror, node)
        seen = set()
        down = {one.message.uid for one in mirror.objects(topics.STOPPED, node)}
        for pod in found.message.pods or ():
            if not active(pod) and pod.uid in down:
                continue
            seen.add(name_text(pod))
            yield _workload(node, pod, ranked.get(pod.uid), leaving, now)
        for stopped in mirror.objects(topics.STOPPED, node):
            name = f"{stopped.place.names['namespace']}/{stopped.place.names['name']}"
            if name not in seen:
                yield _stopped(stopped, name, now)


def leaving_uids(mirror: Mirror, node: str) -> frozenset[str]:
    """Targets of Evictions that run and are not only played."""
    return frozenset(
        found.message.spec.target.pod.uid
        for found in mirror.objects(topics.EVICTION, node)
        if found.message.spec.target.pod is not None
        and end_time(found.message.status) is None
        and not found.message.status.dry_run
    )


def _workload(
    node: str, pod: Pod, row: RankedPod | None, leaving: frozenset[str], now: datetime
) -> Item:
    memory = pod.stats.memory if pod.stats is not None else None
    used = None if memory is None else memory.working_set_bytes or memory.usage_bytes
    requested = pod.requests.get("memory")
    return Item(
        name=name_text(pod),
        cells=(
            node,
            name_text(pod),
            "Leaving" if pod.uid in leaving else pod.phase,
            str(pod.priority or 0),
            amount_text(MEMORY_AVAILABLE, used),
            amount_text(MEMORY_AVAILABLE, requested),
            verdict_text(pod, row),
            ago(pod.start_time, now),
        ),
        wide=(
            pod.runtime or NOTHING,
            pod.restore,
            listed(item.name for item in pod.eviction_responders),
            NOTHING if row is None else row.why,
            pod.uid,
        ),
        document={"node": node, **msgspec.to_builtins(pod)},
    )


def verdict_text(pod: Pod, row: RankedPod | None) -> str:
    """What the last decision said of it; without one, what protects it."""
    if row is not None:
        return row.verdict
    if pod.critical:
        return "Critical"
    return "Protected" if pod.protected else NOTHING


def _stopped(found: Found[Stopped], name: str, now: datetime) -> Item:
    message = found.message
    return Item(
        name=name,
        cells=(
            found.place.node,
            name,
            "Stopped by evictd",
            NOTHING,
            NOTHING,
            NOTHING,
            NOTHING,
            ago(message.time, now),
        ),
        wide=(
            NOTHING,
            message.restore,
            NOTHING,
            f"short of {message.signal}" if message.signal else NOTHING,
            message.uid,
        ),
        document=document(found, stopped=True),
    )


def nodes(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """Every node of which anybody speaks."""
    for node in node_names(mirror):
        yield _node(mirror, node, now)


def node_names(mirror: Mirror) -> Sequence[str]:
    """Nodes with an observation, a worker, or anything that was decided."""
    kinds: tuple[Topic[Any], ...] = (
        topics.OBSERVATION,
        topics.PRESSURE,
        topics.WORKER,
        topics.EVICTION,
    )
    return sorted({found.place.node for kind in kinds for found in mirror.objects(kind)})


def held_conditions(pressure: Pressure | None) -> tuple[str, ...]:
    """Those that hold; `Unknown` where nothing is known."""
    if pressure is None:
        return ("Unknown",)
    held = tuple(item.type for item in pressure.conditions if item.status == TRUE)
    unknown = all(item.status == "Unknown" for item in pressure.conditions)
    return held or (("Unknown",) if unknown else ())


def _node(mirror: Mirror, node: str, now: datetime) -> Item:
    observation = mirror.get(topics.OBSERVATION, node)
    pressure = mirror.get(topics.PRESSURE, node)
    decision = mirror.get(topics.DECISION, node)
    pods = () if observation is None else observation.pods or ()
    workers = mirror.objects(topics.WORKER, node)
    running = leaving_uids(mirror, node)
    stopped = mirror.objects(topics.STOPPED, node)
    told: dict[str, Any] = {
        "node": node,
        "mode": None if decision is None else decision.mode,
        "conditions": [] if pressure is None else msgspec.to_builtins(pressure.conditions),
        "workloads": len(pods),
        "stopped": [f"{one.place.names['namespace']}/{one.place.names['name']}" for one in stopped],
        "evictions": len(running),
        "observed": None if observation is None else msgspec.to_builtins(observation.time),
    }
    return Item(
        name=node,
        cells=(
            node,
            NOTHING if decision is None else decision.mode,
            listed(held_conditions(pressure)),
            NOTHING if observation is None else str(len(pods)),
            str(len(stopped)),
            str(len(running)),
            NOTHING if observation is None else ago(observation.time, now),
        ),
        wide=(
            listed(f"{one.message.worker}={one.message.status}" for one in workers),
            NOTHING if decision is None else decision.action,
            NOTHING if decision is None else decision.reason or NOTHING,
        ),
        document=told,
    )


def workers(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """One row a process, as it speaks of itself."""
    for found in mirror.objects(topics.WORKER):
        message = found.message
        figures = [f"{name}={value:g}" for name, value in message.lag.items() if value]
        yield Item(
            name=message.worker,
            cells=(
                found.place.node,
                message.worker,
                message.status,
                message.version or NOTHING,
                ago(message.start_time, now),
                late_text(message),
                message.message or NOTHING,
            ),
            wide=(listed(message.serves), listed(figures)),
            document=document(found),
        )


def late_text(status: WorkerStatus) -> str:
    """How late its loop was at worst, lately."""
    loop_seconds = status.lag.get("loop")
    return NOTHING if loop_seconds is None else f"{loop_seconds:g}s"
