"""How a machine stands, on one screen: a fact a line."""

from collections.abc import Iterator
from datetime import datetime

from evictd.cli.alive import runtime_folder
from evictd.cli.standing import Gone, Leaving, Neighbour, Standing
from evictd.cli.tables import ago, due, listed
from evictd.core.protocol.vocabulary import Status
from evictd.core.rules import Mode
from evictd_schemas.topics import ALL

OTHERS_MAX = 20
"""Other nodes of the bus that are named."""


def lines(told: Standing, now: datetime) -> Iterator[str]:
    """Everything, the most urgent first."""
    seen = "never" if told.observed is None else f"{ago(told.observed, now)} ago"
    yield f"{told.node}: mode {told.mode}, observed {seen}"
    yield from _conditions(told, now)
    source = "" if told.source == "bus" else " (by the journal)"
    yield from (_leaving(one, now) + source for one in told.leaving)
    yield from _down(told, now)
    yield from (f"held:        {text}" for text in told.holds)
    yield _next(told)
    yield from _evicted(told, now)
    yield from worker_lines(told)
    yield from other_lines(told.others)


def _conditions(told: Standing, now: datetime) -> Iterator[str]:
    held = [one.type for one in told.conditions if one.status == Status.TRUE]
    nothing = "nothing is short" if told.known else Status.UNKNOWN
    yield f"conditions:  {', '.join(held) or nothing}"
    for one in told.conditions:
        since = "" if one.since is None else f" for {ago(one.since, now)}"
        yield f"             {one.type} {one.status}{since}: {one.message}"


def _leaving(one: Leaving, now: datetime) -> str:
    who = "nobody is at work" if one.responder is None else f"{one.responder} is at work"
    dry = " (dry run)" if one.dry_run else ""
    text = f"leaving:     {one.namespace}/{one.name}{dry}: {who}"
    until = one.deadline_time
    return text if until is None else f"{text}, its deadline {due(until, now)}"


def _down(told: Standing, now: datetime) -> Iterator[str]:
    if not told.down:
        yield "down:        nothing because of evictd"
    for one in told.down:
        short = f", short of {one.signal}" if one.signal else ""
        yield (
            f"down:        {one.namespace}/{one.name} for {ago(one.since, now)}{short}; "
            f"comes back {one.returns}"
        )


def _next(told: Standing) -> str:
    if told.next is None:
        return "next:        nobody may go; `evictd rank` tells why"
    acts = told.mode == Mode.ACT
    word = "" if acts else f" (nothing is stopped in mode {told.mode})"
    return f"next:        {told.next.namespace}/{told.next.name}{word}: {told.next.why}"


def _evicted(told: Standing, now: datetime) -> Iterator[str]:
    if told.journal:
        yield f"journal:     {told.journal}"
    elif told.source == "machine" and not told.evicted:
        yield "evicted:     nothing in the last day"
    for one in told.evicted:
        yield _gone(one, now)


def _gone(one: Gone, now: datetime) -> str:
    text = f"evicted:     {one.namespace}/{one.name} on {one.node}, {ago(one.time, now)} ago"
    return f"{text}: {one.why}" if one.why else text


def worker_lines(told: Standing) -> Iterator[str]:
    """Who is there, who is not, who is late."""
    yield f"workers:     {_workers(told)}"
    for text in told.late:
        yield f"late:        {text}"
    if told.missing:
        yield f"missing:     {listed(told.missing)}"


def _workers(told: Standing) -> str:
    on_bus = told.source == "bus"
    if told.workers:
        names = "all in one process" if told.workers == (ALL,) else ", ".join(told.workers)
        return f"{names}, {'ready' if on_bus else 'alive'}"
    if told.served_by:
        return f"those of {listed(told.served_by)} decide for it"
    here = f"none is running here ({runtime_folder()} has no sign of life)"
    return "none is ready" if on_bus else here


def other_lines(others: tuple[Neighbour, ...]) -> Iterator[str]:
    """What else is on the bus, in a line each."""
    for one in others[:OTHERS_MAX]:
        yield f"also:        {one.node}: {', '.join(one.conditions) or 'nothing is short'}"
    if len(others) > OTHERS_MAX:
        yield f"also:        {len(others) - OTHERS_MAX} more; see `evictd get nodes`"
