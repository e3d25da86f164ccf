"""Those who follow a victim because they go only together: one after the other, each by a request.

They follow whether it is still short or not, since part of a group is of no use. It chooses nobody;
`together` does. [design, profile host]
"""

from collections.abc import Mapping

from msgspec import structs

from evictd.core.decision import failures
from evictd.core.decision.candidates import evictable
from evictd.core.decision.inputs import Judged
from evictd.core.decision.plan import Following, OwnRequest, Plan, Step
from evictd.core.decision.requests import pressure_request, publication
from evictd.core.effects import BusEffect, Retract
from evictd.core.moments import Now
from evictd.core.pods import active
from evictd.core.rules import Mode, Rules
from evictd.core.wording import name_text
from evictd_schemas import Pod, PodReference, Reason

GROUPS_MAX = 100
"""Groups of which some have yet to go; of further ones the rest stays."""


def await_turn(plan: Plan, own: OwnRequest) -> Plan:
    """One has gone: those who go with it have their turn, unless it need not have gone any more.

    Its request stays on the bus until they had it, which is where a restart finds them.
    """
    if not own.following or own.withdrawn or len(plan.following) >= GROUPS_MAX:
        return plan
    next_ones = Following(
        topic=own.topic, pods=own.following, after=own.pod, signal=own.signal, hard=own.hard
    )
    return structs.replace(plan, following=(*plan.following, next_ones))


def leads(plan: Plan, own: OwnRequest) -> bool:
    """Whether the request of one that has gone is still needed for those who follow it."""
    return any(following.topic == own.topic for following in plan.following)


def retractions(plan: Plan) -> tuple[Retract, ...]:
    """The requests of those that have gone and are followed by somebody."""
    return tuple(Retract(topic=following.topic) for following in plan.following)


def lead(rules: Rules, plan: Plan, given: Judged, now: Now) -> Step:
    """Ask the next of each group to go; the request carries who comes after it."""
    pods = given.observation.pods
    if not plan.following or pods is None:
        return plan, ()
    if rules.mode is Mode.OBSERVE:
        return structs.replace(plan, following=()), retractions(plan)
    there = {pod.uid: pod for pod in pods if active(pod)}
    waiting: list[Following] = []
    effects: list[BusEffect] = []
    for following in plan.following:
        rest = _rest(rules, plan, following, there, now)
        if rest and _asked(plan, rest[0]) is not None:
            waiting.append(following)
            continue
        if rest:
            asked = _request(rules, following, there[rest[0].uid], rest[1:], now)
            plan = plan.with_request(asked)
            effects.append(publication(asked))
        effects.append(Retract(topic=following.topic))
    return structs.replace(plan, following=tuple(waiting)), tuple(effects)


def _rest(
    rules: Rules, plan: Plan, following: Following, there: Mapping[str, Pod], now: Now
) -> tuple[PodReference, ...]:
    """From the first that is still there and may go, or is on its way, to the last.

    Nobody after one who did not go, or was let off: it would not be all of them.
    """
    for index, reference in enumerate(following.pods):
        pod = there.get(reference.uid)
        if pod is None:
            continue
        own = _asked(plan, reference)
        failure = failures.passed_over(plan.failed, pod, now, hard=following.hard)
        if failure is not None or (own is not None and own.withdrawn):
            return ()
        if own is not None or _free(rules, plan, pod, following, now):
            return following.pods[index:]
    return ()


def _asked(plan: Plan, pod: PodReference) -> OwnRequest | None:
    return next((own for own in plan.own if own.pod.uid == pod.uid), None)


def _request(
    rules: Rules, following: Following, pod: Pod, rest: tuple[PodReference, ...], now: Now
) -> OwnRequest:
    with_whom = f"It goes only together with {name_text(following.after)}"
    message = with_whom + (f", group {pod.group}. " if pod.group else ". ")
    reason = Reason(signal=following.signal, message=message)
    return pressure_request(rules, pod, reason, hard=following.hard, now=now, following=rest)


def _free(rules: Rules, plan: Plan, pod: Pod, following: Following, now: Now) -> bool:
    return plan.hold(pod, hard=following.hard, now=now) is None and evictable(rules, pod)
