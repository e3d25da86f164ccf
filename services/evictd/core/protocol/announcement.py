"""What the world is told about a sync: the difference between two cases, as effects.

Statuses and Evictions as state, and each transition as an event that keeps its id when it is told
again. It decides nothing. [contract 2, 3]
"""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from evictd.core.effects import ControllerEffect, Emit, Figures, Keep, Publish, Retract
from evictd.core.events import emit
from evictd.core.moments import Now
from evictd.core.protocol.case import Case, Held
from evictd.core.protocol.chain import entry_of
from evictd.core.protocol.conditions import (
    cause_of,
    eviction_finished,
    find,
    holds,
    transition_time,
)
from evictd.core.protocol.inputs import ControllerRules
from evictd.core.protocol.naming import eviction_topic, report_topic
from evictd.core.protocol.vocabulary import Cause, ConditionType, Intent, State
from evictd_schemas import Eviction, EvictionRequest, ResponderStatus, topics

FAILURES = {
    Cause.CANCELED: "EvictionCanceled",
    Cause.DRY_RUN: "DryRunFinished",
}
"""Events of the ends that are none; any other is `EvictionFailed`."""
STATES = {
    State.ACTIVE: "ResponderActive",
    State.INTERRUPTED: "ResponderInterrupted",
    State.COMPLETED: "ResponderCompleted",
}
WHY_CHARACTERS_MAX = 1_000
"""Of a requester's own words in the sentence of an event; its Eviction has them all."""


def announced(rules: ControllerRules, old: Case, new: Case, now: Now) -> Iterator[ControllerEffect]:
    """Effects that lead from one case to the next."""
    wished = {held.status.uid for held in old.requests if _wants(held)}
    for held in new.requests:
        if _wants(held) and held.status.uid not in wished:
            yield _requested(rules, held, now)
    yield from _evictions(rules, old, new, now)
    yield from _requests(rules, old, new, now)
    if new.run.stale is not None and new.run.stale != old.run.stale:
        yield from _stale(rules, new, now)


def request_topic(node: str, held: Held) -> str:
    """Where a request stands."""
    return topics.REQUEST.at(node, **_levels(held))


def status_topic(node: str, held: Held) -> str:
    """Where the answer to a request stands."""
    return topics.REQUEST_STATUS.at(node, **_levels(held))


def _levels(held: Held) -> dict[str, str]:
    requester, namespace, name = held.topic_levels
    return {**topics.levels(requester), "namespace": namespace, "name": name}


def _report_topics(node: str, eviction: Eviction) -> Iterator[str]:
    """The report topics beneath a collected Eviction, as far as anybody could have used them."""
    for entry in eviction.status.responders:
        if entry.start_time is not None and "/" in entry.name:
            yield report_topic(node, eviction, entry.name)


def _requests(rules: ControllerRules, old: Case, new: Case, now: Now) -> Iterator[ControllerEffect]:
    former = {held.topic_levels: held for held in old.requests}
    for held in new.requests:
        before = former.pop(held.topic_levels, None)
        if before is None or before.status != held.status:
            yield Publish(topic=status_topic(rules.node, held), message=held.status)
            yield from _refusal(rules, before, held, now)
    for held in former.values():
        yield Retract(topic=status_topic(rules.node, held))


def _evictions(
    rules: ControllerRules, old: Case, new: Case, now: Now
) -> Iterator[ControllerEffect]:
    former = {item.metadata.uid: item for item in old.evictions}
    for eviction in new.evictions:
        before = former.pop(eviction.metadata.uid, None)
        if before == eviction:
            continue
        yield Publish(topic=eviction_topic(rules.node, eviction), message=eviction)
        yield from _transitions(rules, before, eviction, now)
        if _ended(eviction) and (before is None or not _ended(before)):
            yield Keep(eviction=eviction)
    for eviction in former.values():
        yield Retract(topic=eviction_topic(rules.node, eviction))
        for topic in _report_topics(rules.node, eviction):
            yield Retract(topic=topic)


def _transitions(
    rules: ControllerRules, before: Eviction | None, eviction: Eviction, now: Now
) -> Iterator[Emit]:
    states = {} if before is None else _states(before)
    for name, state in _states(eviction).items():
        if state != states.get(name) and state in STATES:
            yield _responder(rules, eviction, name, State(state), now)
    former = () if before is None else before.status.conditions
    conditions = eviction.status.conditions
    if holds(conditions, _EVICTED) and not holds(former, _EVICTED):
        yield _evicted(rules, eviction, now)
    cause = cause_of(conditions)
    if cause is not None and cause_of(former) is None:
        yield _failed(rules, eviction, cause, now)


_EVICTED = ConditionType.TARGET_EVICTED


def _ended(eviction: Eviction) -> bool:
    return eviction_finished(eviction.status.conditions)


def _states(eviction: Eviction) -> dict[str, str]:
    return {item.name: item.state for item in eviction.status.target_responders}


def _wants(held: Held) -> bool:
    return held.request.spec.intent == Intent.EVICTION


def _requested(rules: ControllerRules, held: Held, now: Now) -> Emit:
    spec, metadata = held.request.spec, held.request.metadata
    why = "" if spec.reason is None else spec.reason.message.strip()[:WHY_CHARACTERS_MAX]
    message = f"{spec.requester} wants {_subject(held.request)} to leave"
    return _event(
        rules,
        "EvictionRequested",
        f"{message}: {why}" if why else message,
        now,
        about=metadata.uid,
        transition=str(held.status.generation),
        subject=_subject(held.request),
        figures={
            "requester": spec.requester,
            "request": metadata.name,
            "type": spec.type,
            "dryRun": spec.dry_run,
            "signal": spec.reason.signal if spec.reason is not None else None,
        },
    )


def _refusal(rules: ControllerRules, before: Held | None, held: Held, now: Now) -> Iterator[Emit]:
    """A request that never becomes an Eviction is told once for each of its specs."""
    found = find(held.status.conditions, ConditionType.FAILED)
    if cause_of(held.status.conditions) != Cause.INVALID or found is None:
        return
    if before is not None and cause_of(before.status.conditions) == Cause.INVALID:
        return
    metadata, spec = held.request.metadata, held.request.spec
    yield _event(
        rules,
        "EvictionFailed",
        found.message,
        now,
        about=metadata.uid,
        transition=str(metadata.generation),
        subject=_subject(held.request),
        figures={"requester": spec.requester, "cause": str(Cause.INVALID)},
    )


def _responder(
    rules: ControllerRules, eviction: Eviction, name: str, state: State, now: Now
) -> Emit:
    entry = entry_of(eviction.status.responders, name) or ResponderStatus(name=name)
    reason = STATES[state]
    words = {
        State.ACTIVE: "is to act on",
        State.INTERRUPTED: "was interrupted at",
        State.COMPLETED: "has completed its work on",
    }
    return _of_eviction(
        rules,
        eviction,
        reason,
        f"{name} {words[state]} {_subject(eviction)}",
        now,
        transition=name,
        figures={
            "responder": name,
            "interruptedReason": entry.interrupted_reason,
            "deadlineTime": _text(entry.deadline_time),
            "report": entry.message,
        },
    )


def _evicted(rules: ControllerRules, eviction: Eviction, now: Now) -> Emit:
    """Once for each Eviction, when its target is really gone."""
    status, pod = eviction.status, eviction.spec.target.pod
    assert pod is not None  # noqa: S101 - a target without a member is never gone
    gone_time = transition_time(status.conditions, _EVICTED)
    took = gone_time - (eviction.metadata.creation_timestamp or gone_time)
    wanting = [item.name for item in status.requesters if item.intent == Intent.EVICTION]
    responder = last_started(eviction)
    return _of_eviction(
        rules,
        eviction,
        "Evicted",
        f"{_subject(eviction)} is gone" + (f", by {responder}" if responder else ""),
        now,
        transition="Evicted",
        figures={
            "pod": {"namespace": eviction.metadata.namespace, "name": pod.name, "uid": pod.uid},
            "signal": status.reason.signal if status.reason is not None else None,
            "requesters": wanting,
            "responder": responder,
            "forced": None if status.forced is None else msgspec.to_builtins(status.forced),
            "tookSeconds": max(0.0, took.total_seconds()),
        },
    )


def _failed(rules: ControllerRules, eviction: Eviction, cause: str, now: Now) -> Emit:
    found = find(eviction.status.conditions, ConditionType.FAILED)
    return _of_eviction(
        rules,
        eviction,
        FAILURES.get(Cause(cause), "EvictionFailed"),
        found.message if found is not None else "",
        now,
        transition=cause,
        figures={"cause": cause, "mode": str(rules.mode), "round": eviction.status.round},
    )


def _stale(rules: ControllerRules, case: Case, now: Now) -> Iterator[Emit]:
    eviction = next(
        (item for item in case.evictions if item.metadata.uid == case.run.eviction_uid), None
    )
    if eviction is None or case.run.stale is None:
        return
    name, last = case.run.stale
    yield _of_eviction(
        rules,
        eviction,
        "ResponderStale",
        f"{name} has shown no sign of life since {_text(last)}",
        now,
        transition=f"{name}|{_text(last)}",
        figures={"responder": name, "lastSignTime": _text(last)},
    )


def last_started(eviction: Eviction) -> str | None:
    """The responder that had its turn last: by whom it was, once the target is gone."""
    started = [item for item in eviction.status.responders if item.start_time is not None]
    return started[-1].name if started else None


def _subject(message: Eviction | EvictionRequest) -> str:
    """The workload that it is about."""
    pod = message.spec.target.pod
    return f"{message.metadata.namespace}/{pod.name if pod is not None else ''}"


def _of_eviction(
    rules: ControllerRules,
    eviction: Eviction,
    reason: str,
    message: str,
    now: Now,
    *,
    transition: str,
    figures: Figures,
) -> Emit:
    return _event(
        rules,
        reason,
        message,
        now,
        about=eviction.metadata.uid,
        transition=transition,
        subject=_subject(eviction),
        figures={
            "eviction": eviction.metadata.name,
            "dryRun": eviction.status.dry_run,
            **figures,
        },
    )


def _event(
    rules: ControllerRules,
    reason: str,
    message: str,
    now: Now,
    *,
    about: str,
    transition: str,
    subject: str,
    figures: Figures,
) -> Emit:
    return emit(
        node=rules.node,
        worker=topics.Role.CONTROLLER,
        reason=reason,
        message=message,
        time=now.utc,
        about=about,
        transition=transition,
        subject=subject,
        figures={"node": rules.node, **figures},
    )


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat().replace("+00:00", "Z")
