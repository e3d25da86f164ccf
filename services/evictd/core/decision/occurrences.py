"""The evictor's events: what has happened, once each, with the figures behind it.

What is decided is in `report`. [contract 3, Event]
"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import structs, to_builtins

from evictd.core.decision.inputs import Judged
from evictd.core.decision.plan import Plan
from evictd.core.decision.reclaim import freed_text, rehearsed_text
from evictd.core.decision.shortage import hard
from evictd.core.effects import Emit, Figures
from evictd.core.events import emit
from evictd.core.moments import Now
from evictd.core.rules import Mode, Rules
from evictd.core.signals.names import resource_of
from evictd.core.wording import below, kind_text, name_text
from evictd_schemas import (
    OrderStatus,
    PodReference,
    RankedPod,
    Stopped,
    ThresholdStatus,
    WishAnswer,
    topics,
)

CONSUMERS_MAX = 5
"""Largest consumers named where nothing is left to evict."""


class EventReason(StrEnum):
    """Reasons of events."""

    THRESHOLD_MET = "EvictionThresholdMet"
    RECLAIM_FINISHED = "ReclaimFinished"
    NOTHING_LEFT = "NothingLeftToEvict"
    LOOP = "EvictionLoop"
    RESTORED = "Restored"
    FORGOTTEN = "Forgotten"
    WISH_ANSWERED = "WishAnswered"


def threshold_met(
    rules: Rules, plan: Plan, given: Judged, acting: ThresholdStatus, now: Now
) -> tuple[Plan, tuple[Emit, ...]]:
    """`EvictionThresholdMet`, in each pass as the kubelet does, or once a crossing.

    [kubelet-eviction 4: 16]
    """
    key = f"{acting.signal}/{kind_text(acting)}"
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
    errors = [f"{step.step}: {step.error}" for step in outcome.steps if step.error]
    verdict = "which is enough" if enough else "which is not enough"
    failed = f" ({'; '.join(errors)})" if errors else ""
    return _of_reclaim(
        rules,
        now,
        signal=signal,
        outcome=outcome,
        message=f"{freed_text(signal, outcome.steps)}, {verdict}{failed}",
        figures={
            "freedBytes": sum(step.freed_bytes for step in outcome.steps),
            "freedInodes": sum(step.freed_inodes for step in outcome.steps),
            "enough": enough,
            "errors": errors,
        },
    )


def reclaim_rehearsed(rules: Rules, signal: str, outcome: OrderStatus, now: Now) -> Emit:
    """`ReclaimFinished` of an order that was a dry run: what each step would take."""
    return _of_reclaim(
        rules,
        now,
        signal=signal,
        outcome=outcome,
        message=f"{rehearsed_text(outcome.steps)}; nothing was taken, mode is {rules.mode}",
        figures={"dryRun": True},
    )


def _of_reclaim(
    rules: Rules, now: Now, *, signal: str, outcome: OrderStatus, message: str, figures: Figures
) -> Emit:
    return _event(
        rules,
        now,
        reason=EventReason.RECLAIM_FINISHED,
        message=f"{signal}: {message}",
        transition=outcome.order_uid,
        figures={
            "signal": signal,
            **figures,
            "steps": [to_builtins(step) for step in outcome.steps],
        },
    )


def nothing_left(
    rules: Rules,
    given: Judged,
    acting: ThresholdStatus,
    ranking: Sequence[RankedPod],
    *,
    why: str,
    known: Figures,
    now: Now,
) -> Emit:
    """`NothingLeftToEvict`, once a state, with the largest known consumers.

    `known`: what is known of a disk besides.
    """
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
        figures={**_threshold_figures(acting), "consumers": consumers, **known},
    )


def eviction_loop(
    rules: Rules, pod: PodReference, evictions: int, seconds: float, now: Now
) -> Emit:
    """`EvictionLoop`: something starts again what was evicted."""
    name = name_text(pod)
    return _event(
        rules,
        now,
        reason=EventReason.LOOP,
        message=f"{name} was evicted {evictions} times in {seconds:.0f} s and started again",
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
    return _of_stopped(
        rules,
        now,
        name=name,
        stopped=stopped,
        reason=EventReason.RESTORED,
        message=f"{name} {how}, {seconds:.0f} s after it was stopped",
        figures={"seconds": seconds, "ordered": ordered},
    )


def forgotten(rules: Rules, name: str, stopped: Stopped, *, on_wish: bool, now: Now) -> Emit:
    """`Forgotten`: what was down because of evictd is not waited for any more.

    `on_wish`: a person wanted it so; else it was removed.
    """
    why = "a person wished so" if on_wish else "it was removed"
    return _of_stopped(
        rules,
        now,
        name=name,
        stopped=stopped,
        reason=EventReason.FORGOTTEN,
        message=f"{name} will not be started again: {why}",
        figures={"wished": on_wish},
    )


def _of_stopped(
    rules: Rules,
    now: Now,
    *,
    name: str,
    stopped: Stopped,
    reason: EventReason,
    message: str,
    figures: Figures,
) -> Emit:
    """Of a life that was down because of evictd, and of which each reason is told once."""
    return _event(
        rules,
        now,
        reason=reason,
        message=message,
        about=stopped.uid,
        transition=reason.lower(),
        subject=name,
        figures={"pod": name, "signal": stopped.signal, **figures},
    )


def wish_answered(rules: Rules, topic: str, answer: WishAnswer, now: Now) -> Emit:
    """`WishAnswered`: what has become of a wish, once for each change of its state."""
    until = "" if answer.until is None else answer.until.isoformat()
    return _event(
        rules,
        now,
        reason=EventReason.WISH_ANSWERED,
        message=f"{answer.verb} of {answer.wish}: {answer.message}",
        about=topic,
        transition=f"{answer.verb}|{answer.target}|{until}|{answer.state}",
        subject=answer.target,
        figures={"wish": to_builtins(answer)},
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
    rules: Rules,
    now: Now,
    *,
    reason: str,
    message: str,
    transition: str,
    figures: Figures,
    about: str | None = None,
    subject: str | None = None,
) -> Emit:
    """One of the evictor's; about the node, unless an object is named."""
    return emit(
        node=rules.node,
        worker=topics.Role.EVICTOR,
        reason=str(reason),
        message=message,
        time=now.utc,
        about=about or rules.node,
        transition=transition,
        subject=subject,
        figures=figures,
    )
