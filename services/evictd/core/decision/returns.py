"""What the evictor remembers of workloads that are down because of evictd, and of who is coming
back. Values only; `restore` decides. [design, law 11: by name, since each life has another uid]
"""

from typing import Any, TypeVar

from msgspec import Struct, structs

from evictd_schemas import Fall, Order, PodReference, Stopped

V = TypeVar("V")

NAMES_MAX = 1_000
"""Names remembered; beyond it the oldest are forgotten, and stay down until people start them."""


class Absent(Struct, frozen=True, kw_only=True):
    """One workload that is down because of us.

    `since_boot_seconds`: when it went. `failures`: starts that did not bring it back, the last one
    at `failed_boot_seconds`. `not_before_boot_seconds`: the responder's own word on when to try
    again. `lifted`: its record was taken back, and what is observed next tells whether it runs.
    `why`: what kept it down at the last look; empty: nothing.
    """

    stopped: Stopped
    since_boot_seconds: float
    failures: int = 0
    failed_boot_seconds: float | None = None
    not_before_boot_seconds: float = 0.0
    lifted: bool = False
    why: str = ""


class Falls(Struct, frozen=True, kw_only=True):
    """How one name has fallen lately, as a Decision tells it, and when on the worker's own clock.

    `first_boot_seconds` and `boot_seconds`: when the first and the last fall were seen; what is
    told are the times in the records.
    """

    told: Fall
    first_boot_seconds: float
    boot_seconds: float

    def changed(self, **changes: Any) -> "Falls":
        """With other facts about the last one."""
        return structs.replace(self, told=structs.replace(self.told, **changes))


class Returning(Struct, frozen=True, kw_only=True):
    """The order that stands, for whom, and until when it is waited for."""

    name: str
    order: Order
    deadline_boot_seconds: float


class Started(Struct, frozen=True, kw_only=True):
    """The one that was started last on our order, and when."""

    name: str
    boot_seconds: float


class Returns(Struct, frozen=True, kw_only=True):
    """What is down on one node, by `namespace/name`, and who is coming back.

    `last`: whose health the next one waits for. No start is ordered before `next_boot_seconds`.
    `forgetting`: whose record is being taken away. `swept`: what an earlier life of ours may have
    ordered has been taken back.
    """

    absent: dict[str, Absent] = {}
    falls: dict[str, Falls] = {}
    returning: Returning | None = None
    last: Started | None = None
    next_boot_seconds: float = 0.0
    forgetting: str | None = None
    swept: bool = False

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

    def is_forgotten(self, name: str) -> bool:
        """Whether this very fall of it is one that nobody wants undone."""
        absent, falls = self.absent.get(name), self.falls.get(name)
        return (
            absent is not None
            and falls is not None
            and falls.told.forgotten
            and falls.told.pod.uid == absent.stopped.uid
        )


def life(name: str, uid: str) -> PodReference:
    """One life of `namespace/name`."""
    namespace, _, own_name = name.partition("/")
    return PodReference(namespace=namespace, name=own_name, uid=uid)


def _without(entries: dict[str, V], name: str) -> dict[str, V]:
    return {key: entry for key, entry in entries.items() if key != name}


def _last(entries: dict[str, V]) -> dict[str, V]:
    return dict(list(entries.items())[-NAMES_MAX:])
