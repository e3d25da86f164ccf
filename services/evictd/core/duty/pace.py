"""When the built-in responder tries again, gives a sign of life, and when it gives none any more.

A moment that lies further ahead than any of its kind can is one of another boot, and over. What is
done then is `response`'s business. [eviction-request-api 7, 8]
"""

from msgspec import structs

from evictd.core.duty.imperative import PAUSE_MAX_SECONDS
from evictd.core.duty.state import Duty, Phase
from evictd.core.moments import Now, whole_second
from evictd.core.protocol.patience import HEARTBEAT_SECONDS

OVERDUE_SECONDS = 120.0
"""A stop that is this long past its grace gets no more heartbeats: the controller's deadline ends
it. [eviction-request-api 8: no heartbeat without progress]"""
ROUNDING_SECONDS = 1.0
"""What adding and subtracting may add to the longest wait of a kind."""


def due(boot_seconds: float, longest_seconds: float, now: Now) -> bool:
    """Whether a moment has come that was fixed at most `longest_seconds` before it."""
    rest_seconds = boot_seconds - now.boot_seconds
    return not 0 < rest_seconds <= longest_seconds + ROUNDING_SECONDS


def rested(duty: Duty, now: Now) -> bool:
    """Whether the pause after the last attempt is over."""
    return due(duty.next_boot_seconds, PAUSE_MAX_SECONDS, now)


def began_boot_seconds(duty: Duty, now: Now) -> float:
    """When the last stop began; what seems to be later was in another boot, and counts from now."""
    return min(duty.began_boot_seconds, now.boot_seconds)


def resumed(duty: Duty, now: Now) -> Duty:
    """A stop that was begun in another boot begins again."""
    if duty.phase is not Phase.STOPPING:
        return duty
    return structs.replace(duty, began_boot_seconds=began_boot_seconds(duty, now))


def beaten(duty: Duty, now: Now) -> Duty:
    """A sign of life about every three minutes while something still happens."""
    if duty.phase not in (Phase.STOPPING, Phase.PAUSING, Phase.LOOKING) or duty.report is None:
        return duty
    if not due(_beat_boot_seconds(duty), HEARTBEAT_SECONDS, now) or _overdue(duty, now):
        return duty
    report = structs.replace(duty.report, heartbeat_time=whole_second(now.utc))
    return structs.replace(duty, report=report, heartbeat_boot_seconds=now.boot_seconds)


def wake_boot_seconds(duty: Duty, now: Now) -> float | None:
    """When to look again without being told anything; None where there is nothing to do by then."""
    if duty.doubtful and duty.phase is Phase.PAUSING:
        return duty.next_boot_seconds
    if not duty.active:
        return None
    if duty.phase is Phase.STOPPING:
        return None if _overdue(duty, now) else _beat_boot_seconds(duty)
    if duty.phase is not Phase.PAUSING:
        return None
    if duty.report is None:
        return duty.next_boot_seconds
    return min(duty.next_boot_seconds, _beat_boot_seconds(duty))


def _beat_boot_seconds(duty: Duty) -> float:
    return duty.heartbeat_boot_seconds + HEARTBEAT_SECONDS


def _overdue(duty: Duty, now: Now) -> bool:
    if duty.phase is not Phase.STOPPING or duty.grace_seconds is None:
        return False
    patience_seconds = duty.grace_seconds + OVERDUE_SECONDS
    return due(duty.began_boot_seconds + patience_seconds, patience_seconds, now)
