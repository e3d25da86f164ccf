"""Order, its status, Stopped and Wish: what is done besides evicting. [contract 3, Order ...]"""

from typing import Annotated

from msgspec import Struct

from evictd_schemas.common import Moment, Number, PodReference, Timestamp, words


class Order(Struct, frozen=True, kw_only=True, rename="camel"):
    """The evictor asks the responder to reclaim space, to bring a workload back or forget it."""

    uid: str
    kind: Annotated[str, words("Reclaim", "Restore", "Forget")]
    signal: str | None = None
    steps: tuple[str, ...] = ()
    until_available: Number | None = None
    target: PodReference | None = None
    dry_run: bool = False
    deadline_seconds: Number | None = None
    epoch: int = 0
    rev: int = 0


class StepOutcome(Struct, frozen=True, kw_only=True, rename="camel"):
    """What one reclaim step gave back, as the file system says; `error` says why it could not.

    `listed_bytes`: the runtime's own figure of what was taken, or would be in a dry run. `taken`:
    names of that, the first 20 of `taken_total`.
    """

    step: str
    freed_bytes: int = 0
    freed_inodes: int = 0
    listed_bytes: int = 0
    taken: tuple[str, ...] = ()
    taken_total: int = 0
    error: str | None = None


class OrderStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """How far the responder is. After `finished` only a later observation counts."""

    order_uid: str
    state: Annotated[str, words("Running", "Finished", "Failed", "Refused")]
    steps: tuple[StepOutcome, ...] = ()
    finished: Moment | None = None
    message: str = ""
    epoch: int = 0
    rev: int = 0


class Stopped(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is down because of evictd, keyed by name: a restarted workload has another uid.

    `last_usage` and `last_processes`: what there has to be room for when it comes back, in bytes of
    memory (its working set, and what was swapped out) and in process ids. `group`: its own, which
    comes back when there is room for all of it. `labels`: its own, by which a disruption budget
    still expects it.
    """

    uid: str
    time: Timestamp
    runtime_id: str = ""
    signal: str | None = None
    eviction: str | None = None
    restore: str = "auto"
    last_usage: Number | None = None
    last_processes: int | None = None
    depends_on: tuple[str, ...] = ()
    group: str | None = None
    labels: dict[str, str] = {}
    attempts: int = 0
    next_try_time: Timestamp | None = None
    epoch: int = 0
    rev: int = 0


class Wish(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a person asks for: hold evictions, restore or forget a stopped workload."""

    verb: Annotated[str, words("Hold", "Restore", "Forget")]
    target: str | None = None
    until: Timestamp | None = None
    include_hard: bool = False
