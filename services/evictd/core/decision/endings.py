"""How evictions stand and end: our own requests, and who is on the way whoever asked.

It chooses nobody; who is passed over because it stayed is noted here. [design, law 7]
"""

from msgspec import structs

from evictd.core.decision import companions, failures, loops
from evictd.core.decision.inputs import Answered, Seen
from evictd.core.decision.plan import Instant, OwnRequest, Plan, Step, newest
from evictd.core.decision.requests import Fate, fate
from evictd.core.decision.upkeep import not_gone, with_victim
from evictd.core.effects import Retract
from evictd.core.moments import Now
from evictd.core.protocol.conditions import eviction_finished
from evictd.core.rules import Rules


def answered(rules: Rules, plan: Plan, given: Answered, now: Now) -> Step:
    """How one of our requests stands; it is cleared once it is final. [design, law 7]"""
    own, status = plan.request(given.topic), given.status
    if status is None:
        spent = {topic: uid for topic, uid in plan.spent.items() if topic != given.topic}
        return structs.replace(plan, spent=spent), ()
    end = fate(status)
    if end is None or plan.spent.get(given.topic) == status.uid:
        return plan, ()
    if own is None:  # a broker forgot it, and we with it; only its requester may clear it
        return plan, (Retract(topic=given.topic),)
    if end is Fate.REHEARSED:
        return plan.with_request(structs.replace(own, finished=True)), ()
    spent = newest({**plan.spent, own.topic: status.uid})
    plan = structs.replace(plan.without_request(own.topic), spent=spent)
    ended = now if status.final_time is None else structs.replace(now, utc=status.final_time)
    plan, told = _ended(rules, plan, own, end, ended)
    over = () if companions.leads(plan, own) else (Retract(topic=own.topic),)
    return plan, (*over, *told)


def seen(plan: Plan, given: Seen) -> Plan:
    """Which pods are on their way already, whoever asked."""
    name = f"{given.namespace}/{given.name}"
    others = {key: uid for key, uid in plan.leaving.items() if key != name}
    eviction = given.eviction
    if (
        eviction is not None
        and not eviction.status.dry_run
        and not eviction_finished(eviction.status.conditions)
    ):
        pod = eviction.spec.target.pod
        if pod is not None:
            others[name] = pod.uid
    return structs.replace(plan, leaving=others)


def _ended(rules: Rules, plan: Plan, own: OwnRequest, end: Fate, now: Now) -> Step:
    if end is Fate.EVICTED:
        gone = Instant(moment=plan.observed, boot_seconds=now.boot_seconds)
        history, told = loops.counted(rules, plan.history, own.pod, now.utc, now)
        plan = structs.replace(plan, history=history, gone=plan.gone if own.gone else gone)
        plan = companions.await_turn(plan, own)
        if own.gone:  # noted when it was seen
            return plan, told
        return with_victim(rules, plan, own, now), told
    moves_on = rules.profile.failed_victim_moves_on
    if end is Fate.REFUSED:
        rest_seconds = failures.FAILED_SECONDS
        return _without_victim(
            plan, own, failures.not_gone(own.pod, now, rest_seconds=rest_seconds)
        )
    if end is Fate.FAILED and moves_on:
        return _without_victim(plan, own, not_gone(own, now))
    return plan, ()


def _without_victim(plan: Plan, own: OwnRequest, failed: dict[str, failures.Failure]) -> Step:
    """It stays, so that its disk has not had its one victim."""
    relieved = {signal: pod for signal, pod in plan.relieved.items() if pod.uid != own.pod.uid}
    return structs.replace(plan, failed={**plan.failed, **failed}, relieved=relieved), ()
