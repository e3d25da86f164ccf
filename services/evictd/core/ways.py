"""What owners write about a workload, in labels and in the configuration alike.

[design, profile host]
"""

from collections.abc import Iterable
from enum import StrEnum

from evictd.core.orders import comes_back
from evictd_schemas import Reason

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


PRIORITIES = {"low": -1000, "normal": 0, "high": 1000}
"""Words for people who do not want to think of numbers; greater stays longer."""


def restartable(reason: Reason | None) -> bool:
    """Whether an eviction for this reason may be a restart.

    Only where that gives something back, and unless the request says that it has not helped.
    """
    if reason is None or reason.annotations.get(ACTION) == Way.STOP:
        return False
    return comes_back(reason.signal)


def priority_number(written: int | str) -> int:
    """The number that is meant. Raises `ValueError` for what is neither one nor a word for one."""
    if isinstance(written, str) and written.lower() in PRIORITIES:
        return PRIORITIES[written.lower()]
    return int(written)


def names_in(namespace: str, written: Iterable[str]) -> tuple[str, ...]:
    """`namespace/name` of each; a name alone is one of the same namespace."""
    words = (word.strip() for word in written)
    return tuple(word if "/" in word else f"{namespace}/{word}" for word in words if word)
