"""What every Pressure does to standing requests before anything is decided.

Gone targets, stuck evictions, withdrawal, haste, the end of rehearsals. [design, laws 7 and 8]
"""

from collections.abc import Callable

from msgspec import structs

from evictd.core.decision import failures, growth, loops
from evictd.core.decision.haste import hasten
from evictd.core.decision.inputs import Judged
from evictd.core.decision.limits import offences
from evictd.core.decision.plan import Instant, OwnRequest, Plan, Step
from evictd.core.decision.requests import publication, withdrawn
from evictd.core.effects import BusEffect, Retract
from evictd.core.moments import Now, elapsed_seconds, moment, rebooted
from evictd.core.protocol.vocabulary import Status
from evictd.core.rules import Mode, Rules
from evictd.core.signals.names import ConditionType, condition_of
from evictd.core.ways import restartable
from evictd.core.wording import name_text
from evictd_schemas import Layout, Moment, Pressure

HARD_WAIT_SECONDS = 30.0
"""A hard eviction is waited for that long, as the kubelet waits for clean-up. [design, law 7]"""


def keep(rules: Rules, plan: Plan, given: Judged, layout: Layout, now: Now) -> Step:
    """Bring standing requests in line with what is observed now."""
    observed = given.pressure.observed or moment(given.observation)
    plan = structs.replace(plan, observed=observed)
    if rules.profile.stop_one_growing_writer:
        writing = growth.noted(plan.writing, given.observation, layout, observed)
        if writing is not plan.writing:  # else nobody was counted anew
            plan = structs.replace(plan, writing=writing, losses=growth.losses(writing, layout))
    plan = _with_gone_targets(rules, plan, given, now)
    plan = _with_returned_victims(plan, given, now)
    plan = _with_stuck_evictions(rules, plan, now)
    plan = _with_clear_signals(plan, given.pressure, observed)
    plan, unwanted = without(plan, lambda own: _unwanted(rules, plan, given, layout, own))
    plan, withdrawals = _withdraw(rules, plan, observed, now)
    plan, hastened = hasten(rules, plan, given)
    return plan, (*unwanted, *withdrawals, *hastened)


def without(plan: Plan, unwanted: Callable[[OwnRequest], bool]) -> Step:
    """Take these requests off the bus."""
    gone = [own for own in plan.own if unwanted(own)]
    kept = tuple(own for own in plan.own if own not in gone)
    return structs.replace(plan, own=kept), tuple(Retract(topic=own.topic) for own in gone)


def of_another_mode(rules: Rules, own: OwnRequest) -> bool:
    """A request that this mode would not make: the mode was changed meanwhile."""
    return rules.mode is Mode.OBSERVE or own.dry_run is not (rules.mode is Mode.DRY_RUN)


def _unwanted(rules: Rules, plan: Plan, given: Judged, layout: Layout, own: OwnRequest) -> bool:
    if of_another_mode(rules, own):
        return True
    rehearsed = own.finished or (own.dry_run and own.gone)
    if not rehearsed:
        return False
    if own.resource is not None:
        return _clear_long_enough(rules, plan, own, plan.observed)
    pods = given.observation.pods or ()
    offending = offences(pods, layout, lambda pod: pod.uid == own.pod.uid)
    return not offending


def _with_gone_targets(rules: Rules, plan: Plan, given: Judged, now: Now) -> Plan:
    """A target that a complete observation does not list is not waited for any more."""
    if given.observation.pods is None or not given.observation.pods_complete:
        return plan
    listed = {pod.uid for pod in given.observation.pods}
    for own in plan.own:
        if not own.gone and own.pod.uid not in listed:
            plan = plan.with_request(structs.replace(own, gone=True))
            gone = Instant(moment=plan.observed, boot_seconds=now.boot_seconds)
            plan = structs.replace(plan, gone=gone)
            if not own.dry_run and not own.withdrawn:
                plan = with_victim(rules, plan, own, now)
    return plan


def with_victim(rules: Rules, plan: Plan, own: OwnRequest, now: Now) -> Plan:
    """One has gone because we asked for it, where it counts whether it comes back by itself."""
    if not rules.profile.failed_victim_moves_on:
        return plan
    victim = failures.Victim(
        pod=own.pod,
        boot_seconds=now.boot_seconds,
        for_good=not restartable(own.request.spec.reason),
    )
    name = name_text(own.pod)
    victims = failures.with_victim(plan.victims, name, victim)
    return structs.replace(plan, victims=victims)


def _with_returned_victims(plan: Plan, given: Judged, now: Now) -> Plan:
    pods = given.observation.pods or ()
    victims, back = failures.returned(plan.victims, plan.returns, pods, now)
    back = {
        name: failures.rested(failure, now, loops.rest_seconds(plan.history, name, now))
        for name, failure in back.items()
    }
    return structs.replace(plan, victims=victims, failed={**plan.failed, **back})


def _with_stuck_evictions(rules: Rules, plan: Plan, now: Now) -> Plan:
    """A hard eviction that takes too long counts as failed, where the profile moves on."""
    failed = failures.current(plan.failed, now)
    if rules.profile.failed_victim_moves_on:
        for own in plan.own:
            if name_text(own.pod) not in failed and stuck(own, now):
                failed |= failures.not_gone(own.pod, now, rest_seconds=HARD_WAIT_SECONDS)
    return structs.replace(plan, failed=failed)


def not_gone(own: OwnRequest, now: Now) -> dict[str, failures.Failure]:
    """Its Eviction ended without it.

    A request that has only just become hard may have had the answer to what it was before: that is
    no failure of a hard one, which is not tried again at once.
    """
    soft = not own.hard or (own.tightened and not stuck(own, now))
    rest_seconds = 0.0 if soft else HARD_WAIT_SECONDS
    return failures.not_gone(own.pod, now, soft=soft, rest_seconds=rest_seconds)


def stuck(own: OwnRequest, now: Now) -> bool:
    """A real hard eviction that has been waited for long enough."""
    waited = now.boot_seconds - own.asked_boot_seconds >= HARD_WAIT_SECONDS
    return own.hard and waited and not (own.dry_run or own.finished or own.gone)


def _with_clear_signals(plan: Plan, pressure: Pressure, observed: Moment) -> Plan:
    """Since when no threshold of a signal has been met.

    What was told and tried is forgotten when its condition is over. Unknown is not clear.
    """
    conditions = {condition.type: condition.status for condition in pressure.conditions}
    met = {threshold.signal for threshold in pressure.thresholds if threshold.met}
    since = {
        own.signal: _since(plan.clear_since.get(own.signal), observed)
        for own in plan.own
        if own.signal not in met and _known(conditions, own.signal)
    }
    over = {kind for kind, status in conditions.items() if status == Status.FALSE}
    return structs.replace(
        plan,
        clear_since=since,
        exhausted={
            signal: when for signal, when in plan.exhausted.items() if not _in(signal, over)
        },
        relieved={signal: pod for signal, pod in plan.relieved.items() if not _in(signal, over)},
        reclaimed={
            signal: outcome for signal, outcome in plan.reclaimed.items() if not _in(signal, over)
        },
        fruitless={
            signal: steps for signal, steps in plan.fruitless.items() if not _in(signal, over)
        },
        announced={
            key: crossing
            for key, crossing in plan.announced.items()
            if not _in(key.partition("/")[0], over)
        },
    )


def _since(earlier: Moment | None, observed: Moment) -> Moment:
    """A new boot begins anew: its clock may be hours behind the old one's."""
    return observed if earlier is None or rebooted(earlier, observed) else earlier


def _withdraw(rules: Rules, plan: Plan, observed: Moment, now: Now) -> Step:
    """Nobody has to go any more, or a person holds it. [design, law 7]"""
    effects: list[BusEffect] = []
    for own in plan.own:
        if own.withdrawn or own.resource is None or own.gone:
            continue
        held = plan.hold(own.pod, hard=own.hard, now=now) is not None
        if held or _clear_long_enough(rules, plan, own, observed):
            taken_back = withdrawn(own)
            plan = plan.with_request(taken_back)
            effects.append(publication(taken_back))
    return plan, tuple(effects)


def _clear_long_enough(rules: Rules, plan: Plan, own: OwnRequest, observed: Moment | None) -> bool:
    since = plan.clear_since.get(own.signal)
    if since is None or observed is None:
        return False
    return elapsed_seconds(since, observed) >= rules.transition_seconds


def _known(conditions: dict[str, str], signal: str) -> bool:
    condition = condition_of(signal)
    return condition is not None and conditions.get(condition, Status.UNKNOWN) != Status.UNKNOWN


def _in(signal: str, over: set[str]) -> bool:
    condition: ConditionType | None = condition_of(signal)
    return condition is None or condition in over
