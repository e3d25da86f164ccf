"""The words of orders and wishes, for those who place them and those who answer. [contract 3]"""

from enum import StrEnum


class OrderKind(StrEnum):
    """What an order asks for."""

    RECLAIM = "Reclaim"
    RESTORE = "Restore"


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
