"""What is down because of evictd, in words: when it comes back, what keeps it, what is held.

It knows records, Decisions and wishes, not how they are printed.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from evictd.cli import hold_file
from evictd.cli.tables import due
from evictd.client import Mirror
from evictd.core.decision.wishing import hold_text
from evictd.core.errors import HostError
from evictd.core.holds import in_force
from evictd.core.orders import Restore, comes_back
from evictd.core.wording import name_text
from evictd_schemas import AbsentPod, Stopped, topics

ROOM, SOMEBODY = "when there is room again", "when somebody starts it"
"""When something comes back that nothing else keeps down, and what evictd does not bring back."""


def absent(mirror: Mirror, node: str) -> dict[str, AbsentPod]:
    """What the evictor says of each that is down, by `namespace/name`."""
    decision = mirror.get(topics.DECISION, node)
    return {} if decision is None else {name_text(row.pod): row for row in decision.absent}


def return_text(stopped: Stopped, told: AbsentPod | None, now: datetime) -> str:
    """When it comes back, and by whom.

    Evictd starts by itself only what it stopped for a shortage that a start does not bring back at
    once. `told`: the evictor's own word, where it is about this life.
    """
    if told is not None and told.pod.uid != stopped.uid:
        told = None
    if not comes_back(stopped.signal) or stopped.restore != Restore.AUTO:
        return SOMEBODY
    again = max(
        (time for time in (stopped.next_try_time, told and told.next_try_time) if time),
        default=None,
    )
    fallen = f", after {told.falls} evictions" if told is not None and told.falls > 1 else ""
    if again is not None and again > now:
        return f"{due(again, now)} at the earliest{fallen}"
    if told is None:
        return ROOM
    return f"when it can: {told.why}{fallen}" if told.why else f"at once{fallen}"


def holds(mirror: Mirror, node: str, now: datetime) -> Iterator[str]:
    """The Holds that are in force there, each with its author."""
    for found in mirror.objects(topics.WISH, node):
        if in_force(found.message, now):
            yield f"{hold_text(found.message)}, by {found.place.participant}"


def file_holds(state_folder: Path, now: datetime) -> Iterator[str]:
    """Those of this machine's hold file; none where it is not for this user to read."""
    path = hold_file.place(state_folder)
    if path is None:
        return
    try:
        found = hold_file.holds(path, now)
    except HostError:
        return
    for wish in found:
        yield f"{hold_text(wish)}, by the file {path}"
