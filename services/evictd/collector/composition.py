"""One look's figures as an Observation of bounded size. Pure: figures in, message out."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct, structs

from evictd.core.moments import Now
from evictd_schemas import Layout, Observation, Pod, SignalReading
from evictd_schemas.topics import PAYLOAD_BYTES_MAX

RESERVE_BYTES = 1024
"""Kept free when pods are cut, for the brackets and commas between those that stay."""


class Look(Struct, frozen=True, kw_only=True):
    """Everything that one look found out."""

    now: Now
    signals: dict[str, SignalReading]
    layout: Layout | None
    pods: tuple[Pod, ...]
    pods_complete: bool


class Bounded(Struct, frozen=True, kw_only=True):
    """An observation that fits a message, and how many pods had to be left out for that."""

    observation: Observation
    cut: int = 0


def observation(
    look: Look, *, node: str, sequence: int, boot_id: str | None, interval_seconds: float
) -> Observation:
    """The message of one look. [contract 3, Observation]"""
    return Observation(
        node=node,
        time=look.now.utc,
        sequence=sequence,
        boot_id=boot_id,
        uptime_seconds=look.now.boot_seconds,
        interval_seconds=interval_seconds,
        layout=look.layout,
        signals=look.signals,
        pods=look.pods,
        pods_complete=look.pods_complete,
    )


def bounded(whole: Observation, bytes_max: int = PAYLOAD_BYTES_MAX) -> Bounded:
    """The same within `bytes_max`: pods that use the least memory are left out first.

    Then absence means nothing, and the list says so. [contract 3, podsComplete]
    """
    if len(msgspec.json.encode(whole)) <= bytes_max:
        return Bounded(observation=whole)
    pods = whole.pods or ()
    room = bytes_max - RESERVE_BYTES - len(msgspec.json.encode(structs.replace(whole, pods=())))
    kept: set[str] = set()
    for pod in sorted(pods, key=_memory_bytes, reverse=True):
        room -= len(msgspec.json.encode(pod)) + 1
        if room < 0:
            break
        kept.add(pod.uid)
    remaining = tuple(pod for pod in pods if pod.uid in kept)
    return Bounded(
        observation=structs.replace(whole, pods=remaining, pods_complete=False),
        cut=len(pods) - len(remaining),
    )


def stamped(signals: dict[str, SignalReading], taken: datetime) -> dict[str, SignalReading]:
    """Figures of an earlier look keep their own time, so that nobody takes them for fresh."""
    return {name: structs.replace(reading, time=taken) for name, reading in signals.items()}


def unique(pods: Iterable[Pod]) -> tuple[tuple[Pod, ...], tuple[str, ...]]:
    """One pod a name, the first; and a sentence for each that is left out. [contract 3: unique]"""
    by_name: dict[tuple[str, str], Pod] = {}
    problems = []
    for pod in pods:
        held = by_name.setdefault((pod.namespace, pod.name), pod)
        if held is not pod:
            problems.append(
                f"{pod.namespace}/{pod.name} is a name of {held.runtime} and of {pod.runtime};"
                f" the one of {pod.runtime} is not observed"
            )
    return tuple(by_name.values()), tuple(problems)


def names(pods: Sequence[Pod]) -> str:
    """Pods in a sentence."""
    return ", ".join(f"{pod.namespace}/{pod.name}" for pod in pods)


def _memory_bytes(pod: Pod) -> int:
    if pod.stats is None or pod.stats.memory is None:
        return 0
    return pod.stats.memory.working_set_bytes or 0
