"""Who is filling the disk: growth of writable layers and logs, measured over a minute or two.

A stop ends growth, it does not free space; so on a plain host only the workload whose growth
explains the loss is worth stopping. [design, profile host: disk and inodes]
"""

from collections.abc import Collection

from msgspec import Struct, structs

from evictd.core.decision.usage import disk_bytes, disk_inodes
from evictd.core.moments import elapsed_seconds, rebooted
from evictd.core.signals.layouts import DiskPart, parts_measured
from evictd.core.signals.names import Resource, resource_of
from evictd_schemas import Layout, Moment, Number, Observation, Pod

WINDOW_SECONDS = 60.0
"""Growth is measured over at least that, and up to twice as long: file system figures of engines
are up to a minute old."""
EXPLAINED_SHARE = 0.5
"""Of the loss; who grew by less is not why the disk is filling up."""

_WRITTEN = frozenset({DiskPart.ROOT, DiskPart.LOGS})


class Snapshot(Struct, frozen=True, kw_only=True):
    """What was left of each signal and used by each pod, by uid and then by signal."""

    moment: Moment
    available: dict[str, Number]
    written: dict[str, dict[str, int]]


class Writing(Struct, frozen=True, kw_only=True):
    """Growth is measured from `since`; `next` takes its place when it is old enough."""

    since: Snapshot
    next: Snapshot


class Loss(Struct, frozen=True, kw_only=True):
    """How much of a signal was lost in how many seconds, and who wrote how much of it, by uid."""

    amount: Number
    seconds: float
    grown: dict[str, int]

    @property
    def unattributed(self) -> Number:
        """Written outside every layer and log that is known."""
        return max(0, self.amount - sum(self.grown.values()))

    def writer(self, candidates: Collection[str]) -> str | None:
        """Who grew most and so explains the loss, if anybody of these does."""
        uid = max(candidates, key=lambda uid: self.grown.get(uid, 0), default=None)
        if uid is None or self.amount <= 0:
            return None
        return uid if self.grown.get(uid, 0) >= EXPLAINED_SHARE * self.amount else None


def noted(
    writing: Writing | None, observation: Observation, layout: Layout, moment: Moment
) -> Writing:
    """With one more observation."""
    if writing is not None and not rebooted(writing.since.moment, moment):
        if elapsed_seconds(writing.next.moment, moment) < WINDOW_SECONDS:
            return writing
        newest = _snapshot(observation, layout, moment)
        return structs.replace(writing, since=writing.next, next=newest)
    first = _snapshot(observation, layout, moment)
    return Writing(since=first, next=first)


def loss(
    writing: Writing, observation: Observation, layout: Layout, signal: str, moment: Moment
) -> Loss:
    """What went of a signal since the older snapshot, and who wrote it."""
    now, since = _snapshot(observation, layout, moment), writing.since
    before = since.available.get(signal)
    left = now.available.get(signal)
    grown = {
        uid: amounts[signal] - since.written[uid].get(signal, amounts[signal])
        for uid, amounts in now.written.items()
        if uid in since.written and signal in amounts
    }
    return Loss(
        amount=0 if before is None or left is None else before - left,
        seconds=elapsed_seconds(since.moment, moment),
        grown={uid: amount for uid, amount in grown.items() if amount > 0},
    )


def _snapshot(observation: Observation, layout: Layout, moment: Moment) -> Snapshot:
    parts = parts_measured(layout)
    return Snapshot(
        moment=moment,
        available={
            signal: reading.available
            for signal, reading in observation.signals.items()
            if signal in parts
        },
        written={
            pod.uid: {
                signal: _written(pod, signal, _WRITTEN.intersection(measured))
                for signal, measured in parts.items()
            }
            for pod in observation.pods or ()
            if pod.stats is not None
        },
    )


def _written(pod: Pod, signal: str, parts: Collection[DiskPart]) -> int:
    if pod.stats is None:
        return 0
    measure = disk_inodes if resource_of(signal) is Resource.INODES else disk_bytes
    return measure(pod, pod.stats, parts)
