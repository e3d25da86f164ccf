"""What comes of a workload's own way to be taken off: a restart, or a webhook of its owner's.

A hard eviction stops, whatever the way: a machine that is short cannot wait for somebody else.
[design, laws 3 and 7]
"""

from msgspec import structs

from evictd.core.duty import pace, telling
from evictd.core.duty.outcomes import StopOutcome, StopResult
from evictd.core.duty.state import Duty
from evictd.core.moments import Now
from evictd.core.protocol.vocabulary import RequestType
from evictd.core.ways import Way, restartable
from evictd.core.wording import name_text
from evictd_schemas import Eviction, Pod

LEFT_SECONDS = 30.0
"""For the end of what a webhook says it has taken off: engines stop within ten seconds."""
LEFT_LOOK_SECONDS = 5.0
"""Between two looks whether it is still there."""


def hard(eviction: Eviction | None) -> bool:
    """Whether nobody is waited for now; that somebody forced it once is no reason any more."""
    return eviction is not None and eviction.status.type == RequestType.HARD


def left_to_webhook(duty: Duty, pod: Pod) -> bool:
    """Whether the end is none of ours for now."""
    return pod.action == Way.WEBHOOK and not hard(duty.eviction)


def left(duty: Duty, pod: Pod, now: Now) -> Duty:
    """Its webhooks have had their turn: its end is waited for a while, then we are done.

    So the next workload has its turn, and a hard shortage in between finds us at it.
    """
    since = now.boot_seconds if duty.left_boot_seconds is None else duty.left_boot_seconds
    duty = structs.replace(duty, left_boot_seconds=since)
    name = name_text(pod)
    end = since + LEFT_SECONDS
    if pace.due(end, LEFT_SECONDS, now):
        message = f"{name} is left to its webhook and still runs; only a hard eviction stops it"
        return telling.completed(duty, message, now, gone=False)
    message = f"{name} is left to its webhook; only a hard eviction stops it"
    pause_seconds = min(LEFT_LOOK_SECONDS, end - now.boot_seconds)
    return telling.waiting(duty, message, now, pause_seconds=pause_seconds)


def restarts(duty: Duty, outcome: StopOutcome) -> bool:
    """Whether what we have just stopped is started again at once."""
    pod, eviction = duty.pod, duty.eviction
    if pod is None or eviction is None or outcome.result is not StopResult.GONE:
        return False
    return pod.action == Way.RESTART and restartable(eviction.status.reason)


def rehearsed(duty: Duty, pod: Pod) -> str:
    """What would have been done, where nothing is."""
    name = name_text(pod)
    if left_to_webhook(duty, pod):
        return f"would have left {name} to its webhook"
    again = restarts(structs.replace(duty, pod=pod), StopOutcome(result=StopResult.GONE))
    return f"would have {'restarted' if again else 'stopped'} {name}"
