"""Pressure: which thresholds are met and which conditions hold. [contract 3, Pressure]

The message carries all that the evaluator needs to go on after a restart.
"""

from msgspec import Struct

from evictd_schemas.common import Moment, Number, Timestamp


class NodeCondition(Struct, frozen=True, kw_only=True, rename="camel"):
    """MemoryPressure, DiskPressure or PIDPressure; always all three."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: Timestamp
    last_observed: Moment | None = None


class Term(Struct, frozen=True, kw_only=True, rename="camel"):
    """One part of a composite threshold, so that "1 of 2 conditions met" can be shown."""

    signal: str
    value: str
    available: Number | None = None
    met: bool = False


class ThresholdStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """One configured or derived threshold as judged in this pass.

    `value` as configured, `quantity` the absolute amount; hard exactly when the grace is zero.
    `met` is after the merge with what was unresolved, `due` after the grace. [kubelet-eviction 4,
    5]
    """

    signal: str
    operator: str
    value: str
    grace_period_seconds: float
    quantity: int | None = None
    minimum_reclaim: str | None = None
    available: Number | None = None
    capacity: Number | None = None
    observation_time: Timestamp | None = None
    met: bool = False
    met_with_minimum_reclaim: bool = False
    due: bool = False
    fresh: bool = False
    first_observed: Moment | None = None
    name: str | None = None
    all_of: tuple[Term, ...] | None = None
    any_of: tuple[Term, ...] | None = None
    rank_by: str | None = None


class Pressure(Struct, frozen=True, kw_only=True, rename="camel"):
    """The evaluator's newest judgement of one node."""

    node: str
    time: Timestamp
    sequence: int
    conditions: tuple[NodeCondition, ...]
    thresholds: tuple[ThresholdStatus, ...]
    next_observation_seconds: float | None = None
    observed: Moment | None = None
    """The moment of the observation judged: durations after a restart continue from it."""
    interval_seconds: float | None = None
    epoch: int = 0
    rev: int = 0
