"""What the built-in responder says of its work, and what it writes down of who is down by it.

[contract 3, Report, Stopped] [eviction-request-api 7]
"""

from datetime import datetime, timedelta

from msgspec import structs

from evictd.core.duty.imperative import (
    MESSAGE_BYTES_MAX,
    PAUSE_BASE_SECONDS,
    PAUSE_MAX_SECONDS,
    pause_seconds,
)
from evictd.core.duty.outcomes import StopOutcome, StopResult
from evictd.core.duty.state import Duty, Effect, Phase
from evictd.core.effects import Publish, Retract
from evictd.core.moments import Now, whole_second
from evictd.core.orders import Restore, comes_back
from evictd.core.protocol.naming import report_topic
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER, SetbackCause
from evictd.core.rules import Rules
from evictd.core.usage import held_bytes, held_processes
from evictd.core.wording import name_text
from evictd_schemas import PodReference, Report, Setback, Stopped, topics


def stopping(duty: Duty, message: str, now: Now) -> Duty:
    """The report before the first signal: from here on nobody may take the wish back."""
    expected = None
    if duty.grace_seconds is not None:
        expected = whole_second(now.utc) + timedelta(seconds=duty.grace_seconds)
    return _reported(duty, message, now, expected=expected)


def failed(duty: Duty, cause: SetbackCause, why: str, now: Now) -> Duty:
    """Not ended: attempts, the reason, and a pause that doubles."""
    duty = paused(duty, now)
    message = f"stop failed (attempts={duty.attempts}): {why}"
    return _reported(duty, message, now, expected=None, setback=_setback(duty, cause, now))


def refused(duty: Duty, why: str, now: Now) -> Duty:
    """Kept by a budget: upstream's 429, tried again as after any refusal, for as long as it takes.

    Nothing was sent, so that the wish may still be taken back. [eviction-request-api 7]
    """
    duty, cause = paused(duty, now), SetbackCause.BUDGET
    message = f"stop refused (attempts={duty.attempts}) cause=budget: {why}"
    return _reported(duty, message, now, expected=None, setback=_setback(duty, cause, now))


def _setback(duty: Duty, cause: SetbackCause, now: Now) -> Setback:
    """The same in figures, for whoever should not have to read the sentence."""
    pause = timedelta(seconds=duty.next_boot_seconds - now.boot_seconds)
    return Setback(cause=cause, attempts=duty.attempts, next_try_time=whole_second(now.utc + pause))


def paused(duty: Duty, now: Now) -> Duty:
    """One attempt more; 5, 10, 20 ... 600 s until the next. [eviction-request-api 7]"""
    pause = pause_seconds(PAUSE_BASE_SECONDS, PAUSE_MAX_SECONDS, duty.attempts)
    return structs.replace(
        duty,
        phase=Phase.PAUSING if duty.active else Phase.IDLE,
        attempts=duty.attempts + 1,
        next_boot_seconds=now.boot_seconds + pause,
    )


def completed(duty: Duty, message: str, now: Now, *, gone: bool) -> Duty:
    """Our part is done. `gone`: the runtime itself has confirmed the end."""
    duty = _reported(duty, message, now, expected=whole_second(now.utc))
    assert duty.report is not None  # noqa: S101 - _reported has just made it
    report = structs.replace(duty.report, completion_time=whole_second(now.utc), target_gone=gone)
    return structs.replace(duty, phase=Phase.DONE, report=report)


def _reported(
    duty: Duty,
    message: str,
    now: Now,
    *,
    expected: datetime | None,
    setback: Setback | None = None,
) -> Duty:
    assert duty.eviction is not None  # noqa: S101 - only an assigned duty reports
    report = Report(
        eviction_uid=duty.eviction.metadata.uid,
        heartbeat_time=whole_second(now.utc),
        expected_completion_time=expected,
        message=topics.cut(message, MESSAGE_BYTES_MAX),
        point_of_no_return=duty.signalled or duty.phase is Phase.STOPPING,
        setback=setback,
    )
    return structs.replace(duty, report=report, heartbeat_boot_seconds=now.boot_seconds)


def waiting(duty: Duty, message: str, now: Now, *, pause_seconds: float) -> Duty:
    """Nothing is done for now; looked at again after the pause."""
    pausing = structs.replace(
        duty, phase=Phase.PAUSING, next_boot_seconds=now.boot_seconds + pause_seconds
    )
    return _reported(pausing, message, now, expected=None)


def record(rules: Rules, duty: Duty, now: Now, *, attempts: int = 0) -> tuple[Effect, ...]:
    """`stopped/...`: what is down because of us. `attempts`: starts that have failed already."""
    if duty.eviction is None or duty.pod is None:
        return ()
    pod = duty.pod
    down = Stopped(
        uid=pod.uid,
        runtime_id=pod.runtime_id,
        time=whole_second(now.utc),
        signal=signal_of(duty),
        eviction=duty.eviction.metadata.name,
        restore=_restore(pod.restore, signal_of(duty)),
        last_usage=held_bytes(pod.stats),
        last_processes=held_processes(pod.stats),
        depends_on=pod.depends_on,
        group=pod.group,
        labels=pod.labels,
        attempts=attempts,
    )
    topic = topics.STOPPED.at(rules.node, namespace=pod.namespace, name=pod.name)
    return (Publish(topic=topic, message=down),)


def _restore(wanted: str, signal: str | None) -> str:
    """By itself only what left room; a full disk and others' wishes are for people to decide."""
    return Restore.MANUAL if wanted == Restore.AUTO and not comes_back(signal) else wanted


def retracted(rules: Rules, duty: Duty) -> tuple[Effect, ...]:
    """The report goes with its Eviction."""
    return () if duty.report is None else (Retract(topic=report_topic_of(rules, duty)),)


def report_topic_of(rules: Rules, duty: Duty) -> str:
    """Where we report."""
    assert duty.eviction is not None  # noqa: S101 - only an assigned duty reports
    return report_topic(rules.node, duty.eviction, DEFAULT_RESPONDER)


def signal_of(duty: Duty) -> str | None:
    """The shortage for which it goes, None where there is none."""
    if duty.eviction is None or duty.eviction.status.reason is None:
        return None
    return duty.eviction.status.reason.signal


def end_sentence(target: PodReference, outcome: StopOutcome) -> str:
    """How it ended."""
    name = name_text(target)
    if outcome.result is StopResult.OTHER_UID:
        return f"{name} had already ended; another life has its name"
    if outcome.result is StopResult.NOT_FOUND:
        return f"{name} is gone"
    return f"{name} was stopped" + (f": {outcome.why}" if outcome.why else "")
