"""`evictd plan POD`: who would be asked to take it off, in which order, and the worst case."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from evictd.cli.naming import observed_pod
from evictd.cli.reading import Reader, reader_options, run
from evictd.cli.situation import running_configuration
from evictd.cli.tables import NOTHING, Output, age, aligned, object_text, output_option
from evictd.client import Mirror
from evictd.core.duty.budgets import Neighbours, judged, stopped_life
from evictd.core.duty.imperative import PAUSE_BASE_SECONDS, PAUSE_MAX_SECONDS
from evictd.core.protocol.policy import EVICTD
from evictd.core.protocol.prospect import Prospect, Turn, prospect_of
from evictd.core.rules import Budget
from evictd.core.ways import Way
from evictd.core.wording import name_text
from evictd.shell.configuration.budgets import compiled
from evictd_schemas import Pod, Registration, topics

HEAD = ("", "RESPONDER", "PRIORITY", "KNOWN BY", "MUST BEGIN WITHIN", "MAY BE SILENT FOR")


@click.command("plan")
@click.argument("pod")
@output_option(Output.TABLE, Output.JSON, Output.YAML)
@reader_options()
def command(reader: Reader, pod: str, output: str) -> None:
    """Print the chain of responders for POD (namespace/name) and how long it may take at worst.

    Nothing is asked for. It is the chain that a soft Eviction would get now. Where budgets of the
    configuration are about POD it tells which of them would let it go now.
    """
    budgets = compiled(running_configuration(reader.file, reader.broker))
    found = run(planned(reader, pod, budgets))
    if output == Output.TABLE:
        click.echo("\n".join(lines(found)))
    else:
        click.echo(object_text(document(found), output))


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A workload and what would come. `budgets`: those about it, and why one would keep it."""

    node: str
    pod: Pod
    prospect: Prospect
    budgets: Sequence[tuple[Budget, str | None]] = ()


async def planned(reader: Reader, name: str, budgets: Sequence[Budget]) -> Planned:
    """Raises `NotFoundError`."""
    async with reader.mirror(reader.connect_seconds) as mirror:
        return plan_of(mirror, name, budgets)


def plan_of(mirror: Mirror, name: str, budgets: Sequence[Budget]) -> Planned:
    """From what is on the bus. Raises `NotFoundError`."""
    node, pod = observed_pod(mirror, name)
    return Planned(
        node=node,
        pod=pod,
        prospect=prospect_of(EVICTD, pod, registrations(mirror, node)),
        budgets=tuple(judged(budgets, pod, neighbours(mirror, node))),
    )


def neighbours(mirror: Mirror, node: str) -> Neighbours:
    """Who was observed last, and what evictd has stopped there."""
    seen = mirror.get(topics.OBSERVATION, node)
    down = mirror.objects(topics.STOPPED, node)
    complete = seen is not None and seen.pods is not None and seen.pods_complete
    return Neighbours(
        pods=() if seen is None else seen.pods or (),
        away=tuple(stopped_life(found.place.names, found.message) for found in down),
        problem=None if complete else "the last observation does not list everything",
    )


def registrations(mirror: Mirror, node: str) -> dict[str, Registration]:
    """Who has registered on a node, by name."""
    return {
        found.place.participant: found.message
        for found in mirror.objects(topics.REGISTRATION, node)
    }


def lines(found: Planned) -> Iterator[str]:
    """The chain, how long that may take, and what budgets would say at its end."""
    node, pod, prospect = found.node, found.pod, found.prospect
    yield f"{name_text(pod)} on {node}: who would be asked, first to last"
    yield ""
    yield from aligned(HEAD, [cells(place, turn) for place, turn in enumerate(prospect.turns, 1)])
    yield ""
    if len(prospect.turns) > 1:
        unanswered, worst = prospect.unanswered_seconds, prospect.handover_seconds_max
        yield f"If nobody answers, its stop begins after {age(unanswered)}; at worst after"
        yield f"{age(worst)}, where each shows life at the last moment and falls silent. One that"
        yield "goes on showing life has no limit but the deadline of a request."
    else:
        yield "Nobody is asked before: its stop begins at once."
    grace = prospect.grace_seconds
    yield "The stop takes " + ("its own time." if grace is None else f"at most {age(grace)}.")
    yield from action_text(pod)
    if found.budgets:
        yield ""
        yield from (budget_text(budget, why) for budget, why in found.budgets)
        yield "Node pressure ignores budgets."


def action_text(pod: Pod) -> Iterator[str]:
    """What is done instead of a stop, where its owner wants that."""
    if pod.action == Way.WEBHOOK:
        yield "It is left to its webhooks: only a hard eviction stops it."
    elif pod.action == Way.RESTART:
        yield "For want of memory or process ids it is started again at once."


def budget_text(budget: Budget, why: str | None) -> str:
    """What it would say now."""
    if why is None:
        return f"Budget {budget} lets it go now."
    pauses = f"{age(PAUSE_BASE_SECONDS)}, doubling to {age(PAUSE_MAX_SECONDS)}"
    return f"It would not be stopped now: {why}. The stop is tried again after {pauses}."


def cells(place: int, turn: Turn) -> tuple[str, ...]:
    """Its row; the built-in one is waited for as long as the stop takes."""
    known = "built in" if turn.builtin else _known(turn)
    if turn.builtin:
        return f"{place}.", turn.name, str(turn.priority), known, NOTHING, NOTHING
    return (
        f"{place}.",
        turn.name,
        str(turn.priority),
        known,
        age(turn.terms.start_seconds),
        age(turn.terms.heartbeat_seconds),
    )


def _known(turn: Turn) -> str:
    parts = ["the workload"] if turn.declared else []
    if turn.status is not None:
        parts.append(f"registration ({turn.status})")
    return " and ".join(parts)


def document(found: Planned) -> dict[str, Any]:
    """The same for programs; durations in seconds. A budget without `refusal` lets it go now."""
    pod, prospect = found.pod, found.prospect
    return {
        "node": found.node,
        "pod": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
        "chain": [
            {
                "name": turn.name,
                "priority": turn.priority,
                "declared": turn.declared,
                "registration": turn.status,
                "startDeadlineSeconds": None if turn.builtin else turn.terms.start_seconds,
                "heartbeatDeadlineSeconds": None if turn.builtin else turn.terms.heartbeat_seconds,
            }
            for turn in prospect.turns
        ],
        "unansweredSeconds": prospect.unanswered_seconds,
        "handoverSecondsMax": prospect.handover_seconds_max,
        "graceSeconds": prospect.grace_seconds,
        "budgets": [{"name": budget.name, "refusal": why} for budget, why in found.budgets],
    }
