"""The ways in which a workload is taken off, as its owner wants it. [design, profile host]"""

from enum import StrEnum

ACTION = "action"
"""The annotation of a request that says how this once, whatever its owner wants."""


class Way(StrEnum):
    """What is done when its turn has come."""

    STOP = "stop"
    """It is stopped, and started again when there is room."""
    RESTART = "restart"
    """It is stopped and started again at once: what it had leaked is free."""
    WEBHOOK = "webhook"
    """The configured webhooks take it off; evictd stops it only when the shortage is hard."""
