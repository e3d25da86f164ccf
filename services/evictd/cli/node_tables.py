"""Nodes, their workers, signals and conditions as rows."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from evictd.cli.eviction_texts import document
from evictd.cli.kinds import Kind
from evictd.cli.tables import NOTHING, Item, ago, amount_text, listed
from evictd.cli.workload_tables import leaving_uids
from evictd.client import Found, Mirror
from evictd.core.node_conditions import holding, unknown
from evictd.core.protocol.vocabulary import Status
from evictd.core.signals.names import SIGNALS as KNOWN_SIGNALS
from evictd.core.wording import kind_text
from evictd_schemas import (
    Observation,
    Pressure,
    SignalReading,
    Term,
    ThresholdStatus,
    WorkerStatus,
    topics,
)
from evictd_schemas.topics import Topic


def signals(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """One row a signal of each observation, the known ones first."""
    for found in mirror.objects(topics.OBSERVATION):
        pressure = mirror.get(topics.PRESSURE, found.place.node)
        known = [name for name in KNOWN_SIGNALS if name in found.message.signals]
        others = sorted(found.message.signals.keys() - KNOWN_SIGNALS.keys())
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
    return f"{kind_text(threshold)} part <{term.value}{'!' if term.met else ''}"


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
    if pressure is None or unknown(pressure):
        return (Status.UNKNOWN.value,)
    return holding(pressure)


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
        "stopped": [one.place.namespaced_name for one in stopped],
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


SIGNALS = Kind(
    head=("NODE", "SIGNAL", "AVAILABLE", "CAPACITY", "LEFT", "LINES"),
    wide_head=("AGE", "VIEWS"),
    items=signals,
)
CONDITIONS = Kind(
    head=("NODE", "CONDITION", "STATUS", "REASON", "SINCE"),
    wide_head=("MESSAGE",),
    items=conditions,
)
NODES = Kind(
    head=("NODE", "MODE", "CONDITIONS", "WORKLOADS", "STOPPED", "EVICTIONS", "OBSERVED"),
    wide_head=("WORKERS", "ACTION", "REASON"),
    items=nodes,
)
WORKERS = Kind(
    head=("NODE", "WORKER", "STATUS", "VERSION", "UP", "LATE", "MESSAGE"),
    wide_head=("SERVES", "FIGURES"),
    items=workers,
)
