"""What the evictor remembers of workloads that are down because of evictd, and of who is coming
back. Values only; `restore` decides. [design, law 11: by name, since each life has another uid]
"""

from typing import Any, TypeVar

from msgspec import Struct, structs

from evictd_schemas import Order, Stopped

V = TypeVar("V")

NAMES_MAX = 1_000
"""Names remembered; beyond it the oldest are forgotten, and stay down until people start them."""


class Absent(Struct, frozen=True, kw_only=True):
    """One workload that is down because of us.

    `since_boot_seconds`: when it went, or failed last to come back. `failures`: starts that did not
    bring it back. `lifted`: its record was taken back, and what is observed next tells whether it
    runs.
    """

    stopped: Stopped
    since_boot_seconds: float
    failures: int = 0
    lifted: bool = False


class Falls(Struct, frozen=True, kw_only=True):
    """How often one name has fallen lately, and the `uid` that did last.

    `returned`: we brought it back after that.
    """

    uid: str
    count: int
    first_boot_seconds: float
    boot_seconds: float
    returned: bool = False


class Returning(Struct, frozen=True, kw_only=True):
    """The order that stands, for whom, and until when it is waited for."""

    name: str
    order: Order
    deadline_boot_seconds: float


class Returns(Struct, frozen=True, kw_only=True):
    """What is down on one node, by `namespace/name`, and who is coming back.

    No order is placed before `next_boot_seconds`.
    """

    absent: dict[str, Absent] = {}
    falls: dict[str, Falls] = {}
    returning: Returning | None = None
    next_boot_seconds: float = 0.0

    def with_fall(self, name: str, absent: Absent, falls: Falls) -> "Returns":
        """One more that is down; the newest are kept."""
        return structs.replace(
            self,
            absent=_last({**_without(self.absent, name), name: absent}),
            falls=_last({**_without(self.falls, name), name: falls}),
        )

    def changed(self, name: str, **changes: Any) -> "Returns":
        """With other facts about one that is down."""
        changed = structs.replace(self.absent[name], **changes)
        return structs.replace(self, absent={**self.absent, name: changed})

    def without(self, name: str) -> "Returns":
        """It is not down any more."""
        return structs.replace(self, absent=_without(self.absent, name))


def _without(entries: dict[str, V], name: str) -> dict[str, V]:
    return {key: entry for key, entry in entries.items() if key != name}


def _last(entries: dict[str, V]) -> dict[str, V]:
    return dict(list(entries.items())[-NAMES_MAX:])
