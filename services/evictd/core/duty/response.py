"""The built-in responder's step: when it is its turn it stops the target, once, and says so.

Each step returns everything that its phase stands for, a running stop included, so that whichever
step was the last one before a crash, carrying out its effects again resumes the work. The shell
does not begin twice what still runs, and a runtime checks the uid: repeating is harmless. [design,
law 5] [contract 3, Report, Eviction] [eviction-request-api 7]
"""

from datetime import datetime, timedelta
from math import ceil
from typing import assert_never

from msgspec import structs

from evictd.core.duty import budgets
from evictd.core.duty.imperative import (
    HEARTBEAT_SECONDS,
    MESSAGE_BYTES_MAX,
    PAUSE_BASE_SECONDS,
    PAUSE_MAX_SECONDS,
    pause_seconds,
)
from evictd.core.duty.outcomes import StopOutcome, StopResult
from evictd.core.duty.state import (
    Assigned,
    Duty,
    Effect,
    Given,
    Listed,
    Look,
    Phase,
    StopEnded,
)
from evictd.core.effects import Publish, Retract, Stop, Tick, WakeAt
from evictd.core.moments import Now, whole_second
from evictd.core.pods import critical
from evictd.core.protocol.naming import report_topic
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd.core.rules import Mode, Rules
from evictd.core.wording import name_text
from evictd_schemas import Eviction, Pod, PodReference, Report, Stopped, topics

OVERDUE_SECONDS = 120.0
"""A stop that is this long past its grace gets no more heartbeats: the controller's deadline ends
it. [eviction-request-api 8: no heartbeat without progress]"""

Step = tuple[Duty, tuple[Effect, ...]]


def respond(rules: Rules, duty: Duty, given: Given | Tick, now: Now) -> Step:
    """One step of one Eviction of the home node. [design, laws 1, 8, 9 and 11]"""
    match given:
        case Assigned(eviction=eviction):
            if eviction is None:
                return _dismissed(rules, duty, now)
            return _assigned(rules, duty, eviction, now)
        case Listed():
            return _listed(rules, duty, given, now)
        case StopEnded(uid=uid, outcome=outcome):
            return _ended(rules, duty, uid, outcome, now)
        case Tick():
            return _ticked(rules, duty, now)
        case _:
            assert_never(given)


def forbidden(rules: Rules) -> str | None:
    """Why this node stops nothing at all, None where it acts.

    Looked at for each stop that is carried out, since one that was decided in `act` may be left in
    the journal. [design, law 8]
    """
    return None if rules.mode is Mode.ACT else f"mode is {rules.mode}"


def _assigned(rules: Rules, duty: Duty, eviction: Eviction, now: Now) -> Step:
    """A new life of the Eviction begins a new duty; a stop for the old one tells its uid."""
    if duty.eviction is None or duty.eviction.metadata.uid != eviction.metadata.uid:
        duty = Duty()
    duty = structs.replace(duty, eviction=eviction, dismissed=False)
    foreign = eviction.status.node not in ("", rules.node)
    if foreign or duty.target is None:
        return Duty(), ()
    if duty.phase is Phase.STOPPING:
        return _standing(rules, _shortened(duty, now), now)
    if not duty.active and duty.phase is not Phase.DONE:
        return structs.replace(duty, phase=Phase.IDLE), ()
    if duty.phase is Phase.IDLE or (duty.phase is Phase.PAUSING and _sooner(rules, duty, eviction)):
        duty = structs.replace(duty, phase=Phase.LOOKING)
    return _standing(rules, duty, now)


def _dismissed(rules: Rules, duty: Duty, now: Now) -> Step:
    """The Eviction was collected: the report goes too; a running stop is still waited for."""
    if duty.eviction is None:
        return Duty(), ()
    if duty.phase is Phase.STOPPING:
        return _standing(rules, structs.replace(duty, dismissed=True), now)
    return Duty(), _retracted(rules, duty)


def _listed(rules: Rules, duty: Duty, listed: Listed, now: Now) -> Step:
    """Only a uid that a runtime of this machine has listed is ours; of others nothing is said."""
    uid, target = listed.uid, duty.target
    if duty.phase is not Phase.LOOKING or not duty.active or target is None or target.uid != uid:
        return duty, ()
    # A life that was listed before and is not now: the runtime itself tells that it has gone.
    pod = duty.pod if listed.pod is None else listed.pod
    if pod is None or pod.uid != uid:
        return _standing(rules, _paused(duty, now), now)
    gone = listed.pod is None
    withheld = budgets.withheld(rules, duty.eviction, pod, listed.neighbours, gone=gone)
    return _begun(rules, structs.replace(duty, pod=pod), pod, withheld, now)


def _begun(rules: Rules, duty: Duty, pod: Pod, withheld: str | None, now: Now) -> Step:
    """The mode is looked at last, from the node's own rules.

    Then the reasons never to stop, then those not to stop now.
    """
    assert duty.eviction is not None  # noqa: S101 - only an active duty begins
    name, refusal = name_text(pod), _refusal(pod)
    dry = _dryness(rules, duty.eviction)
    if dry is not None:
        kept = refusal or withheld
        would = f"would have stopped {name}" if kept is None else f"would not stop {kept}"
        return _standing(rules, _completed(duty, f"{would}; {dry}", now, gone=False), now)
    duty = structs.replace(duty, withheld=refusal is None and withheld is not None)
    if refusal is not None:
        return _standing(rules, _failed(duty, refusal, now), now)
    if withheld is not None:
        return _standing(rules, _refused(duty, withheld, now), now)
    asked = _asked_seconds(duty)
    grace = pod.termination_grace_period_seconds if asked is None else asked
    began = structs.replace(
        duty, phase=Phase.STOPPING, grace_seconds=grace, began_boot_seconds=now.boot_seconds
    )
    wait = "its own grace" if grace is None else f"a grace of {grace} s"
    ignored = budgets.ignored(rules, began.eviction, pod)
    return _standing(rules, _stopping(began, f"stopping {name} with {wait}{ignored}", now), now)


def _ended(rules: Rules, duty: Duty, uid: str, outcome: StopOutcome, now: Now) -> Step:
    """What is down because of us is written down; what is not is tried again.

    An end counts also in the pause after a failure: of two stops one may fail while the other still
    runs.
    """
    target = duty.target
    begun = duty.phase not in (Phase.IDLE, Phase.DONE) and duty.pod is not None
    if not begun or target is None or target.uid != uid:
        return duty, ()
    if not outcome.ended:
        if duty.phase is not Phase.STOPPING:
            return duty, ()
        signalled = duty.signalled or outcome.result is StopResult.FAILED
        why = f"{name_text(target)}: {outcome.why}"
        duty = _failed(structs.replace(duty, signalled=signalled), why, now)
        if duty.dismissed:
            return Duty(), _retracted(rules, duty)
        return _standing(rules, duty, now)
    record = _record(rules, duty, outcome, now)
    if duty.dismissed:
        return Duty(), (*_retracted(rules, duty), *record)
    duty = _completed(duty, _end_sentence(target, outcome), now, gone=True)
    duty, effects = _standing(rules, duty, now)
    return duty, (*effects, *record)


def _ticked(rules: Rules, duty: Duty, now: Now) -> Step:
    if duty.phase is Phase.PAUSING and duty.active and _due(duty.next_boot_seconds, now):
        duty = structs.replace(duty, phase=Phase.LOOKING)
    return _standing(rules, duty, now)


def _standing(rules: Rules, duty: Duty, now: Now) -> Step:
    """Everything that the phase asks for; nothing is reported when it is not our turn."""
    duty = _beaten(duty, now)
    effects: list[Effect] = []
    target = duty.target
    if duty.active and duty.report is not None:
        effects.append(Publish(topic=_report_topic(rules, duty), message=duty.report))
    if duty.phase is Phase.LOOKING and target is not None:
        effects.append(Look(pod=target, everyone=budgets.hold(rules, duty.eviction)))
    if duty.phase is Phase.STOPPING and target is not None:
        rest = _rest_seconds(duty, now)
        effects.append(Stop(pod=target, grace_seconds=rest, signal=_signal(duty)))
    if (wake := _next_boot_seconds(duty)) is not None:
        effects.append(WakeAt(boot_seconds=wake))
    return duty, tuple(effects)


def _next_boot_seconds(duty: Duty) -> float | None:
    beat = duty.heartbeat_boot_seconds + HEARTBEAT_SECONDS
    if duty.phase is Phase.STOPPING and duty.active:
        return beat
    if duty.phase is Phase.PAUSING and duty.active:
        return duty.next_boot_seconds if duty.report is None else min(duty.next_boot_seconds, beat)
    return None


def _beaten(duty: Duty, now: Now) -> Duty:
    """A sign of life about every three minutes while something still happens."""
    if duty.phase not in (Phase.STOPPING, Phase.PAUSING, Phase.LOOKING) or duty.report is None:
        return duty
    if not _due(duty.heartbeat_boot_seconds + HEARTBEAT_SECONDS, now) or _overdue(duty, now):
        return duty
    report = structs.replace(duty.report, heartbeat_time=whole_second(now.utc))
    return structs.replace(duty, report=report, heartbeat_boot_seconds=now.boot_seconds)


def _overdue(duty: Duty, now: Now) -> bool:
    if duty.phase is not Phase.STOPPING or duty.grace_seconds is None:
        return False
    return _due(duty.began_boot_seconds + duty.grace_seconds + OVERDUE_SECONDS, now)


def _shortened(duty: Duty, now: Now) -> Duty:
    """A smaller grace that arrives while the stop runs shortens it; nothing lengthens it."""
    asked, rest = _asked_seconds(duty), _rest_seconds(duty, now)
    target = duty.target
    if asked is None or target is None or (rest is not None and asked >= rest):
        return duty
    name = name_text(target)
    shorter = structs.replace(duty, grace_seconds=asked, began_boot_seconds=now.boot_seconds)
    return _stopping(shorter, f"stopping {name} with a grace shortened to {asked} s", now)


def _sooner(rules: Rules, duty: Duty, eviction: Eviction) -> bool:
    """Whether the pause ends now: less grace is asked for, or no budget keeps it any more."""
    return _tightened(duty) or (duty.withheld and not budgets.hold(rules, eviction))


def _tightened(duty: Duty) -> bool:
    """Whether less grace is asked for than at the last attempt."""
    asked = _asked_seconds(duty)
    return asked is not None and (duty.grace_seconds is None or asked < duty.grace_seconds)


def _asked_seconds(duty: Duty) -> int | None:
    """The Eviction's own grace; a negative one is none at all."""
    asked = None if duty.eviction is None else duty.eviction.status.grace_period_seconds
    return None if asked is None else max(0, asked)


def _rest_seconds(duty: Duty, now: Now) -> int | None:
    """What is left of the running stop's grace, so that a restart does not give it twice."""
    if duty.grace_seconds is None:
        return None
    over_seconds = now.boot_seconds - duty.began_boot_seconds
    # A stop that seems to begin later was begun before the machine was started anew.
    return ceil(max(0.0, duty.grace_seconds - max(0.0, over_seconds)))


def _stopping(duty: Duty, message: str, now: Now) -> Duty:
    """The report before the first signal: from here on nobody may take the wish back."""
    expected = None
    if duty.grace_seconds is not None:
        expected = whole_second(now.utc) + timedelta(seconds=duty.grace_seconds)
    return _reported(duty, message, now, expected=expected)


def _failed(duty: Duty, why: str, now: Now) -> Duty:
    """Not ended: attempts, the reason, and a pause that doubles."""
    duty = _paused(duty, now)
    message = f"stop failed (attempts={duty.attempts}): {why}"
    return _reported(duty, message, now, expected=None)


def _refused(duty: Duty, why: str, now: Now) -> Duty:
    """Kept by a budget: upstream's 429, tried again as after any refusal, for as long as it takes.

    Nothing was sent, so that the wish may still be taken back. [eviction-request-api 7]
    """
    duty = _paused(duty, now)
    message = f"stop refused (attempts={duty.attempts}) cause=budget: {why}"
    return _reported(duty, message, now, expected=None)


def _paused(duty: Duty, now: Now) -> Duty:
    """One attempt more; 5, 10, 20 ... 600 s until the next. [eviction-request-api 7]"""
    pause = pause_seconds(PAUSE_BASE_SECONDS, PAUSE_MAX_SECONDS, duty.attempts)
    return structs.replace(
        duty,
        phase=Phase.PAUSING if duty.active else Phase.IDLE,
        attempts=duty.attempts + 1,
        next_boot_seconds=now.boot_seconds + pause,
    )


def _completed(duty: Duty, message: str, now: Now, *, gone: bool) -> Duty:
    duty = _reported(duty, message, now, expected=whole_second(now.utc))
    assert duty.report is not None  # noqa: S101 - _reported has just made it
    report = structs.replace(duty.report, completion_time=whole_second(now.utc), target_gone=gone)
    return structs.replace(duty, phase=Phase.DONE, report=report)


def _reported(duty: Duty, message: str, now: Now, *, expected: datetime | None) -> Duty:
    assert duty.eviction is not None  # noqa: S101 - only an assigned duty reports
    report = Report(
        eviction_uid=duty.eviction.metadata.uid,
        heartbeat_time=whole_second(now.utc),
        expected_completion_time=expected,
        message=topics.cut(message, MESSAGE_BYTES_MAX),
        point_of_no_return=duty.signalled or duty.phase is Phase.STOPPING,
    )
    return structs.replace(duty, report=report, heartbeat_boot_seconds=now.boot_seconds)


def _record(rules: Rules, duty: Duty, outcome: StopOutcome, now: Now) -> tuple[Effect, ...]:
    """`stopped/...`: what is down because of us. A name that runs again is not down.

    Not found counts as ours, since the order to stop was given: after a crash in the middle of a
    stop nothing else is left to see.
    """
    if outcome.result is StopResult.OTHER_UID or duty.eviction is None or duty.pod is None:
        return ()
    pod = duty.pod
    memory = None if pod.stats is None else pod.stats.memory
    record = Stopped(
        uid=pod.uid,
        runtime_id=pod.runtime_id,
        time=whole_second(now.utc),
        signal=_signal(duty),
        eviction=duty.eviction.metadata.name,
        restore=pod.restore,
        last_usage=None if memory is None else memory.working_set_bytes,
        depends_on=pod.depends_on,
        labels=pod.labels,
    )
    topic = topics.STOPPED.at(rules.node, namespace=pod.namespace, name=pod.name)
    return (Publish(topic=topic, message=record),)


def _retracted(rules: Rules, duty: Duty) -> tuple[Effect, ...]:
    return () if duty.report is None else (Retract(topic=_report_topic(rules, duty)),)


def _report_topic(rules: Rules, duty: Duty) -> str:
    assert duty.eviction is not None  # noqa: S101 - only an assigned duty reports
    return report_topic(rules.node, duty.eviction, DEFAULT_RESPONDER)


def _dryness(rules: Rules, eviction: Eviction) -> str | None:
    """Why nothing is stopped for this Eviction, or None."""
    dry = "the request is a dry run" if eviction.status.dry_run else None
    return forbidden(rules) or dry


def _refusal(pod: Pod) -> str | None:
    """Never a critical or protected workload, even if all others have let it pass.

    [design, law 9]
    """
    name = name_text(pod)
    if critical(pod):
        return f"{name}: it is critical"
    if pod.protected:
        return f"{name}: it is protected" + (
            f", managed by {pod.managed_by}" if pod.managed_by else ""
        )
    return None


def _signal(duty: Duty) -> str | None:
    if duty.eviction is None or duty.eviction.status.reason is None:
        return None
    return duty.eviction.status.reason.signal


def _end_sentence(target: PodReference, outcome: StopOutcome) -> str:
    name = name_text(target)
    if outcome.result is StopResult.OTHER_UID:
        return f"{name} had already ended; another life has its name"
    if outcome.result is StopResult.NOT_FOUND:
        return f"{name} is gone"
    return f"{name} was stopped" + (f": {outcome.why}" if outcome.why else "")


def _due(boot_seconds: float, now: Now) -> bool:
    """Boot time that lies more than any pause ahead is of another boot: due at once."""
    rest_seconds = boot_seconds - now.boot_seconds
    return rest_seconds <= 0 or rest_seconds > PAUSE_MAX_SECONDS + OVERDUE_SECONDS + 86_400
