"""What an Observation must hold, and the whole view of a node that successive ones add up to.

Evaluator, evictor, controller and responder all read observations through this room. It knows
nothing of thresholds, of victims or of requests. [contract 3, Observation]
"""

from collections.abc import Iterator
from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct

from evictd.core.admission import names
from evictd.core.admission.kinds import too_many
from evictd.core.admission.objects import declared_problems
from evictd.core.moments import elapsed_seconds, moment
from evictd.core.problems import Problem
from evictd.core.wording import name_text
from evictd_schemas import Observation, Pod, SignalReading
from evictd_schemas.topics import segment_problem

PODS_MAX = 10_000
"""Pods of one observation; the largest payload could not hold many more."""
SIGNALS_MAX = 100
"""Signals of one observation: ours are thirteen, the rest are carried and shown."""
ENTRIES_MAX = 1_000
"""Entries of any other list or map, such as containers, volumes or labels of one pod."""
PROBLEMS_MAX = 20
"""Problems told of one message; whoever sent more is helped by the first ones."""
AMOUNT_MAX = 2**63 - 1
"""The greatest amount in bytes, inodes, counts or a sequence: a signed 64-bit integer."""
PRIORITY_MAX = 2**31 - 1
"""Priorities are 32-bit integers in Kubernetes."""
GAP_SECONDS_MIN = 15.0
"""A shorter step between two observations is never a gap. [contract 3, Observation: gap]"""
SILENT_SECONDS = 86_400.0
"""A foreign node without an observation for so long is forgotten. [contract 2]"""
GAP_INTERVALS = 3
"""A step of more intervals is a gap; without an observation for so many, the last is stale."""

_SIGNED = frozenset({"available", "views", "priority"})
"""Fields whose numbers may be negative: more processes than the limit, a working set over it."""


def problems(node: str, observation: Observation, held: Observation | None) -> tuple[Problem, ...]:
    """All broken rules of an observation on the topic of `node`, the first `PROBLEMS_MAX` of them.

    `held` is the view that `merge` has made so far, None before the first. The same observation
    again is no problem: `duplicate` tells.
    """
    found: list[Problem] = []
    for problem in _problems(node, observation, held):
        found.append(problem)
        if len(found) == PROBLEMS_MAX:
            break
    return tuple(found)


def merge(held: Observation | None, observation: Observation) -> Observation:
    """The view of the node after one more observation.

    Signals, times and layout are the newest; `pods` are all that stand: replaced by a complete
    list, updated by one that is not, untouched where the observation has none. `pods_complete`
    tells whether this observation alone proves that an unlisted pod is gone.
    """
    if observation.pods is None:
        pods, complete = (None if held is None else held.pods), False
    elif observation.pods_complete or held is None or held.pods is None:
        pods, complete = observation.pods, observation.pods_complete
    else:
        pods, complete = _updated(held.pods, observation.pods), False
    layout = observation.layout
    if layout is None and held is not None:
        layout = held.layout
    return msgspec.structs.replace(observation, pods=pods, pods_complete=complete, layout=layout)


def duplicate(held: Observation | None, observation: Observation) -> bool:
    """Whether it says nothing that the view does not hold already: ignored, not rejected."""
    return (
        held is not None
        and sequence_of(held) == sequence_of(observation)
        and merge(held, observation) == held
    )


def sequence_of(observation: Observation) -> int:
    """Its `sequence`; where absent, its time in milliseconds since 1970."""
    if observation.sequence is not None:
        return observation.sequence
    return int(observation.time.timestamp() * 1000)


def gap(earlier: Observation, later: Observation) -> bool:
    """Whether the node slept or was silent in between.

    Only observations that carry the same `bootId` and an interval can tell.
    """
    if earlier.boot_id is None or earlier.boot_id != later.boot_id:
        return False
    if earlier.interval_seconds is None or later.interval_seconds is None:
        return False
    return elapsed_seconds(moment(earlier), moment(later)) > stale_seconds(later.interval_seconds)


def stale_seconds(interval_seconds: float) -> float:
    """A step longer than this is a gap."""
    return max(GAP_SECONDS_MIN, GAP_INTERVALS * interval_seconds)


def _updated(held: tuple[Pod, ...], listed: tuple[Pod, ...]) -> tuple[Pod, ...]:
    """The held pods in order, each replaced by a listed one of its name, then the new ones."""
    newest = {(pod.namespace, pod.name): pod for pod in listed}
    kept = tuple(newest.pop((pod.namespace, pod.name), pod) for pod in held)
    return kept + tuple(newest.values())


def _problems(node: str, observation: Observation, held: Observation | None) -> Iterator[Problem]:
    if observation.node != node:
        reason = f"{observation.node!r} is not the topic's node {node!r}"
        yield Problem(field="node", reason=reason)
    yield from _sequence_problems(observation, held)
    yield from _time_problems(observation)
    yield from _signal_problems(observation.signals)
    yield from _pod_problems(observation.pods or ())
    yield from _value_problems("", observation)


def _sequence_problems(observation: Observation, held: Observation | None) -> Iterator[Problem]:
    if held is None:
        return
    newest, sequence = sequence_of(held), sequence_of(observation)
    if sequence <= newest and not duplicate(held, observation):
        reason = (
            f"{sequence} is not greater than {newest}, the one held;"
            " leave it out when publishing by hand"
        )
        yield Problem(field="sequence", reason=reason)


def _time_problems(observation: Observation) -> Iterator[Problem]:
    if observation.sequence is None and sequence_of(observation) < 0:
        yield Problem(field="time", reason="it lies before 1970 and cannot serve as a sequence")
    if observation.boot_id == "":
        yield Problem(field="bootId", reason="it is empty; leave it out instead")
    if observation.interval_seconds is not None and observation.interval_seconds <= 0:
        yield Problem(field="intervalSeconds", reason="it must be greater than 0")


def _signal_problems(signals: dict[str, SignalReading]) -> Iterator[Problem]:
    if len(signals) > SIGNALS_MAX:
        yield too_many("signals", len(signals), SIGNALS_MAX)
    for name in signals:
        if (problem := segment_problem(name)) is not None:
            yield Problem(
                field="signals", reason=f"{name[:80]!r} is no name of a signal: {problem}"
            )


def _pod_problems(pods: tuple[Pod, ...]) -> Iterator[Problem]:
    if len(pods) > PODS_MAX:
        yield too_many("pods", len(pods), PODS_MAX)
    first_index: dict[tuple[str, str], int] = {}
    first_life: dict[str, int] = {}
    for index, pod in enumerate(pods):
        path = f"pods[{index}]"
        for field, name in (("namespace", pod.namespace), ("name", pod.name)):
            if (problem := segment_problem(name)) is not None:
                yield Problem(field=f"{path}.{field}", reason=f"{name[:80]!r}: {problem}")
        yield from names.uid(f"{path}.uid", pod.uid)
        field = f"{path}.evictionResponders"
        yield from declared_problems(pod.eviction_responders, None, field=field)
        if not -PRIORITY_MAX - 1 <= (pod.priority or 0) <= PRIORITY_MAX:
            yield Problem(field=f"{path}.priority", reason="it does not fit 32 bits")
        twin = first_index.setdefault((pod.namespace, pod.name), index)
        if twin != index:
            reason = f"{name_text(pod)} is listed twice, first as pods[{twin}]"
            yield Problem(field=f"{path}.name", reason=reason)
        if (same := first_life.setdefault(pod.uid, index)) != index:
            yield Problem(field=f"{path}.uid", reason=f"it is the life of pods[{same}] already")


def _value_problems(path: str, value: Any, *, signed: bool = False) -> Iterator[Problem]:
    """Rules for every value, wherever it stands.

    Finite numbers in range, text without NUL, bounded lists.
    """
    if isinstance(value, str):
        if "\0" in value:
            yield Problem(field=path, reason="it holds a NUL character")
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        yield from _number_problems(path, value, signed=signed)
    elif isinstance(value, Struct):
        yield from _struct_problems(path, value)
    elif isinstance(value, dict):
        yield from _map_problems(path, value, signed=signed)
    elif isinstance(value, tuple):
        if path != "pods" and len(value) > ENTRIES_MAX:
            yield too_many(path, len(value), ENTRIES_MAX)
        for index, item in enumerate(value):
            yield from _value_problems(f"{path}[{index}]", item)


def _struct_problems(path: str, value: Struct) -> Iterator[Problem]:
    fields = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
    for name, wire_name in fields:
        item = getattr(value, name)
        if item:  # nothing empty or zero breaks a rule of this kind
            inner = f"{path}.{wire_name}" if path else wire_name
            yield from _value_problems(inner, item, signed=name in _SIGNED)


def _map_problems(path: str, value: dict[str, Any], *, signed: bool) -> Iterator[Problem]:
    if len(value) > ENTRIES_MAX:
        yield too_many(path, len(value), ENTRIES_MAX)
    for key, item in value.items():
        if "\0" in key:
            yield Problem(field=path, reason="a name in it holds a NUL character")
        yield from _value_problems(f"{path}[{key}]", item, signed=signed)


def _number_problems(path: str, value: float, *, signed: bool) -> Iterator[Problem]:
    if not isfinite(value):
        yield Problem(field=path, reason="it is not a finite number")
    elif abs(value) > AMOUNT_MAX:
        yield Problem(field=path, reason=f"it is beyond {AMOUNT_MAX}")
    elif value < 0 and not signed:
        yield Problem(field=path, reason="it must not be negative")
