"""What this machine itself knows where no broker answers: signs of life and the journal."""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from evictd.cli import past
from evictd.cli.alive import runtime_folder
from evictd.cli.eviction_tables import end_time
from evictd.cli.health import SILENT_SECONDS_MAX, boot_seconds
from evictd.cli.tables import ago
from evictd.core.errors import HostError
from evictd.core.protocol.chain import active
from evictd.core.protocol.conditions import holds
from evictd.core.protocol.vocabulary import ConditionType
from evictd_schemas import Eviction

LATELY = timedelta(days=1)
"""How far back is told what was evicted."""
SHOWN = 10
"""Rows of each kind."""


def silent_seconds() -> dict[str, float]:
    """How long each worker of this machine has been silent; none is running where it is empty."""
    found = {}
    for file in sorted(runtime_folder().glob("*.alive")):
        try:
            found[file.stem] = time.clock_gettime(time.CLOCK_BOOTTIME) - boot_seconds(file)
        except HostError:
            if file.exists():
                raise  # else it has just ended
    return found


def late_workers() -> Iterator[str]:
    """Those whose loop has not come round for too long."""
    for worker, seconds in silent_seconds().items():
        if not 0 <= seconds <= SILENT_SECONDS_MAX:
            yield f"{worker} has been silent for {seconds:.0f} s"


def lines(journal: Path, now: datetime) -> Iterator[str]:
    """Workers, what was running when the journal was written last, what was evicted lately."""
    yield from worker_lines()
    if not past.readable(journal):
        yield f"journal:     none that can be read at {journal}"
        return
    running = [*past.running(journal)]
    for eviction in running[:SHOWN]:
        name = f"{past.target(eviction)} on {eviction.status.node}"
        yield f"leaving:     {name} when the journal was written last: {_turn(eviction)}"
    evicted = [
        item
        for item in past.ended_since(past.history(journal), now - LATELY)
        if holds(item.status.conditions, ConditionType.TARGET_EVICTED)
    ]
    for eviction in evicted[-SHOWN:]:
        why = past.why(eviction)
        yield (
            f"evicted:     {past.target(eviction)} on {eviction.status.node}, "
            f"{ago(end_time(eviction.status), now)} ago" + (f": {why}" if why else "")
        )
    if not running and not evicted:
        yield "evicted:     nothing in the last day, and nothing is leaving"


def worker_lines() -> Iterator[str]:
    """Who shows life on this machine."""
    silent = silent_seconds()
    late = [*late_workers()]
    if not silent:
        yield f"workers:     none is running here ({runtime_folder()} has no sign of life)"
    for worker in late:
        yield f"late:        {worker}"
    alive = [worker for worker, seconds in silent.items() if 0 <= seconds <= SILENT_SECONDS_MAX]
    if alive:
        yield f"workers:     {', '.join(alive)} alive"


def _turn(eviction: Eviction) -> str:
    current = active(eviction.status.target_responders)
    return "nobody is at work" if current is None else f"{current.name} is at work"
