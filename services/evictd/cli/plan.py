"""`evictd plan POD`: who would be asked to take it off, in which order, and the worst case."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec
import msgspec.yaml

from evictd.cli.describe import observed_pod
from evictd.cli.reading import Reader, reader_options, run
from evictd.cli.tables import NOTHING, Output, age, aligned, output_option
from evictd.client import Mirror
from evictd.core.protocol.policy import EVICTD
from evictd.core.protocol.prospect import Prospect, Turn, prospect_of
from evictd.core.wording import name_text
from evictd_schemas import Pod, Registration, topics

HEAD = ("", "RESPONDER", "PRIORITY", "KNOWN BY", "MUST BEGIN WITHIN", "MAY BE SILENT FOR")


@click.command("plan")
@click.argument("pod")
@output_option(Output.TABLE, Output.JSON, Output.YAML)
@reader_options()
def command(reader: Reader, pod: str, output: str) -> None:
    """Print the chain of responders for POD (namespace/name) and how long it may take at worst.

    Nothing is asked for. It is the chain that a soft Eviction would get now.
    """
    node, found, prospect = run(planned(reader, pod))
    match output:
        case Output.JSON:
            text = msgspec.json.encode(document(node, found, prospect))
            click.echo(msgspec.json.format(text, indent=2).decode())
        case Output.YAML:
            click.echo(msgspec.yaml.encode(document(node, found, prospect)).decode(), nl=False)
        case _:
            click.echo("\n".join(lines(node, found, prospect)))


async def planned(reader: Reader, name: str) -> tuple[str, Pod, Prospect]:
    """Node, workload, and what would come. Raises `NotFoundError`."""
    async with reader.mirror(reader.connect_seconds) as mirror:
        node, pod = observed_pod(mirror, name)
        return node, pod, prospect_of(EVICTD, pod, registrations(mirror, node))


def registrations(mirror: Mirror, node: str) -> dict[str, Registration]:
    """Who has registered on a node, by name."""
    return {
        found.place.participant: found.message
        for found in mirror.objects(topics.REGISTRATION, node)
    }


def lines(node: str, pod: Pod, prospect: Prospect) -> Iterator[str]:
    """The chain, then how long that may take."""
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


def document(node: str, pod: Pod, prospect: Prospect) -> dict[str, Any]:
    """The same for programs; durations in seconds."""
    return {
        "node": node,
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
    }
