"""What the evaluator keeps of one node between two passes, and what it is given.

[kubelet-eviction 4]
"""

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from evictd.core.effects import Tick
from evictd.core.evaluation.slope import Trail
from evictd.core.signals.names import ConditionType
from evictd.core.signals.thresholds import Part, Threshold, Value, identity, value_text
from evictd_schemas import (
    Layout,
    Moment,
    Observation,
    OrderStatus,
    Pressure,
    Term,
    ThresholdStatus,
)


class ConditionMemory(Struct, frozen=True, kw_only=True):
    """One condition as last published.

    `pressure` is what it last said for certain: Unknown in between does not count as a change.
    """

    status: str
    since: datetime
    pressure: bool = False


class Watch(Struct, frozen=True, kw_only=True):
    """State of one node. It holds no pods and no map of nodes.

    `last`: the newest observation, without its pods; `judged`: the newest that a pass has judged,
    with the readings as the profile takes them. `first_observed` by threshold key, `last_observed`
    by condition. `unresolved`: keys of the thresholds that were due in the last pass. `trail`: what
    the signals read lately, which a restart begins anew. `reclaimed`: the end of a reclaim, after
    which the next observation re-checks the same pass. `received_boot_seconds`: the evaluator's own
    clock when `last` came, for staleness. `pressure`: as last published.
    """

    last: Observation | None = None
    judged: Observation | None = None
    received_boot_seconds: float | None = None
    layout: Layout | None = None
    derived: bool = False
    """False after a split layout that is not supported: the list stays as configured."""
    first_observed: dict[str, Moment] = {}
    last_observed: dict[ConditionType, Moment] = {}
    unresolved: tuple[str, ...] = ()
    trail: Trail = {}
    conditions: dict[ConditionType, ConditionMemory] = {}
    reclaimed: Moment | None = None
    stale: bool = False
    pressure: Pressure | None = None

    @property
    def first_pass(self) -> bool:
        """Nothing has been judged yet, in this life or an earlier one."""
        return self.pressure is None


class Observed(Struct, frozen=True, kw_only=True, tag=True):
    """An observation; `listed`: it came with the list on subscribing and decides nothing."""

    observation: Observation
    listed: bool = False


class Recalled(Struct, frozen=True, kw_only=True, tag=True):
    """The evaluator's own retained Pressure of an earlier life."""

    pressure: Pressure


class Reclaimed(Struct, frozen=True, kw_only=True, tag=True):
    """An order's status; one that is Finished with its steps asks for a re-check."""

    status: OrderStatus


class Gone(Struct, frozen=True, kw_only=True, tag=True):
    """The node's observation was cleared: nobody observes it any more."""


Given: TypeAlias = Observed | Recalled | Reclaimed | Gone | Tick


def key_of(threshold: Threshold) -> str:
    """A threshold's identity as one text: equal exactly where `identity` is."""
    return repr(identity(threshold))


def matches(threshold: Threshold, status: ThresholdStatus) -> bool:
    """Whether a published status is that of a configured threshold, as far as it can be read."""
    return (
        threshold.signal == status.signal
        and threshold.operator == status.operator
        and threshold.grace_seconds == status.grace_period_seconds
        and threshold.name == status.name
        and value_text(threshold.value, threshold.signal) == status.value
        and _same_parts(threshold.all_of, status.all_of)
        and _same_parts(threshold.any_of, status.any_of)
    )


def _same_parts(parts: tuple[Part, ...], terms: tuple[Term, ...] | None) -> bool:
    configured = [(part.signal, value_text(part.value, part.signal)) for part in parts]
    return configured == [(term.signal, term.value) for term in terms or ()]


def reclaim_text(threshold: Threshold) -> str | None:
    """The minimum reclaim as shown."""
    reclaim: Value | None = threshold.minimum_reclaim
    return None if reclaim is None else value_text(reclaim, threshold.signal)
