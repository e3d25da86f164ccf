"""What all live requests of a target ask for together: how strict, by when, how gently, and why.

[contract 3, EvictionRequest, Eviction]
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, structs

from evictd.core.protocol.case import Held
from evictd.core.protocol.vocabulary import RequestType
from evictd_schemas import EvictionStatus, Forced, Reason


class Wish(Struct, frozen=True, kw_only=True):
    """The strictest live request counts. `by` made it Hard; None while it is not."""

    type: RequestType = RequestType.SOFT
    by: str | None = None
    deadline_time: datetime | None = None
    grace_period_seconds: int | None = None
    reason: Reason | None = None

    @property
    def hard(self) -> bool:
        """No custom responder is waited for."""
        return self.by is not None


def wish_of(wanting: Sequence[Held], now: datetime) -> Wish:
    """The wish of the live requests, in the order in which they are given."""
    if not wanting:
        return Wish()
    strict = sorted(wanting, key=lambda held: -_type(held, now).strictness)
    strictest = _type(strict[0], now)
    graces = [held.request.spec.grace_period_seconds for held in wanting]
    return Wish(
        type=strictest,
        by=strict[0].request.spec.requester if strictest is RequestType.HARD else None,
        deadline_time=min(
            (held.deadline_time for held in wanting if held.deadline_time is not None),
            default=None,
        ),
        grace_period_seconds=min((grace for grace in graces if grace is not None), default=None),
        reason=next(
            (held.request.spec.reason for held in strict if held.request.spec.reason is not None),
            None,
        ),
    )


def told(status: EvictionStatus, wish: Wish, now: datetime) -> EvictionStatus:
    """The status with the wish written into it; who forced it first stays written."""
    forced = status.forced
    if forced is None and wish.by is not None:
        forced = Forced(by=wish.by, time=now)
    return structs.replace(
        status,
        type=str(wish.type),
        deadline_time=wish.deadline_time,
        grace_period_seconds=wish.grace_period_seconds,
        reason=wish.reason or status.reason,
        forced=forced,
    )


def _type(held: Held, now: datetime) -> RequestType:
    """At its deadline a request counts as Hard."""
    if held.deadline_time is not None and now >= held.deadline_time:
        return RequestType.HARD
    return RequestType(held.request.spec.type)
