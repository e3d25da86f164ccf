"""One look's figures as an Observation of bounded size. Pure: figures in, message out."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct, structs

from evictd.core import observations
from evictd.core.moments import Now
from evictd.core.observations import PODS_MAX
from evictd.core.usage import memory_bytes
from evictd.core.wording import name_text
from evictd_schemas import Layout, Observation, Pod, SignalReading
from evictd_schemas.topics import PAYLOAD_BYTES_MAX

POD = re.compile(r"pods\[(\d+)\]")
"""The place of a pod in the path of a problem."""
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
    """The same within `bytes_max` and `PODS_MAX`: pods that use the least memory are left out.

    Then absence means nothing, and the list says so. [contract 3, podsComplete]
    """
    pods = whole.pods or ()
    if len(pods) <= PODS_MAX and len(msgspec.json.encode(whole)) <= bytes_max:
        return Bounded(observation=whole)
    room = bytes_max - RESERVE_BYTES - len(msgspec.json.encode(structs.replace(whole, pods=())))
    kept: set[str] = set()
    for pod in sorted(pods, key=_memory_bytes, reverse=True):
        room -= len(msgspec.json.encode(pod)) + 1
        if room < 0 or len(kept) == PODS_MAX:
            break
        kept.add(pod.uid)
    remaining = tuple(pod for pod in pods if pod.uid in kept)
    return Bounded(
        observation=structs.replace(whole, pods=remaining, pods_complete=False),
        cut=len(pods) - len(remaining),
    )


def admissible(whole: Observation) -> tuple[Observation, tuple[str, ...]]:
    """Without the pods for which the whole message would be rejected, and a sentence for each.

    One odd label must not blind a node. Each pass leaves out at least one pod.
    """
    left_out: list[str] = []
    while True:
        pods = whole.pods or ()
        bad = {}
        for problem in observations.problems(whole.node, whole, None):
            if (place := POD.match(problem.field)) is not None:
                bad[int(place[1])] = problem
        if not bad:
            return whole, tuple(left_out)
        for index, problem in bad.items():
            name = names([pods[index]])
            left_out.append(f"{name} is not observed: {problem.field}: {problem.reason}")
        kept = tuple(pod for index, pod in enumerate(pods) if index not in bad)
        whole = structs.replace(whole, pods=kept, pods_complete=False)


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
                f"{name_text(pod)} is a name of {held.runtime} and of {pod.runtime};"
                f" the one of {pod.runtime} is not observed"
            )
    return tuple(by_name.values()), tuple(problems)


def names(pods: Sequence[Pod]) -> str:
    """Pods in a sentence."""
    return ", ".join(name_text(pod) for pod in pods)


def _memory_bytes(pod: Pod) -> int:
    return 0 if pod.stats is None else memory_bytes(pod.stats)
