"""The Decision of a pass, and why nothing is done. [contract 3, Decision]"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import structs

from evictd.core.decision.consent import held_text
from evictd.core.decision.inputs import Judged
from evictd.core.decision.plan import Plan
from evictd.core.decision.shortage import hard
from evictd.core.effects import Publish
from evictd.core.moments import Now, elapsed_seconds
from evictd.core.node_conditions import holding, unknown
from evictd.core.rules import Rules
from evictd.core.signals.amounts import rounded_text
from evictd.core.signals.names import MEMORY_AVAILABLE, Resource, resource_of
from evictd.core.wording import below
from evictd_schemas import (
    Decision,
    Loss,
    Pressure,
    RankedPod,
    Term,
    ThresholdStatus,
    topics,
)

ROWS_MAX = 100
"""Of each list in a Decision; `rankingTotal` says how many there were. [contract 3, Decision]"""


class Action(StrEnum):
    """What a pass does."""

    NONE = "None"
    WAIT = "Wait"
    RECLAIM = "Reclaim"
    EVICT = "Evict"


def decided(
    rules: Rules,
    plan: Plan,
    given: Judged,
    now: Now,
    *,
    action: Action,
    reason: str,
    signal: str | None = None,
    is_hard: bool | None = None,
    ranking: Sequence[RankedPod] = (),
    order: str | None = None,
) -> tuple[Plan, Publish]:
    """Write the Decision down and publish it."""
    decision = Decision(
        node=rules.node,
        time=now.utc,
        sequence=given.pressure.sequence,
        judged=plan.judged,
        mode=rules.mode,
        action=action,
        signal=signal,
        hard=is_hard,
        reason=reason + held_text(rules, plan) + views_text(rules, given, signal),
        ranking=tuple(ranking[:ROWS_MAX]),
        ranking_total=len(ranking),
        eviction_requests=tuple(own.name for own in plan.own if not own.withdrawn),
        order=order,
        reclaims=tuple(plan.reclaimed.values()),
        losses=tuple(_shortened(loss) for loss in plan.losses),
    )
    publish = Publish(topic=topics.DECISION.at(rules.node), message=decision)
    return structs.replace(plan, decision=decision), publish


def _shortened(loss: Loss) -> Loss:
    return structs.replace(loss, growing=loss.growing[:ROWS_MAX])


def views_text(rules: Rules, given: Judged, signal: str | None) -> str:
    """What the other view of memory says, where two differ: owners compare it with their own tools.

    [design, two profiles: memory view]
    """
    if signal is not None and resource_of(signal) is not Resource.MEMORY:
        return ""
    reading = given.observation.signals.get(MEMORY_AVAILABLE)
    if reading is None or len(set(reading.views.values())) != 2:
        return ""
    view = rules.profile.memory_view
    counting = reading.available if view is None else reading.views.get(view, reading.available)
    texts = [
        f"{rounded_text(MEMORY_AVAILABLE, amount)} ({name})"
        for name, amount in sorted(reading.views.items(), key=lambda item: item[1] != counting)
    ]
    said = f"; of {MEMORY_AVAILABLE} {texts[0]} counts, {texts[1]} does not"
    cache = reading.views.get("mem_available", 0) - reading.views.get("working_set", 0)
    return f"{said}: {rounded_text(MEMORY_AVAILABLE, cache)} are file cache" if cache > 0 else said


def waiting_reason(pressure: Pressure) -> str:
    """Why nothing is done although something is short, or that nothing is."""
    met = [threshold for threshold in pressure.thresholds if threshold.met]
    for threshold in met:
        if not threshold.due and threshold.first_observed and pressure.observed:
            since = elapsed_seconds(threshold.first_observed, pressure.observed)
            return f"{below(threshold)} for {_of_grace(threshold, since)}"
    if met:
        return f"{below(met[0])}; no newer figures than those already acted on"
    held = holding(pressure)
    if held:
        return f"{' and '.join(held)} until the transition period has passed"
    in_part = next(filter(None, map(_met_in_part, pressure.thresholds)), None)
    if in_part is not None:
        return in_part
    return "no observation" if unknown(pressure) else "nothing is short"


def _of_grace(threshold: ThresholdStatus, seconds: float) -> str:
    """How long it has been met.

    A hard line waits for what the wire does not tell: a time for which it has to last, or the look
    after a gap.
    """
    if hard(threshold):
        return f"{seconds:g} s, not due yet"
    return f"{seconds:g} of {threshold.grace_period_seconds:g} s"


def _met_in_part(threshold: ThresholdStatus) -> str | None:
    """A composite line whose own signal is below it and whose others do not agree."""
    available, quantity = threshold.available, threshold.quantity
    if available is None or quantity is None or available >= quantity:
        return None
    missing = [f"not {_term(term)}" for term in threshold.all_of or () if not term.met]
    if threshold.any_of and not any(term.met for term in threshold.any_of):
        missing.append(_none_of(threshold.any_of))
    if threshold.met or not missing:
        return None
    total = 1 + len(threshold.all_of or ()) + bool(threshold.any_of)
    count = total - len(missing)
    verb = "is" if count == 1 else "are"
    share = f"only {count} of {total} conditions {verb} met"
    return f"{below(threshold)}, but {share}: {', '.join(missing)}"


def _none_of(terms: Sequence[Term]) -> str:
    texts = [_term(term) for term in terms]
    return f"neither {' nor '.join(texts)}" if len(texts) > 1 else f"not {texts[0]}"


def _term(term: Term) -> str:
    return f"{term.signal}<{term.value}"
