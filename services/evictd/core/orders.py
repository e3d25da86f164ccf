"""The words of orders, wishes and returns, for whoever writes and reads them. [contract 3]"""

from enum import StrEnum

from evictd.core.signals.names import Resource, resource_of

DANGLING_IMAGES = "danglingImages"
BUILD_CACHE = "buildCache"
UNUSED_IMAGES = "unusedImages"
DEAD_CONTAINERS = "deadContainers"
TRUNCATE_LOGS = "truncateLogs"
HOST_RECLAIM_STEPS = (DANGLING_IMAGES, BUILD_CACHE)
"""What a plain host gives back for disk and inodes before anybody is stopped: what nothing uses and
anybody can make again."""
CHOSEN_RECLAIM_STEPS = (UNUSED_IMAGES, DEAD_CONTAINERS, TRUNCATE_LOGS)
"""What it gives back after these where its owner has switched that on, in this order: what can be
had again, then what nobody has missed for long, then what is lost."""


class OrderKind(StrEnum):
    """What an order asks for."""

    RECLAIM = "Reclaim"
    RESTORE = "Restore"
    FORGET = "Forget"
    """Let go of the record of what is down: it is never started again."""


class OrderState(StrEnum):
    """How far an order is; all but the first are its end."""

    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"
    REFUSED = "Refused"


class Verb(StrEnum):
    """What a person wishes."""

    HOLD = "Hold"
    RESTORE = "Restore"
    FORGET = "Forget"


RELIEVED = frozenset({Resource.MEMORY, Resource.PIDS})
"""A stop for these gives back what it took. One for disk only ended a growth: starting the writer
again would go on where it ended."""


def comes_back(signal: str | None) -> bool:
    """Whether what was stopped for this signal may be started again by itself."""
    return resource_of(signal or "") in RELIEVED


class Restore(StrEnum):
    """Who brings back what was stopped: evictd itself, or only people."""

    AUTO = "auto"
    NEVER = "never"
    """Its owner does not want it back by itself."""
    MANUAL = "manual"
    """It was to come back and no runtime can start it, or its start would not leave things better.
    """
