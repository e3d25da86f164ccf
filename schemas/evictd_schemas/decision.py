"""Decision: what the evictor does about the pressure, with the whole order.

[contract 3, Decision]
"""

from msgspec import Struct

from evictd_schemas.common import Number, PodReference, Timestamp


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


class Decision(Struct, frozen=True, kw_only=True, rename="camel"):
    """One pass of the evictor. `judged` holds the observation times this pass has used up."""

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
    epoch: int = 0
    rev: int = 0
