"""A hard grace ends sooner where the machine may not last for it. [design, profile host]"""

from msgspec import structs

from evictd.core.decision.inputs import Judged
from evictd.core.decision.plan import OwnRequest, Plan, Step
from evictd.core.decision.requests import publication
from evictd.core.decision.shortage import hard
from evictd.core.effects import BusEffect
from evictd.core.rules import Rules
from evictd.core.signals.names import PSI_MEMORY_FULL, Resource

WORSE_SHARE = 0.5
"""Of its line: who has fallen so far while the victim was asked to end is not going to recover."""
STALL_LEFT_PERCENT = 60
"""Above 40 per cent of the time everything waits for memory: the victim's own end waits too."""


def hasten(rules: Rules, plan: Plan, given: Judged) -> Step:
    """Take the rest of the grace from running hard evictions whose shortage has become worse.

    The same request with a grace of 0: whoever stops the workload kills it now.
    """
    if not rules.profile.grace_ends_when_worse:
        return plan, ()
    effects: list[BusEffect] = []
    for own in plan.own:
        if _may_hasten(own) and _worse(own, given):
            spec = structs.replace(own.request.spec, grace_period_seconds=0)
            hastened = structs.replace(own, request=structs.replace(own.request, spec=spec))
            plan = plan.with_request(hastened)
            effects.append(publication(hastened))
    return plan, tuple(effects)


def _may_hasten(own: OwnRequest) -> bool:
    running = not (own.withdrawn or own.gone or own.dry_run or own.finished)
    return own.hard and running and own.request.spec.grace_period_seconds != 0


def _worse(own: OwnRequest, given: Judged) -> bool:
    if own.resource is Resource.MEMORY and _stalls(given):
        return True
    return any(
        item.signal == own.signal
        and item.met
        and hard(item)
        and item.available is not None
        and item.quantity is not None
        and item.available < item.quantity * WORSE_SHARE
        for item in given.pressure.thresholds
    )


def _stalls(given: Judged) -> bool:
    reading = given.observation.signals.get(PSI_MEMORY_FULL)
    return reading is not None and reading.available < STALL_LEFT_PERCENT
