"""What a Decision tells of file systems: who writes how much, and what was or would be given back.

[contract 3, Decision; Order]
"""

from msgspec import Struct

from evictd_schemas.common import Number, PodReference, Timestamp
from evictd_schemas.orders import StepOutcome


class Growth(Struct, frozen=True, kw_only=True, rename="camel"):
    """How much one pod wrote into its writable layer and its logs between two counts of them.

    In the unit of the signal, bytes or inodes. `logs`: the part of `grown` that is in its logs.
    `lost`: what the signal lost meanwhile; `left`: what was left of it at the second count.
    """

    pod: PodReference
    grown: int
    seconds: Number
    per_second: Number
    lost: Number
    left: Number
    logs: int = 0


class Loss(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a file system lost between two counts, and who of its writers grew, the fastest first.

    `signal`: the first of those that tell of it. `unattributed`: what was written outside of every
    layer and log that is known. The fastest hundred are published.
    """

    signal: str
    lost: Number
    seconds: Number
    unattributed: Number
    growing: tuple[Growth, ...] = ()


class ReclaimOutcome(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the last order has given back for a signal that is short, or would have (`dry_run`).

    `error`: why nothing is known of that.
    """

    signal: str
    time: Timestamp
    dry_run: bool = False
    steps: tuple[StepOutcome, ...] = ()
    error: str | None = None
