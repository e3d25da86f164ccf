"""What is right, worth knowing or wrong on a machine that evictd is to look after. Pure.

Each module judges one part: it has a Struct of facts and functions that turn them into findings.
How the facts are come by is the business of `cli/examination`; a recorded machine is as good as a
real one.
"""

from evictd.cli.checkup import (
    broker,
    broker_file,
    clock,
    containers,
    disks,
    engine,
    file_systems,
    kernel,
    killers,
    protection,
    rules,
    stalls,
    surroundings,
)

__all__ = [
    "broker",
    "broker_file",
    "clock",
    "containers",
    "disks",
    "engine",
    "file_systems",
    "kernel",
    "killers",
    "protection",
    "rules",
    "stalls",
    "surroundings",
]
