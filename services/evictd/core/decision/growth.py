"""Who is filling the disk: growth of writable layers and logs between two counts of them.

A stop ends growth, it does not free space; so on a plain host only the workload whose growth
explains the loss is worth stopping. [design, profile host: disk and inodes] Counting what is on a
disk takes long and is done seldom: the figures carry the time of their count, and what a signal
lost is measured between the same two looks as what a pod wrote.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct, structs

from evictd.core.moments import elapsed_seconds, rebooted
from evictd.core.pods import reference
from evictd.core.signals.layouts import (
    CONTAINERFS,
    IMAGEFS,
    DiskPart,
    Shape,
    parts_measured,
    same_disk,
    shape_of,
)
from evictd.core.signals.names import Resource, resource_of
from evictd.core.usage import disk_bytes, disk_inodes
from evictd_schemas import (
    FileSystemStatistics,
    Growth,
    Layout,
    Loss,
    Moment,
    Number,
    Observation,
    Pod,
    PodReference,
    StepOutcome,
)

WINDOW_SECONDS = 60.0
"""Growth is measured over at least that, and up to twice as long, as soon as so much is known:
what was written in a burst and is over does not count for longer."""
ENDED_SECONDS = 2 * WINDOW_SECONDS
"""Who has ended wrote part of what is lost between two counts for so long after its last one."""
EXPLAINED_SHARE = 0.5
"""Of the loss; who grew by less is not why the disk is filling up."""
URGENT_SECONDS = 86_400.0
"""Who needs longer than a day to fill what is left is not stopped for it: the log lines of a
healthy service are all that a full and quiet disk loses, and people are told in time."""

_WRITTEN = (DiskPart.ROOT, DiskPart.LOGS)
_LOGS = (DiskPart.LOGS,)


class Freed(Struct, frozen=True, kw_only=True):
    """What reclaims have given back since the first one."""

    bytes: int = 0
    inodes: int = 0

    def of(self, signal: str) -> int:
        """In the signal's own unit."""
        return self.inodes if resource_of(signal) is Resource.INODES else self.bytes


class Count(Struct, frozen=True, kw_only=True):
    """What one pod held of each signal's disk at one count, and what was left of the signals then.

    `counted`: the figures' own time, which tells one count from another. `logs`: the part of `held`
    that is in logs. `freed`: all that reclaims had given back by then.
    """

    moment: Moment
    counted: datetime
    held: dict[str, int]
    logs: dict[str, int]
    available: dict[str, Number]
    freed: Freed


class Track(Struct, frozen=True, kw_only=True):
    """Of one pod: growth is that from `since` to `last`; `next` is the next `since`."""

    pod: PodReference
    since: Count
    next: Count
    last: Count


class Writing(Struct, frozen=True, kw_only=True):
    """Every pod of which something on disk is counted, by uid.

    `ended`: those that are listed no more, while what they wrote is part of what was lost lately.
    """

    tracks: dict[str, Track] = {}
    ended: dict[str, Track] = {}
    freed: Freed = Freed()


def noted(
    writing: Writing | None, observation: Observation, layout: Layout, moment: Moment
) -> Writing:
    """With one more observation; the very same where nobody was counted anew."""
    before = writing or Writing()
    if observation.pods is None:
        return before
    parts = _parts(layout)
    logs = {signal: [part for part in found if part in _LOGS] for signal, found in parts.items()}
    available = {
        signal: reading.available
        for signal, reading in observation.signals.items()
        if signal in parts
    }
    tracks: dict[str, Track] = {}
    for pod in observation.pods:
        counted = _counted(pod, observation.time)
        if counted is None:
            continue
        track = before.tracks.get(pod.uid)
        if track is not None and rebooted(track.last.moment, moment):
            track = None
        if track is None or track.last.counted != counted:
            count = Count(
                moment=moment,
                counted=counted,
                held=_held(pod, parts),
                logs=_held(pod, logs),
                available=available,
                freed=before.freed,
            )
            track = _followed(track, reference(pod), count)
        tracks[pod.uid] = track
    ended = _ended(before, {pod.uid for pod in observation.pods}, moment)
    if writing is not None and (tracks, ended) == (before.tracks, before.ended):
        return writing
    return structs.replace(before, tracks=tracks, ended=ended)


def reclaimed(writing: Writing, outcomes: Iterable[StepOutcome]) -> Writing:
    """What was given back hides as much of the loss, and is added to it."""
    steps = tuple(outcomes)
    freed = Freed(
        bytes=writing.freed.bytes + sum(step.freed_bytes for step in steps),
        inodes=writing.freed.inodes + sum(step.freed_inodes for step in steps),
    )
    return structs.replace(writing, freed=freed)


def losses(writing: Writing, layout: Layout) -> tuple[Loss, ...]:
    """Of each file system its bytes and its inodes; none before anybody was counted twice."""
    found: list[Loss] = []
    for signal in parts_measured(layout):
        told = same_disk(layout, signal)
        if not any(earlier.signal in told for earlier in found):
            found += _losses(writing, signal)
    return tuple(found)


def explains(growth: Growth) -> bool:
    """Whether this is why the signal falls, and falls so fast that it matters."""
    return growth.lost > 0 and most_of_it(growth) and matters(growth)


def most_of_it(growth: Growth) -> bool:
    """Whether so much was written that it explains what was lost."""
    return growth.grown >= EXPLAINED_SHARE * growth.lost


def matters(growth: Growth) -> bool:
    """Whether what is left would be gone soon at that rate."""
    return growth.per_second * URGENT_SECONDS >= growth.left


def growth_of(loss: Loss | None, uid: str) -> Growth | None:
    """What one pod wrote; None where it is not seen to write."""
    growing = () if loss is None else loss.growing
    return next((growth for growth in growing if growth.pod.uid == uid), None)


def writer(loss: Loss, candidates: Collection[str]) -> str | None:
    """Who grows fastest and so explains the loss, if anybody of these does."""
    growing = {growth.pod.uid: growth for growth in loss.growing}
    known = [growing[uid] for uid in candidates if uid in growing]
    fastest = max(known, key=lambda growth: growth.per_second, default=None)
    return fastest.pod.uid if fastest is not None and explains(fastest) else None


def counted_since(writing: Writing, moment: Moment) -> bool:
    """Whether anybody was counted at that moment or later, or nobody is ever counted."""
    tracks = writing.tracks.values()
    return not tracks or any(track.last.counted >= moment.time for track in tracks)


def held_amount(writing: Writing, signal: str) -> int:
    """All that is in known layers and logs on the disk of a signal, as counted last."""
    return sum(track.last.held.get(signal, 0) for track in writing.tracks.values())


def _followed(track: Track | None, pod: PodReference, count: Count) -> Track:
    """With one more count of it."""
    if track is None:
        return Track(pod=pod, since=count, next=count, last=count)
    if elapsed_seconds(track.next.moment, count.moment) < WINDOW_SECONDS:
        return structs.replace(track, last=count)
    return Track(pod=pod, since=track.next, next=count, last=count)


def _ended(before: Writing, listed: Collection[str], moment: Moment) -> dict[str, Track]:
    """Who is listed no more, but was a short while ago."""
    return {
        uid: track
        for uid, track in (*before.ended.items(), *before.tracks.items())
        if uid not in listed and elapsed_seconds(track.last.moment, moment) < ENDED_SECONDS
    }


def _losses(writing: Writing, signal: str) -> Iterator[Loss]:
    """What went of a signal and who wrote it, if anybody was counted twice.

    Told over the time for which the fastest writer is known, where it is why; else what a young one
    wrote before its first count would seem to be nobody's.
    """
    present, ended = (
        [growth for track in tracks.values() if (growth := _grown(track, signal)) is not None]
        for tracks in (writing.tracks, writing.ended)
    )
    if not present and not ended:
        return
    longest = max(present or ended, key=lambda growth: growth.seconds)
    fastest = max(present, key=lambda growth: growth.per_second, default=longest)
    told = fastest if fastest.lost > 0 and most_of_it(fastest) else longest
    growing = [growth for growth in (*present, *ended) if growth.grown > 0]
    known = sum(min(one.grown, round(one.per_second * told.seconds)) for one in growing)
    yield Loss(
        signal=signal,
        lost=told.lost,
        seconds=told.seconds,
        unattributed=max(0, told.lost - known),
        growing=tuple(sorted(growing, key=lambda growth: -growth.per_second)),
    )


def _grown(track: Track, signal: str) -> Growth | None:
    since, last = track.since, track.last
    seconds = elapsed_seconds(since.moment, last.moment)
    known = (since.held, last.held, since.available, last.available)
    if seconds <= 0 or not all(signal in figures for figures in known):
        return None
    grown = last.held[signal] - since.held[signal]
    return Growth(
        pod=track.pod,
        grown=grown,
        logs=last.logs.get(signal, 0) - since.logs.get(signal, 0),
        seconds=seconds,
        per_second=grown / seconds,
        lost=since.available[signal]
        - last.available[signal]
        + last.freed.of(signal)
        - since.freed.of(signal),
        left=last.available[signal],
    )


def _parts(layout: Layout) -> Mapping[str, Collection[DiskPart]]:
    """Signal to what a pod writes on its file system.

    Engines keep logs beside the layers. The kubelet has them on nodefs, and its table says so.
    """
    table = parts_measured(layout)
    if shape_of(layout) is Shape.DEDICATED_IMAGE_FS:
        return {signal: _WRITTEN if signal in IMAGEFS + CONTAINERFS else () for signal in table}
    return {signal: [part for part in _WRITTEN if part in parts] for signal, parts in table.items()}


def _figures(pod: Pod) -> Iterator[FileSystemStatistics]:
    for container in () if pod.stats is None else pod.stats.containers:
        yield from (part for part in (container.rootfs, container.logs) if part is not None)


def _counted(pod: Pod, observed: datetime) -> datetime | None:
    """When its newest figure was taken; None: it has none, which is not zero."""
    return max((part.time or observed for part in _figures(pod)), default=None)


def _held(pod: Pod, parts: Mapping[str, Collection[DiskPart]]) -> dict[str, int]:
    statistics = pod.stats
    if statistics is None:
        return {}
    return {
        signal: (disk_inodes if resource_of(signal) is Resource.INODES else disk_bytes)(
            pod, statistics, measured
        )
        for signal, measured in parts.items()
        if measured
    }
