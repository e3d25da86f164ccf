"""`evictd status`, and `evictd` without a verb: how a machine is, on one screen."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase

import click

from evictd.cli import offline
from evictd.cli.eviction_tables import deadline_of, end_time, target_text
from evictd.cli.machine import home_node
from evictd.cli.node_tables import held_conditions, node_names
from evictd.cli.past import journal_of
from evictd.cli.reading import Reader, reader_options, run, talk, utc_now
from evictd.cli.tables import ago, due, listed
from evictd.client import Mirror
from evictd.core.decision import Judged, Plan
from evictd.core.decision.candidates import Verdict
from evictd.core.decision.explanation import Situation, explained
from evictd.core.errors import PeerError
from evictd.core.moments import Now
from evictd.core.orders import Restore, comes_back
from evictd.core.protocol.chain import active
from evictd.core.rules import Mode
from evictd.core.wording import name_text
from evictd.shell.configuration import rules_of
from evictd_schemas import RankedPod, Stopped, topics
from evictd_schemas.configuration import Configuration
from evictd_schemas.topics import ALL, WORKERS, Role

CONNECT_SECONDS = 3.0
"""A person looks at an empty screen meanwhile, and the journal has an answer too."""
LATE_SECONDS = 1.0
"""A loop that was late by more is worth a line."""
OTHERS_MAX = 20
"""Other nodes of the bus that are named."""
GOING = frozenset({Verdict.VICTIM, Verdict.CANDIDATE})
NEEDED = tuple(role for role in WORKERS if role is not Role.GATEWAY)


@click.command("status")
@reader_options(node="this machine", timeout="for the broker. Default: 3")
def command(reader: Reader) -> None:
    """Print conditions, what is down because of evictd, who is next, and which worker is late.

    Of this machine, or of --node. Where no broker answers, what this machine's journal and its
    workers' signs of life tell; the exit code is 5 then.
    """
    configuration = reader.configuration()
    try:
        node = reader.node or home_node(configuration)
        text = run(_looked(reader, configuration, node))
    except PeerError as error:
        talk(f"evictd: {error}")
        for line in offline.lines(journal_of(configuration), utc_now()):
            click.echo(line)
        sys.exit(error.exit_code)
    for line in (*text, *(offline_problems() if reader.node is None else ())):
        click.echo(line)


async def _looked(reader: Reader, configuration: Configuration, node: str) -> list[str]:
    seconds = CONNECT_SECONDS if reader.timeout is None else reader.timeout
    everywhere = replace(reader, node=None)  # whose workers decide here may be another node's
    async with everywhere.mirror(seconds) as mirror:
        lines = [*node_lines(mirror, configuration, node, utc_now())]
        if reader.node is None:
            lines += other_lines(mirror, node)
        return lines


def node_lines(
    mirror: Mirror, configuration: Configuration, node: str, now: datetime
) -> Iterator[str]:
    """One node, a fact a line."""
    pressure = mirror.get(topics.PRESSURE, node)
    decision = mirror.get(topics.DECISION, node)
    observation = mirror.get(topics.OBSERVATION, node)
    mode = decision.mode if decision is not None else rules_of(configuration, node).mode
    seen = "never" if observation is None else f"{ago(observation.time, now)} ago"
    yield f"{node}: mode {mode}, observed {seen}"
    yield f"conditions:  {listed(held_conditions(pressure)).replace('-', 'nothing is short')}"
    for condition in () if pressure is None else pressure.conditions:
        if condition.status != "False":
            since = ago(condition.last_transition_time, now)
            yield f"             {condition.type} {condition.status} for {since}: " + (
                condition.message or condition.reason
            )
    yield from leaving_lines(mirror, node, now)
    yield from down_lines(mirror, node, now)
    yield from next_lines(mirror, configuration, node, now)
    yield from worker_lines(mirror, node)


def leaving_lines(mirror: Mirror, node: str, now: datetime) -> Iterator[str]:
    """Evictions that run."""
    for found in mirror.objects(topics.EVICTION, node):
        status = found.message.status
        if end_time(status) is not None:
            continue
        current = active(status.target_responders)
        who = "nobody is at work" if current is None else f"{current.name} is at work"
        dry = " (dry run)" if status.dry_run else ""
        until = deadline_of(status)
        text = (
            f"leaving:     {target_text(found.place.names['namespace'], found.message)}{dry}: {who}"
        )
        yield text if until is None else f"{text}, its deadline {due(until, now)}"


def down_lines(mirror: Mirror, node: str, now: datetime) -> Iterator[str]:
    """What is down because of evictd, and when it comes back."""
    stopped = mirror.objects(topics.STOPPED, node)
    if not stopped:
        yield "down:        nothing because of evictd"
    for found in stopped:
        message = found.message
        name = f"{found.place.names['namespace']}/{found.place.names['name']}"
        short = f", short of {message.signal}" if message.signal else ""
        yield (
            f"down:        {name} for {ago(message.time, now)}{short}; "
            f"comes back {return_text(message, now)}"
        )


def return_text(stopped: Stopped, now: datetime) -> str:
    """When it comes back, and by whom.

    Evictd starts only what it stopped for a shortage that a start does not bring back at once.
    """
    by_itself = comes_back(stopped.signal) and stopped.restore == Restore.AUTO
    if not by_itself:
        return "when somebody starts it"
    if stopped.next_try_time is not None and stopped.next_try_time > now:
        return f"{due(stopped.next_try_time, now)} at the earliest"
    return "when there is room again"


def next_lines(
    mirror: Mirror, configuration: Configuration, node: str, now: datetime
) -> Iterator[str]:
    """Who would go first, by the last decision, or by one made now where nothing is short."""
    order = ranking(mirror, configuration, node, now)
    row = next((row for row in order if row.verdict in GOING), None)
    if row is None:
        yield "next:        nobody may go"
        return
    decision = mirror.get(topics.DECISION, node)
    acts = decision is not None and decision.mode == Mode.ACT
    word = "" if acts else f" (nothing is stopped in mode {decision.mode})" if decision else ""
    yield f"next:        {name_text(row.pod)}{word}: {row.why}"


def ranking(
    mirror: Mirror, configuration: Configuration, node: str, now: datetime
) -> tuple[RankedPod, ...]:
    """The order of the last decision; with the present figures where that had none."""
    decision = mirror.get(topics.DECISION, node)
    if decision is not None and decision.ranking:
        return decision.ranking
    observation = mirror.get(topics.OBSERVATION, node)
    pressure = mirror.get(topics.PRESSURE, node)
    if observation is None or pressure is None:
        return ()
    given = Judged(pressure=pressure, observation=observation)
    moment = Now(boot_seconds=observation.uptime_seconds or 0.0, utc=now)
    rules = rules_of(configuration, node)
    return explained(Situation(rules=rules, plan=Plan(), given=given, now=moment)).ranking


def worker_lines(mirror: Mirror, node: str) -> Iterator[str]:
    """Who is there, who is not, who is late."""
    every = mirror.objects(topics.WORKER, node)
    there = [found.message for found in every]
    ready = [status.worker for status in there if status.status == "ready"]
    told = "all in one process" if ready == [ALL] else ", ".join(ready)
    hosts = served_from(mirror, node) if not there else []
    none = f"those of {listed(hosts)} decide for it" if hosts else "none is ready"
    yield f"workers:     {f'{told}, ready' if ready else none}"
    for status in there:
        if status.status != "ready":
            yield f"late:        {status.worker} is {status.status} {status.message}".rstrip()
        elif status.message:
            yield f"late:        {status.worker}: {status.message}"
        elif status.lag.get("loop", 0.0) > LATE_SECONDS:
            yield f"late:        {status.worker}: its loop was late by {status.lag['loop']:g} s"
    names = {status.worker for status in there}
    missing = [] if ALL in names or not names else [r.value for r in NEEDED if r not in names]
    if missing:
        yield f"missing:     {listed(missing)}"


def served_from(mirror: Mirror, node: str) -> list[str]:
    """Other nodes whose workers decide for this one too. [contract 2]"""
    every = ((found.place.node, found.message) for found in mirror.objects(topics.WORKER))
    return sorted(
        {
            host
            for host, status in every
            if status.status == "ready" and any(fnmatchcase(node, one) for one in status.serves)
        }
    )


def offline_problems() -> list[str]:
    """Workers of this very machine that show no life though they may stand as ready."""
    return [f"late:        {worker}" for worker in offline.late_workers()]


def other_lines(mirror: Mirror, node: str) -> Iterator[str]:
    """What else is on the bus, in a line each."""
    others = [name for name in node_names(mirror) if name != node]
    for name in others[:OTHERS_MAX]:
        held = held_conditions(mirror.get(topics.PRESSURE, name))
        yield f"also:        {name}: {', '.join(held) or 'nothing is short'}"
    if len(others) > OTHERS_MAX:
        yield f"also:        {len(others) - OTHERS_MAX} more; see `evictd get nodes`"
