"""The words of orders, wishes and returns, for whoever writes and reads them. [contract 3]"""

from enum import StrEnum

DANGLING_IMAGES = "danglingImages"
BUILD_CACHE = "buildCache"
HOST_RECLAIM_STEPS = (DANGLING_IMAGES, BUILD_CACHE)
"""What a plain host gives back for disk and inodes before anybody is stopped: what nothing uses and
anybody can make again."""


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


class Restore(StrEnum):
    """Who brings back what was stopped: evictd itself, or only people."""

    AUTO = "auto"
    NEVER = "never"
    """Its owner does not want it back by itself."""
    MANUAL = "manual"
    """It was to come back and no runtime can start it."""
