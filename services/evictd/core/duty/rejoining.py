"""One that has lost its network, because it shares that of another which lives anew: restarted.

A duty without an Eviction. Whoever is stopped here is started again, whatever becomes of the stop:
each step returns everything that its phase stands for, so that a crash at any point leaves it to
the next life. [design, law 5]
"""

from typing import TypeAlias

from msgspec import structs

from evictd.core.back_off import BACK_OFF_SECONDS_MAX, back_off_seconds
from evictd.core.duty import pace
from evictd.core.duty.outcomes import StartResult
from evictd.core.duty.state import (
    Duty,
    Effect,
    Given,
    Phase,
    Rejoin,
    Start,
    StartEnded,
    StopEnded,
)
from evictd.core.effects import Stop, Tick, WakeAt
from evictd.core.moments import Now
from evictd.core.pods import reference
from evictd_schemas import Pod

TRIES_MAX = 30
"""Starts that fail before it is left to its owner: with their pauses a day."""

Step: TypeAlias = tuple[Duty, tuple[Effect, ...]]


def begun(pod: Pod, now: Now) -> Step:
    """It is stopped with its own grace."""
    grace = pod.termination_grace_period_seconds
    duty = Duty(
        phase=Phase.STOPPING, pod=pod, grace_seconds=grace, began_boot_seconds=now.boot_seconds
    )
    return duty, _standing(duty, now)


def rejoined(duty: Duty, given: Given | Tick, now: Now) -> Step:
    """The next step, nothing once it runs again or is no more."""
    uid = None if duty.pod is None else duty.pod.uid
    match given:
        case Rejoin(pod=pod) if pod.uid != uid:
            return begun(pod, now)
        case StopEnded(uid=ended, outcome=stopped) if ended == uid:
            if duty.phase is Phase.STOPPING:
                duty = _starting(duty) if stopped.ended else _pausing(duty, now)
        case StartEnded(uid=ended, outcome=started) if ended == uid:
            if started.runs or started.result is StartResult.NOT_FOUND:
                return Duty(), ()
            if duty.attempts >= TRIES_MAX:
                return Duty(), ()
            if duty.phase is Phase.STARTING:
                duty = _pausing(duty, now)
        case _ if duty.phase is Phase.PAUSING and _rested(duty, now):
            duty = _starting(duty)
    return duty, _standing(duty, now)


def _rested(duty: Duty, now: Now) -> bool:
    return pace.due(duty.next_boot_seconds, BACK_OFF_SECONDS_MAX, now)


def _starting(duty: Duty) -> Duty:
    return structs.replace(duty, phase=Phase.STARTING)


def _pausing(duty: Duty, now: Now) -> Duty:
    """A stop that failed may still come true, so that it is started after a pause, too."""
    attempts = duty.attempts + 1
    pause_seconds = back_off_seconds(attempts)
    return structs.replace(
        duty,
        phase=Phase.PAUSING,
        attempts=attempts,
        next_boot_seconds=now.boot_seconds + pause_seconds,
    )


def _standing(duty: Duty, now: Now) -> tuple[Effect, ...]:
    """What the phase asks for."""
    assert duty.pod is not None  # noqa: S101 - there is one from the beginning
    life = reference(duty.pod)
    match duty.phase:
        case Phase.STOPPING:
            return (Stop(pod=life, grace_seconds=duty.rest_seconds(now.boot_seconds)),)
        case Phase.STARTING:
            return (Start(pod=life, runtime_id=duty.pod.runtime_id),)
        case _:
            return (WakeAt(boot_seconds=duty.next_boot_seconds),)
