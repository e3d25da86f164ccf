"""The Decision of a pass and the events beside it. [contract 3, Decision, Event]"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import structs, to_builtins

from evictd.core.decision.inputs import Judged
from evictd.core.decision.plan import Plan
from evictd.core.decision.shortage import hard
from evictd.core.effects import Emit, Figures, Publish
from evictd.core.events import emit
from evictd.core.moments import Now, elapsed_seconds
from evictd.core.rules import Mode, Rules
from evictd.core.signals.amounts import rounded_text
from evictd.core.signals.names import MEMORY_AVAILABLE, Resource, resource_of
from evictd.core.wording import below, name_text
from evictd_schemas import (
    Decision,
    OrderStatus,
    PodReference,
    Pressure,
    RankedPod,
    Stopped,
    Term,
    ThresholdStatus,
    topics,
)

ROWS_MAX = 100
"""Rows that are published; `rankingTotal` says how many there were. [contract 3, Decision]"""
CONSUMERS_MAX = 5
"""Largest consumers named where nothing is left to evict."""


class Action(StrEnum):
    """What a pass does."""

    NONE = "None"
    WAIT = "Wait"
    RECLAIM = "Reclaim"
    EVICT = "Evict"


class EventReason(StrEnum):
    """Reasons of events."""

    THRESHOLD_MET = "EvictionThresholdMet"
    RECLAIM_FINISHED = "ReclaimFinished"
    NOTHING_LEFT = "NothingLeftToEvict"
    LOOP = "EvictionLoop"
    RESTORED = "Restored"


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
        reason=reason + views_text(rules, given, signal),
        ranking=tuple(ranking[:ROWS_MAX]),
        ranking_total=len(ranking),
        eviction_requests=tuple(own.name for own in plan.own if not own.withdrawn),
        order=order,
    )
    publish = Publish(topic=topics.DECISION.at(rules.node), message=decision)
    return structs.replace(plan, decision=decision), publish


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
    held = [condition.type for condition in pressure.conditions if condition.status == "True"]
    if held:
        return f"{' and '.join(held)} until the transition period has passed"
    in_part = next(filter(None, map(_met_in_part, pressure.thresholds)), None)
    if in_part is not None:
        return in_part
    unknown = all(condition.status == "Unknown" for condition in pressure.conditions)
    return "no observation" if unknown else "nothing is short"


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


def pressed(pressure: Pressure) -> bool:
    """Whether any condition holds."""
    return any(condition.status == "True" for condition in pressure.conditions)


def threshold_met(
    rules: Rules, plan: Plan, given: Judged, acting: ThresholdStatus, now: Now
) -> tuple[Plan, tuple[Emit, ...]]:
    """`EvictionThresholdMet`, in each pass as the kubelet does, or once a crossing.

    [kubelet-eviction 4: 16]
    """
    key = f"{acting.signal}/{'hard' if hard(acting) else 'soft'}"
    transition = _transition(rules, given, acting)
    if plan.announced.get(key) == transition:
        return plan, ()
    event = _event(
        rules,
        now,
        reason=EventReason.THRESHOLD_MET,
        message=_attempt(rules, acting),
        transition=f"{key}|{transition}",
        figures=_threshold_figures(acting),
    )
    return structs.replace(plan, announced={**plan.announced, key: transition}), (event,)


def _attempt(rules: Rules, acting: ThresholdStatus) -> str:
    resource = resource_of(acting.signal)
    if rules.mode is Mode.ACT:
        return f"Attempting to reclaim {resource}: {below(acting)}"
    return f"Would reclaim {resource}: {below(acting)}; mode is {rules.mode}"


def reclaim_finished(
    rules: Rules, signal: str, outcome: OrderStatus, *, enough: bool, now: Now
) -> Emit:
    """`ReclaimFinished`: what came back, and whether that was enough."""
    freed = sum(step.freed_bytes for step in outcome.steps)
    inodes = sum(step.freed_inodes for step in outcome.steps)
    errors = [f"{step.step}: {step.error}" for step in outcome.steps if step.error]
    verdict = "which is enough" if enough else "which is not enough"
    failed = f" ({'; '.join(errors)})" if errors else ""
    return _event(
        rules,
        now,
        reason=EventReason.RECLAIM_FINISHED,
        message=f"{signal}: {rounded_text(signal, freed)} came back, {verdict}{failed}",
        transition=outcome.order_uid,
        figures={
            "signal": signal,
            "freedBytes": freed,
            "freedInodes": inodes,
            "enough": enough,
            "errors": errors,
        },
    )


def nothing_left(
    rules: Rules,
    given: Judged,
    acting: ThresholdStatus,
    ranking: Sequence[RankedPod],
    *,
    why: str,
    now: Now,
) -> Emit:
    """`NothingLeftToEvict`, once a state, with the largest known consumers."""
    largest = sorted(ranking, key=lambda row: -(row.usage or 0))[:CONSUMERS_MAX]
    consumers = [
        {"pod": name_text(row.pod), "usage": row.usage, "verdict": str(row.verdict)}
        for row in largest
    ]
    return _event(
        rules,
        now,
        reason=EventReason.NOTHING_LEFT,
        message=f"{below(acting)}, and {why}",
        transition=f"{acting.signal}|{given.pressure.epoch}|{given.pressure.sequence}",
        figures={**_threshold_figures(acting), "consumers": consumers},
    )


def eviction_loop(
    rules: Rules, pod: PodReference, evictions: int, seconds: float, now: Now
) -> Emit:
    """`EvictionLoop`: something starts again what was evicted."""
    name = name_text(pod)
    return emit(
        node=rules.node,
        worker=topics.Role.EVICTOR,
        reason=str(EventReason.LOOP),
        message=f"{name} was evicted {evictions} times in {seconds:.0f} s and started again",
        time=now.utc,
        about=pod.uid,
        transition="loop",
        subject=name,
        figures={"pod": to_builtins(pod), "evictions": evictions, "seconds": seconds},
    )


def restored(
    rules: Rules, name: str, stopped: Stopped, seconds: float, *, ordered: bool, now: Now
) -> Emit:
    """`Restored`: what was down because of evictd runs again.

    `ordered`: because we asked for it.
    """
    how = "was started again" if ordered else "runs again, started by somebody else"
    return emit(
        node=rules.node,
        worker=topics.Role.EVICTOR,
        reason=str(EventReason.RESTORED),
        message=f"{name} {how}, {seconds:.0f} s after it was stopped",
        time=now.utc,
        about=stopped.uid,
        transition="restored",
        subject=name,
        figures={"pod": name, "signal": stopped.signal, "seconds": seconds, "ordered": ordered},
    )


def _transition(rules: Rules, given: Judged, acting: ThresholdStatus) -> str:
    quiet = rules.profile.one_event_a_crossing or rules.mode is not Mode.ACT
    if quiet and acting.first_observed is not None:
        return acting.first_observed.time.isoformat()
    return f"{given.pressure.epoch}|{given.pressure.sequence}"


def _threshold_figures(threshold: ThresholdStatus) -> Figures:
    return {
        "signal": threshold.signal,
        "resource": str(resource_of(threshold.signal)),
        "available": threshold.available,
        "threshold": threshold.quantity,
        "value": threshold.value,
        "hard": hard(threshold),
    }


def _event(
    rules: Rules, now: Now, *, reason: str, message: str, transition: str, figures: Figures
) -> Emit:
    return emit(
        node=rules.node,
        worker=topics.Role.EVICTOR,
        reason=str(reason),
        message=message,
        time=now.utc,
        about=rules.node,
        transition=transition,
        figures=figures,
    )
