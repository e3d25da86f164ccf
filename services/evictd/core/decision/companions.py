"""Those who follow a victim because they go only together: one after the other, each by a request.

They follow whether it is still short or not, since part of a group is of no use. It chooses nobody;
`together` does. [design, profile host]
"""

from collections.abc import Sequence

from msgspec import structs

from evictd.core.decision.candidates import evictable
from evictd.core.decision.inputs import Judged
from evictd.core.decision.plan import Following, OwnRequest, Plan, Step
from evictd.core.decision.requests import pressure_request, publication
from evictd.core.effects import Publish
from evictd.core.holds import hold_on
from evictd.core.moments import Now
from evictd.core.pods import active
from evictd.core.rules import Mode, Rules
from evictd.core.wording import name_text
from evictd_schemas import Pod, Reason

FOLLOWING_MAX = 100
"""Groups of which some have yet to go; beyond it the oldest is left as it is."""


def await_turn(plan: Plan, own: OwnRequest) -> Plan:
    """One has gone: those who go with it have their turn."""
    if not own.following:
        return plan
    next_ones = Following(pods=own.following, after=own.pod, signal=own.signal, hard=own.hard)
    return structs.replace(plan, following=(*plan.following, next_ones)[-FOLLOWING_MAX:])


def lead(rules: Rules, plan: Plan, given: Judged, now: Now) -> Step:
    """Ask the next of each group to go; the request carries who comes after it."""
    pods = given.observation.pods
    if not plan.following or pods is None:
        return plan, ()
    waiting, effects = plan.following, list[Publish]()
    plan = structs.replace(plan, following=())
    if rules.mode is Mode.OBSERVE:
        return plan, ()
    for following in waiting:
        if (asked := _next(rules, plan, following, pods, now)) is not None:
            plan = plan.with_request(asked)
            effects.append(publication(asked))
    return plan, tuple(effects)


def _next(
    rules: Rules, plan: Plan, following: Following, pods: Sequence[Pod], now: Now
) -> OwnRequest | None:
    """The first that is still there and may go; None where nobody is."""
    there = {pod.uid: pod for pod in pods if active(pod)}
    asked = {own.pod.uid for own in plan.own}
    for index, reference in enumerate(following.pods):
        pod = there.get(reference.uid)
        if pod is None or pod.uid in asked or not _free(rules, plan, pod, following, now):
            continue
        with_whom = f"It goes only together with {name_text(following.after)}"
        message = with_whom + (f", group {pod.group}. " if pod.group else ". ")
        reason = Reason(signal=following.signal, message=message)
        rest = following.pods[index + 1 :]
        return pressure_request(rules, pod, reason, hard=following.hard, now=now, following=rest)
    return None


def _free(rules: Rules, plan: Plan, pod: Pod, following: Following, now: Now) -> bool:
    wishes = tuple(plan.wishes.values())
    held = hold_on(wishes, name_text(pod), hard=following.hard, utc=now.utc)
    return held is None and evictable(rules, pod)
