"""Workloads as rows: those that are observed, and those that are down because of evictd."""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from evictd.cli.disk_text import WRITES, held_text, rates_text
from evictd.cli.eviction_texts import document, end_time
from evictd.cli.kinds import Kind
from evictd.cli.tables import NOTHING, Item, ago, amount_text, listed
from evictd.client import Found, Mirror
from evictd.core.pods import MEMORY, active
from evictd.core.signals.names import MEMORY_AVAILABLE
from evictd.core.wording import name_text
from evictd_schemas import Decision, Number, Pod, RankedPod, Stopped, topics


def workloads(mirror: Mirror, now: datetime) -> Iterator[Item]:
    """Those that are observed, and those that are down because of evictd."""
    for found in mirror.objects(topics.OBSERVATION):
        node = found.place.node
        decision = mirror.get(topics.DECISION, node)
        leaving = leaving_uids(mirror, node)
        seen = set()
        down = {one.message.uid for one in mirror.objects(topics.STOPPED, node)}
        for pod in found.message.pods or ():
            if not active(pod) and pod.uid in down:
                continue
            seen.add(name_text(pod))
            yield _workload(node, pod, decision, leaving, now)
        for stopped in mirror.objects(topics.STOPPED, node):
            if stopped.place.namespaced_name not in seen:
                yield _stopped(stopped, now)


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
    node: str, pod: Pod, decision: Decision | None, leaving: frozenset[str], now: datetime
) -> Item:
    ranking, losses = ((), ()) if decision is None else (decision.ranking, decision.losses)
    row = next((row for row in ranking if row.pod.uid == pod.uid), None)
    return Item(
        name=name_text(pod),
        cells=(
            node,
            name_text(pod),
            "Leaving" if pod.uid in leaving else pod.phase,
            str(pod.priority or 0),
            amount_text(MEMORY_AVAILABLE, memory_used(pod)),
            amount_text(MEMORY_AVAILABLE, pod.requests.get(MEMORY)),
            verdict_text(pod, row),
            ago(pod.start_time, now),
        ),
        wide=(
            pod.runtime or NOTHING,
            pod.restore,
            listed(item.name for item in pod.eviction_responders),
            held_text(pod),
            rates_text(losses, pod.uid),
            NOTHING if row is None else row.why,
            pod.uid,
        ),
        document={"node": node, **msgspec.to_builtins(pod)},
    )


def memory_used(pod: Pod) -> Number | None:
    """In bytes; what counts for a ranking, or all of it where that is not told."""
    memory = pod.stats.memory if pod.stats is not None else None
    return None if memory is None else memory.working_set_bytes or memory.usage_bytes


def verdict_text(pod: Pod, row: RankedPod | None) -> str:
    """What the last decision said of it; without one, what protects it."""
    if row is not None:
        return row.verdict
    if pod.critical:
        return "Critical"
    return "Protected" if pod.protected else NOTHING


def _stopped(found: Found[Stopped], now: datetime) -> Item:
    message, name = found.message, found.place.namespaced_name
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
            NOTHING,
            NOTHING,
            f"short of {message.signal}" if message.signal else NOTHING,
            message.uid,
        ),
        document=document(found, stopped=True),
    )


WORKLOADS = Kind(
    head=("NODE", "WORKLOAD", "STATE", "PRIORITY", "MEMORY", "ASKED FOR", "VERDICT", "AGE"),
    wide_head=("RUNTIME", "RESTORE", "RESPONDERS", "DISK", WRITES, "WHY", "UID"),
    items=workloads,
)
