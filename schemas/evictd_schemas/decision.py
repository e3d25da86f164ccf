"""Decision: what the evictor does about the pressure, with the whole order.

[contract 3, Decision]
"""

from msgspec import Struct

from evictd_schemas.common import Number, PodReference, Timestamp
from evictd_schemas.disk import Loss, ReclaimOutcome


class RankedPod(Struct, frozen=True, kw_only=True, rename="camel"):
    """One row of the order, first to go first. Amounts in the unit of the signal."""

    pod: PodReference
    verdict: str
    why: str
    exceeds_request: bool | None = None
    priority: int = 0
    usage: Number | None = None
    request: Number | None = None
    over_request: Number | None = None


class AbsentPod(Struct, frozen=True, kw_only=True, rename="camel"):
    """One that is down because of evictd, and why it is not started now; empty: it is its turn.

    `next_try_time`: not before; `falls`: how often the name has fallen lately.
    """

    pod: PodReference
    why: str = ""
    next_try_time: Timestamp | None = None
    falls: int = 1


class Fall(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is remembered of a name that has fallen, for whoever decides after a restart.

    `pod` is the life that fell last, `returned`: we have brought it back since, `forgotten`: a
    person wished that this life is never started again.
    """

    pod: PodReference
    count: int
    first_time: Timestamp
    time: Timestamp
    returned: bool = False
    forgotten: bool = False


class PastEvictions(Struct, frozen=True, kw_only=True, rename="camel"):
    """When one name was evicted lately, for whoever decides after a restart.

    `pod` is the life that went last, `times` are the newest twenty, oldest first.
    """

    pod: PodReference
    times: tuple[Timestamp, ...]


class PassedOver(Struct, frozen=True, kw_only=True, rename="camel"):
    """One that is not asked to go for a while, and why, for whoever decides after a restart.

    `pod` is the life that did not go or, with `every_life`, the one that went and was followed by
    another. `soft`: it was a soft eviction. From `last_resort_time` on a hard shortage that finds
    nobody else asks it all the same.
    """

    pod: PodReference
    why: str
    until: Timestamp
    last_resort_time: Timestamp
    every_life: bool = False
    soft: bool = False


class WishAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """What has become of one wish. `wish` is its topic's end, `{domain}/{key}/{name}`.

    `state`: `InForce`, `Waiting`, `Done`, `Refused` or `Expired`.
    """

    wish: str
    verb: str
    state: str
    message: str = ""
    target: str | None = None
    until: Timestamp | None = None


class Decision(Struct, frozen=True, kw_only=True, rename="camel"):
    """One pass of the evictor. `judged` holds the observation times this pass has used up.

    `absent`, `falls`, `evictions`, `passed_over` and `wishes` are the newest hundred of each.
    `losses`: what each file system loses, where that decides. `reclaims`: what was or would be
    given back, of each signal that is short. `relieved`: disk signal to the one workload that was
    stopped for this crossing of its line.
    """

    node: str
    time: Timestamp
    sequence: int
    mode: str
    action: str
    reason: str
    judged: dict[str, Timestamp] = {}
    signal: str | None = None
    hard: bool | None = None
    ranking: tuple[RankedPod, ...] = ()
    ranking_total: int = 0
    eviction_requests: tuple[str, ...] = ()
    order: str | None = None
    absent: tuple[AbsentPod, ...] = ()
    falls: tuple[Fall, ...] = ()
    evictions: tuple[PastEvictions, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    wishes: tuple[WishAnswer, ...] = ()
    losses: tuple[Loss, ...] = ()
    reclaims: tuple[ReclaimOutcome, ...] = ()
    relieved: dict[str, PodReference] = {}
    epoch: int = 0
    rev: int = 0
