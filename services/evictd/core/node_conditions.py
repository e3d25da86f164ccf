"""The conditions of a node, read from a Pressure: which hold, and whether anything is known.

It judges nothing; the evaluation does. [contract 3, Pressure]
"""

from evictd.core.protocol.vocabulary import Status
from evictd_schemas import Pressure


def of_status(pressure: Pressure, status: Status) -> tuple[str, ...]:
    """The types of the conditions that are so, in their order."""
    return tuple(item.type for item in pressure.conditions if item.status == status)


def holding(pressure: Pressure) -> tuple[str, ...]:
    """The types of those that hold."""
    return of_status(pressure, Status.TRUE)


def unknown(pressure: Pressure) -> bool:
    """Whether nothing is known of any."""
    return all(item.status == Status.UNKNOWN for item in pressure.conditions)
