"""Whatever runs workloads, behind one Protocol: containers of an engine, cgroups of a machine.

Only the collector (reading) and the built-in responder (stopping) use it. It knows nothing of the
bus, of pressure or of Evictions.
"""

from evictd.runtimes.interface import (
    Bereft,
    Change,
    ChangeKind,
    GoOn,
    Keeper,
    Lender,
    Listing,
    Meter,
    Reclaimer,
    Runtime,
    Whereabouts,
    Workload,
    life_uid,
)

__all__ = [
    "Bereft",
    "Change",
    "ChangeKind",
    "GoOn",
    "Listing",
    "Keeper",
    "Lender",
    "Meter",
    "Reclaimer",
    "Runtime",
    "Whereabouts",
    "Workload",
    "life_uid",
]
