"""A stop that failed and whose turn is over may still come true: then it is down because of us.

Nobody waits for it any more, so that it is looked at until nothing can come of it. Nothing is
stopped here. [design, law 5] [contract 3, Stopped]
"""

from msgspec import structs

from evictd.core.duty.pace import began_boot_seconds
from evictd.core.duty.state import Duty, Listed, Phase
from evictd.core.moments import Now
from evictd.core.pods import DEFAULT_GRACE_SECONDS

LOOK_SECONDS = 5.0
"""Between two looks, so that who is down is soon written down."""
LATE_SECONDS = 120.0
"""What still lives so long after the grace stays: engines send the last signal within seconds."""
UNKNOWN_SECONDS = 3600.0
"""So long after the grace a runtime that does not answer is waited for."""


def gone(listed: Listed) -> bool | None:
    """Whether that life is over; None where not every runtime has told what it has."""
    if listed.pod is not None:
        return False
    if listed.neighbours is None or listed.neighbours.problem is not None:
        return None
    return True


def down(duty: Duty, listed: Listed) -> bool:
    """Whether nothing runs under the name of a life that is over."""
    pod, everyone = duty.pod, listed.neighbours
    if pod is None or everyone is None:
        return False
    return (pod.namespace, pod.name) not in {(one.namespace, one.name) for one in everyone.pods}


def over(duty: Duty, listed: Listed, now: Now) -> bool:
    """Whether another look would tell nothing new."""
    is_gone = gone(listed)
    if is_gone:
        return True
    grace_seconds = DEFAULT_GRACE_SECONDS if duty.grace_seconds is None else duty.grace_seconds
    patience_seconds = grace_seconds + (UNKNOWN_SECONDS if is_gone is None else LATE_SECONDS)
    return now.boot_seconds - began_boot_seconds(duty, now) >= patience_seconds


def waiting(duty: Duty, now: Now) -> Duty:
    """Looked at again after a pause."""
    return structs.replace(
        duty,
        phase=Phase.PAUSING,
        began_boot_seconds=began_boot_seconds(duty, now),
        next_boot_seconds=now.boot_seconds + LOOK_SECONDS,
    )
