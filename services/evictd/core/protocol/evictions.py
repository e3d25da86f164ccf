"""One sync of one Eviction: requesters, chain, one step of it, and what that concludes.

[eviction-request-api 5.4] [contract 3, Eviction]
"""

from datetime import timedelta
from functools import partial

from msgspec import Struct, structs

from evictd.core.moments import Now
from evictd.core.protocol import chain, conditions, facts, validation
from evictd.core.protocol.acceptance import real_due
from evictd.core.protocol.case import (
    Case,
    Finish,
    Held,
    eviction_of,
    of_kind,
    stamp,
    taking_part,
    wanted_by,
    with_eviction,
)
from evictd.core.protocol.conditions import Verdict, conclude, eviction_finished, failure
from evictd.core.protocol.inputs import ControllerRules
from evictd.core.protocol.links import with_chain
from evictd.core.protocol.patience import (
    FINISH_SECONDS,
    basis,
    is_lost,
    limit_of,
    stale_time,
    terms_of,
)
from evictd.core.protocol.progression import Step, Target, forced, progress, turn_limit
from evictd.core.protocol.relevance import relevant
from evictd.core.protocol.reports import last_sign, merged
from evictd.core.protocol.requesters import merge
from evictd.core.protocol.vocabulary import (
    DEFAULT_RESPONDER,
    FINAL_STATES,
    Cause,
    Interruption,
    State,
)
from evictd.core.protocol.wishes import Wish, told, wish_of
from evictd_schemas import Eviction, EvictionStatus, ResponderStatus, TargetResponder

SUPERSEDED = "a real request ends the dry run"
ENDED_BY_ITSELF = "the target ended during the dry run"


class View(Struct, frozen=True, kw_only=True):
    """What one sync of a running Eviction goes by.

    `kept`: nobody wants it any more, but the Active responder is past its point of no return.
    """

    wish: Wish
    target: Target
    kept: bool = False
    superseded: bool = False


class Outcome(Struct, frozen=True, kw_only=True):
    """The step that was taken, what it was taken by, and a verdict that stands beforehand."""

    view: View
    step: Step
    verdict: Verdict | None = None


def sync_eviction(rules: ControllerRules, case: Case, eviction: Eviction, now: Now) -> Case:
    """The case after one sync of an Eviction; one that has ended stays as it is."""
    if eviction_finished(eviction.status.conditions):
        return case
    case = merged(rules.policy, case, eviction, now)
    eviction = eviction_of(case, eviction.metadata.uid)
    text = validation.invalid_eviction(
        rules.policy, eviction.spec.target, case.pod, duplicate=_duplicate(case, eviction)
    )
    if text is not None:
        return _failed(rules, case, eviction, text, now)
    part = taking_part(rules, case, is_dry=eviction.status.dry_run)
    wish = wish_of(wanted_by(part), now.utc)
    eviction = _named(rules, eviction, part, wish, now)
    case, eviction = with_chain(rules, case, eviction, now)
    wanted = bool(wanted_by(part))
    if wanted and not eviction.status.target_responders and not case.over:
        return case  # never observed: whose turn it would be is not known yet
    view = _view(rules, case, eviction, wish, now, wanted=wanted)
    case = _with_end(rules, case, eviction, now)
    step = _forced(eviction.status, view) or _progressed(rules, case, eviction, view, now)
    return _written(rules, case, eviction, Outcome(view=view, step=step), now)


def _failed(rules: ControllerRules, case: Case, eviction: Eviction, text: str, now: Now) -> Case:
    """It cannot run, or not any more; whoever is at work is canceled in the same write."""
    status = eviction.status
    states = chain.ordered(status.target_responders)
    step = progress(states, status.responders, Target.UNWANTED, now.utc)
    outcome = Outcome(
        view=View(wish=Wish(), target=Target.UNWANTED),
        step=step,
        verdict=failure(Cause.INVALID, text),
    )
    return _written(rules, case, eviction, outcome, now)


def _duplicate(case: Case, eviction: Eviction) -> bool:
    other, may_create = relevant(of_kind(case, is_dry=eviction.status.dry_run))
    return not may_create and other is not None and _running_other(other, eviction)


def _running_other(other: Eviction, eviction: Eviction) -> bool:
    same = other.metadata.uid == eviction.metadata.uid
    return not same and not eviction_finished(other.status.conditions)


def _named(
    rules: ControllerRules, eviction: Eviction, part: tuple[Held, ...], wish: Wish, now: Now
) -> Eviction:
    """Requesters, and what they ask for together; once nobody does, the last wish stays written."""
    requesters, _ = merge(eviction.status.requesters, [held.request for held in part])
    status = structs.replace(eviction.status, requesters=requesters, node=rules.node)
    if wanted_by(part):
        status = told(status, wish, stamp(now))
    return structs.replace(eviction, status=status)


def _view(
    rules: ControllerRules, case: Case, eviction: Eviction, wish: Wish, now: Now, *, wanted: bool
) -> View:
    if case.over:
        return View(wish=wish, target=Target.ENDED)
    if eviction.status.dry_run and real_due(rules, case, now):
        return View(wish=wish, target=Target.UNWANTED, superseded=True)
    if wanted:
        return View(wish=wish, target=Target.WANTED)
    if chain.past_return(eviction.status):
        return View(wish=wish, target=Target.WANTED, kept=True)
    return View(wish=wish, target=Target.UNWANTED)


def _with_end(rules: ControllerRules, case: Case, eviction: Eviction, now: Now) -> Case:
    """Remember when the end was first seen, where the pod itself does not tell."""
    remembered = case.gone or (rules.policy.remembers_terminal and facts.terminal(case.pod))
    if not remembered or case.ended.get(eviction.metadata.uid) is not None:
        return case
    return structs.replace(case, ended=case.ended.put(eviction.metadata.uid, stamp(now)))


def _forced(status: EvictionStatus, view: View) -> Step | None:
    """Hard: nobody before the default responder is waited for; one write."""
    if not view.wish.hard or view.target is not Target.WANTED or view.kept:
        return None
    return forced(chain.ordered(status.target_responders), status.responders)


def _progressed(
    rules: ControllerRules, case: Case, eviction: Eviction, view: View, now: Now
) -> Step:
    status = eviction.status
    return progress(
        chain.ordered(status.target_responders),
        status.responders,
        view.target,
        now.utc,
        basis=basis(case, eviction),
        limit_of=partial(limit_of, rules, case, eviction, now),
        takes_part=lambda item: not status.dry_run or item.name in case.run.dry_able,
        is_lost=partial(is_lost, rules, case, now),
        hands_over=not view.kept,
    )


def _written(
    rules: ControllerRules, case: Case, eviction: Eviction, outcome: Outcome, now: Now
) -> Case:
    """The one write of a sync: states, entries, and the conditions that follow."""
    status, states = eviction.status, outcome.step.chain
    fresh = {item.name: _entry(case, eviction, item, now) for item in states}
    for item in states:
        if _newly(item, status, State.INTERRUPTED):
            passed_over = item.name in outcome.step.passed_over
            cause = Interruption.RESPONDER_LOST if passed_over else outcome.step.interruption
            fresh[item.name] = structs.replace(fresh[item.name], interrupted_reason=cause)
    case = _remembered(case, eviction, outcome, now)
    status = structs.replace(status, target_responders=states, responders=tuple(fresh.values()))
    eviction = structs.replace(eviction, status=status)
    verdict = outcome.verdict or _verdict(rules, case, eviction, outcome, now)
    return with_eviction(case, _concluded(eviction, verdict, now))


def _newly(item: TargetResponder, status: EvictionStatus, state: State) -> bool:
    """Whether this responder comes into that state by this write."""
    return item.state == state and item not in status.target_responders


def _entry(case: Case, eviction: Eviction, item: TargetResponder, now: Now) -> ResponderStatus:
    """Its entry after the write: started and with a deadline exactly while it is Active."""
    entry = chain.entry_of(eviction.status.responders, item.name)
    entry = entry or ResponderStatus(name=item.name)
    if item.state != State.ACTIVE:
        return structs.replace(entry, deadline_time=None)
    if entry.start_time is None:
        entry = structs.replace(entry, start_time=stamp(now))
    if entry.deadline_time is None:
        terms, is_dry = terms_of(case, item.name), eviction.status.dry_run
        limit = turn_limit(entry, terms, is_dry=is_dry)
        entry = structs.replace(entry, deadline_time=limit.time)
    return entry


def _remembered(case: Case, eviction: Eviction, outcome: Outcome, now: Now) -> Case:
    """When a responder lost its turn, and when the last one completed."""
    former = chain.active(eviction.status.target_responders)
    states = outcome.step.chain
    left = next((item for item in states if former and item.name == former.name), None)
    if left is None or left.state not in FINAL_STATES:
        return case
    run = case.run
    run = structs.replace(run, left_times={**run.left_times, left.name: stamp(now)})
    last = left.state == State.COMPLETED and chain.active(states) is None
    if last and outcome.view.target is Target.WANTED:
        finish = Finish(time=stamp(now), boot_seconds=now.boot_seconds)
        run = structs.replace(run, finish=finish)
    return structs.replace(case, run=run)


def _verdict(
    rules: ControllerRules, case: Case, eviction: Eviction, outcome: Outcome, now: Now
) -> Verdict:
    view, waiting = outcome.view, chain.active(outcome.step.chain) is not None
    if eviction.status.dry_run:
        return _dry_verdict(rules, eviction, view, waiting=waiting)
    ended = view.target is Target.ENDED
    awaited = _awaited(rules, case, now) and not ended
    return conditions.verdict_of(
        gone=ended and case.gone,
        terminal=ended and not case.gone,
        canceled=view.target is Target.UNWANTED and not awaited,
        done=outcome.step.done and not awaited,
        waiting=waiting,
    )


def _awaited(rules: ControllerRules, case: Case, now: Now) -> bool:
    """Whether an observation may still show that the last responder was successful."""
    finish = case.run.finish
    if not rules.policy.waits_for_the_end or finish is None or finish.seen:
        return False
    return now.utc < finish.time + timedelta(seconds=FINISH_SECONDS)


def _dry_verdict(
    rules: ControllerRules, eviction: Eviction, view: View, *, waiting: bool
) -> Verdict:
    """A dry Eviction never succeeds: it ends with what would have happened."""
    default = next(
        (item for item in eviction.status.target_responders if item.name == DEFAULT_RESPONDER),
        None,
    )
    if view.superseded:
        return failure(Cause.DRY_RUN, SUPERSEDED)
    if view.target is Target.UNWANTED:
        return conditions.CANCELED
    if view.target is Target.ENDED and not waiting:
        return failure(Cause.DRY_RUN, ENDED_BY_ITSELF)
    if default is None or default.state not in FINAL_STATES:
        return conditions.PENDING
    entry = chain.entry_of(eviction.status.responders, DEFAULT_RESPONDER)
    told_by = entry.message if entry is not None else ""
    return failure(Cause.DRY_RUN, told_by or f"the dry run is over; mode is {rules.mode}")


def _concluded(eviction: Eviction, verdict: Verdict, now: Now) -> Eviction:
    merged, _ = conclude(eviction.status.conditions, verdict, stamp(now))
    status = structs.replace(
        eviction.status, conditions=merged, observed_generation=eviction.metadata.generation
    )
    return structs.replace(eviction, status=status)


def with_staleness(rules: ControllerRules, case: Case, eviction: Eviction, now: Now) -> Case:
    """Remember after which sign of life the Active responder has become stale."""
    entry = chain.active_entry(eviction.status)
    if entry is None or case.over or rules.silence_from_boot_seconds is None:
        return case
    time, last = stale_time(case, entry), last_sign(case, entry)
    if time is None or last is None or now.utc < time or case.run.stale == (entry.name, last):
        return case
    return structs.replace(case, run=structs.replace(case.run, stale=(entry.name, last)))
