"""One step of the chain: states and signs in one table; documents draw their diagram from it.

[eviction-request-api 5.4.1, 5.4.3]
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import takewhile
from typing import TypeAlias

from msgspec import Struct, structs

from evictd.core.moments import after
from evictd.core.protocol.chain import Chain, active, entry_of
from evictd.core.protocol.vocabulary import (
    DEFAULT_RESPONDER,
    FINAL_STATES,
    Interruption,
    State,
)
from evictd_schemas import ResponderStatus, TargetResponder

SILENCE_SECONDS = 1200.0
"""Without a sign of life for so long a responder is interrupted, where it names no deadline."""
REPORT_GRACE_SECONDS = 5.0
"""How long an ended target waits for the report of the responder that ended it."""
DRY_SECONDS = 30.0
"""A dry Eviction ends at latest so long after its default entry became Active."""


class Target(StrEnum):
    """Facts about the target exclude each other, in this order."""

    ENDED = "ended"  # gone, another uid, or terminal
    UNWANTED = "unwanted"  # no live request with intent Eviction
    WANTED = "wanted"


class Sign(StrEnum):
    """What the Active responder lets us see; completion is looked for before the deadline."""

    COMPLETED = "completed"
    SILENT = "silent"  # the deadline has passed; equal counts as passed
    WORKING = "working"


NEXT: Mapping[tuple[Target, Sign], State] = {
    (Target.ENDED, Sign.COMPLETED): State.COMPLETED,
    (Target.ENDED, Sign.SILENT): State.INTERRUPTED,
    (Target.ENDED, Sign.WORKING): State.ACTIVE,
    (Target.UNWANTED, Sign.COMPLETED): State.CANCELED,
    (Target.UNWANTED, Sign.SILENT): State.CANCELED,
    (Target.UNWANTED, Sign.WORKING): State.CANCELED,
    (Target.WANTED, Sign.COMPLETED): State.COMPLETED,
    (Target.WANTED, Sign.SILENT): State.INTERRUPTED,
    (Target.WANTED, Sign.WORKING): State.ACTIVE,
}


class Terms(Struct, frozen=True, kw_only=True):
    """How long one responder may be silent, in seconds, before and after its first heartbeat."""

    start_seconds: float = SILENCE_SECONDS
    heartbeat_seconds: float = SILENCE_SECONDS


UPSTREAM_TERMS = Terms()


class Limit(Struct, frozen=True, kw_only=True):
    """Until when the Active responder may go on, and what it is interrupted for then.

    `time` None: it has not begun, so that there is nothing to count from.
    """

    time: datetime | None
    cause: Interruption = Interruption.HEARTBEAT_DEADLINE


LimitOf: TypeAlias = Callable[[ResponderStatus], Limit]


class Step(Struct, frozen=True, kw_only=True):
    """The chain after a step. `done`: nothing further can run. `look_time`: when to look again.

    `interruption`: why the Active one was interrupted, where it was for its silence. `passed_over`:
    who was interrupted without having had a turn.
    """

    chain: Chain
    done: bool = False
    look_time: datetime | None = None
    interruption: Interruption | None = None
    passed_over: frozenset[str] = frozenset()


def silence_limit(entry: ResponderStatus, terms: Terms = UPSTREAM_TERMS) -> Limit:
    """How long it may stay silent, counted from its last sign of life, which is first its start."""
    if entry.heartbeat_time is not None:
        return Limit(time=entry.heartbeat_time + timedelta(seconds=terms.heartbeat_seconds))
    if entry.start_time is None:
        return Limit(time=None, cause=Interruption.START_DEADLINE)
    time = entry.start_time + timedelta(seconds=terms.start_seconds)
    return Limit(time=time, cause=Interruption.START_DEADLINE)


def turn_limit(entry: ResponderStatus, terms: Terms, *, is_dry: bool) -> Limit:
    """`silence_limit`; in a dry run the default responder's turn ends soon, whatever it says.

    [contract 3, Eviction]
    """
    limit = silence_limit(entry, terms)
    if not is_dry or entry.name != DEFAULT_RESPONDER:
        return limit
    if limit.time is None or entry.start_time is None:
        return limit
    latest = entry.start_time + timedelta(seconds=DRY_SECONDS)
    return structs.replace(limit, time=min(limit.time, latest))


def deferral_end(entry: ResponderStatus | None, basis: datetime | None) -> datetime | None:
    """Until when an ended target waits for a report; None where nothing is to be waited for."""
    if entry is None or entry.completion_time is not None or basis is None:
        return None
    return after(basis, REPORT_GRACE_SECONDS)


def progress(
    chain: Chain,
    entries: Sequence[ResponderStatus],
    target: Target,
    now: datetime,
    *,
    basis: datetime | None = None,
    limit_of: LimitOf = silence_limit,
    takes_part: Callable[[TargetResponder], bool] = lambda _: True,
    is_lost: Callable[[str], bool] = lambda _: False,
    hands_over: bool = True,
) -> Step:
    """One step of a sorted chain: a freshly activated responder is judged only in the next one.

    `basis`: when the target ended. `takes_part`: who may be activated at all, besides the one that
    is. `is_lost`: who could not act and so is passed over, in the same step. `hands_over`: whether
    a finished responder is followed by the next.
    """
    turns = [item for item in chain if item.state == State.ACTIVE or takes_part(item)]
    if not turns or turns[-1].state in FINAL_STATES:
        return Step(chain=chain, done=True)
    current = active(chain)
    if current is None:
        waiting = turns if target is Target.WANTED else ()
        return _handed_over(chain, waiting, is_lost, now, limit_of)
    entry = entry_of(entries, current.name) or ResponderStatus(name=current.name)
    sign, limit = _sign(entry, target, now, basis, limit_of)
    state = NEXT[target, sign]
    if state is State.ACTIVE:
        return Step(chain=chain, look_time=limit.time or _fresh(entry.name, now, limit_of))
    left = _with_state(chain, current.name, state)
    interruption = limit.cause if target is Target.WANTED and sign is Sign.SILENT else None
    followed = target is Target.WANTED and hands_over
    waiting = turns[turns.index(current) + 1 :] if followed else ()
    step = _handed_over(left, waiting, is_lost, now, limit_of)
    return structs.replace(step, interruption=interruption)


def forced(chain: Chain, entries: Sequence[ResponderStatus]) -> Step | None:
    """Every entry before the last becomes Interrupted, and the default one Active, in one step.

    None once it is its turn or it has ended. [contract 3, Eviction]
    """
    if not chain or chain[-1].state != State.INACTIVE:
        return None
    *before, default = chain
    ended = [_cut_short(item, entry_of(entries, item.name)) for item in before]
    started = structs.replace(default, state=State.ACTIVE)
    return Step(chain=(*ended, started), interruption=Interruption.HARD)


def _cut_short(responder: TargetResponder, entry: ResponderStatus | None) -> TargetResponder:
    if responder.state in FINAL_STATES:
        return responder
    reported = entry is not None and entry.completion_time is not None
    state = State.COMPLETED if reported else State.INTERRUPTED
    return structs.replace(responder, state=state)


def _sign(
    entry: ResponderStatus,
    target: Target,
    now: datetime,
    basis: datetime | None,
    limit_of: LimitOf,
) -> tuple[Sign, Limit]:
    if entry.completion_time is not None:
        return Sign.COMPLETED, Limit(time=None)
    if target is Target.ENDED:
        limit = Limit(time=deferral_end(entry, basis) or now)
    else:
        limit = limit_of(entry)
    silent = limit.time is not None and now >= limit.time
    return (Sign.SILENT if silent else Sign.WORKING), limit


def _handed_over(
    chain: Chain,
    waiting: Sequence[TargetResponder],
    is_lost: Callable[[str], bool],
    now: datetime,
    limit_of: LimitOf,
) -> Step:
    """The first that waits and can act is Active; who is lost before it is Interrupted."""
    inactive = [item.name for item in waiting if item.state == State.INACTIVE]
    passed_over = tuple(takewhile(is_lost, inactive))
    for name in passed_over:
        chain = _with_state(chain, name, State.INTERRUPTED)
    step = Step(chain=chain, passed_over=frozenset(passed_over))
    chosen = next(iter(inactive[len(passed_over) :]), None)
    if chosen is None:
        return step
    started = _with_state(chain, chosen, State.ACTIVE)
    return structs.replace(step, chain=started, look_time=_fresh(chosen, now, limit_of))


def _fresh(name: str, now: datetime, limit_of: LimitOf) -> datetime | None:
    """When one that begins now would have been silent for too long."""
    return limit_of(ResponderStatus(name=name, start_time=now)).time


def _with_state(chain: Chain, name: str, state: State) -> Chain:
    return tuple(
        structs.replace(item, state=state) if item.name == name else item for item in chain
    )
