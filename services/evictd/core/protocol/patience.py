"""How long an Active responder may go on, and when a target has to be looked at again.

Everything is computed from recorded moments, so that no restart extends a deadline.
[contract 3, Report, Registration, Eviction]
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import structs

from evictd.core.moments import Now, after
from evictd.core.pods import DEFAULT_GRACE_SECONDS
from evictd.core.protocol import facts
from evictd.core.protocol.acceptance import pause_end
from evictd.core.protocol.case import Case, of_kind, running, taking_part, wanted_by
from evictd.core.protocol.chain import active_entry
from evictd.core.protocol.collection import expiries
from evictd.core.protocol.inputs import ControllerRules
from evictd.core.protocol.progression import (
    UPSTREAM_TERMS,
    Limit,
    Terms,
    deferral_end,
    turn_limit,
)
from evictd.core.protocol.relevance import relevant
from evictd.core.protocol.reports import last_sign, merge_time
from evictd.core.protocol.vocabulary import (
    DEFAULT_RESPONDER,
    Interruption,
)
from evictd_schemas import Eviction, ResponderStatus

LOST_SECONDS = 10.0
"""A responder that is lost has this long to come back."""
FINISH_SECONDS = 30.0
"""After the last completion an observation is waited for this long."""
LIST_SECONDS = 10.0
"""While the list is not complete, silence is judged again after this."""
HEARTBEAT_SECONDS = 180.0
"""How often a responder that does not say otherwise is expected to show life."""
STALE_HEARTBEATS = 2
"""Without a sign for so many of them it is called stale, which has no consequence."""


def terms_of(case: Case, name: str) -> Terms:
    """The deadlines of one responder, fixed with the chain."""
    return case.run.terms.get(name, UPSTREAM_TERMS)


def limit_of(
    rules: ControllerRules, case: Case, eviction: Eviction, now: Now, entry: ResponderStatus
) -> Limit:
    """Until when this entry may stay Active. A deadline that was written counts as written."""
    sign = case.run.signs.get(entry.name)
    held_back = sign is not None and sign != entry.heartbeat_time
    if held_back:
        entry = structs.replace(entry, heartbeat_time=sign)
    is_dry = eviction.status.dry_run
    limit = turn_limit(entry, terms_of(case, entry.name), is_dry=is_dry)
    if entry.deadline_time is not None and not held_back:
        limit = structs.replace(limit, time=entry.deadline_time)
    heard_from = _silence_from(rules, now)
    rehearses = is_dry and entry.name == DEFAULT_RESPONDER
    if limit.time is not None and not rehearses:
        limit = structs.replace(limit, time=max(limit.time, heard_from))
    lost = lost_time(rules, case, entry.name, now)
    if lost is None or limit.time is None or lost >= limit.time:
        return limit
    return Limit(time=lost, cause=Interruption.RESPONDER_LOST)


def lost_time(rules: ControllerRules, case: Case, name: str, now: Now) -> datetime | None:
    """When a responder that was lost counts as dead; None where it is not lost.

    [contract 3, Registration]
    """
    told = case.run.lost_times.get(name)
    if told is None or name == DEFAULT_RESPONDER:
        return None
    return max(told + timedelta(seconds=LOST_SECONDS), _silence_from(rules, now))


def is_lost(rules: ControllerRules, case: Case, now: Now, name: str) -> bool:
    """Whether a responder that waits for its turn could not take it."""
    time = lost_time(rules, case, name, now)
    return time is not None and now.utc >= time


def basis(case: Case, eviction: Eviction) -> datetime | None:
    """When the target ended: what the pod tells, else the moment when its end was first seen.

    A mark lies no further ahead of what was seen than by the grace that it contains.
    """
    seen = case.ended.get(eviction.metadata.uid)
    pod = None if facts.gone(eviction.spec.target, case.pod) else case.pod
    known = facts.terminal_time(pod)
    if pod is None or known is None or case.gone:
        return seen
    own = pod.termination_grace_period_seconds
    grace_seconds = max(
        DEFAULT_GRACE_SECONDS if own is None else own, eviction.status.grace_period_seconds or 0
    )
    return known if seen is None else min(known, after(seen, grace_seconds))


def stale_time(case: Case, entry: ResponderStatus) -> datetime | None:
    """When an Active responder counts as stale."""
    last = last_sign(case, entry)
    if last is None:
        return None
    beat = case.run.heartbeat_seconds.get(entry.name, HEARTBEAT_SECONDS)
    return last + timedelta(seconds=STALE_HEARTBEATS * beat)


def next_look(rules: ControllerRules, case: Case, now: Now) -> datetime | None:
    """The earliest moment at which time alone changes something."""
    return min((time for time in _moments(rules, case, now) if time > now.utc), default=None)


def _silence_from(rules: ControllerRules, now: Now) -> datetime:
    if rules.silence_from_boot_seconds is None:
        return now.utc + timedelta(seconds=LIST_SECONDS)
    return now.utc + timedelta(seconds=rules.silence_from_boot_seconds - now.boot_seconds)


def _moments(rules: ControllerRules, case: Case, now: Now) -> Iterator[datetime]:
    for held in wanted_by(case.requests):
        if held.deadline_time is not None:
            yield held.deadline_time
    for is_dry in (False, True):
        current = running(of_kind(case, is_dry=is_dry))
        if current is not None:
            yield from _running_moments(rules, case, current, now)
        elif wanted_by(taking_part(rules, case, is_dry=is_dry)):
            last, may_create = relevant(of_kind(case, is_dry=is_dry))
            if last is not None and may_create:
                yield pause_end(rules.policy, last)
    for orphaned in case.orphaned.moments.values():
        yield orphaned + timedelta(seconds=rules.policy.collection_seconds)
    yield from (time for _, time in expiries(rules.policy, case))


def _running_moments(
    rules: ControllerRules, case: Case, eviction: Eviction, now: Now
) -> Iterator[datetime]:
    if case.run.finish is not None and not case.run.finish.seen:
        yield case.run.finish.time + timedelta(seconds=FINISH_SECONDS)
    entry = active_entry(eviction.status)
    if entry is None:
        return
    held_back = merge_time(rules.policy, case, eviction)
    if held_back is not None:
        yield held_back
    if case.over:
        time = deferral_end(entry, basis(case, eviction))
    else:
        time = limit_of(rules, case, eviction, now, entry).time
    if time is not None:
        yield time
    stale = stale_time(case, entry)
    if stale is not None:
        yield stale
