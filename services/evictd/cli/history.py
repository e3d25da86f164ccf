"""`evictd history`: what was evicted, when, why, by whom, and how long it took."""

from pathlib import Path

import click
import msgspec

from evictd.cli import past
from evictd.cli.eviction_texts import end_time
from evictd.cli.options import config_option, known_configuration
from evictd.cli.reading import talk
from evictd.cli.tables import NOTHING, Item, age, listed, output_option, second, written
from evictd_schemas import Eviction

HEAD = ("ENDED", "NODE", "WORKLOAD", "OUTCOME", "ASKED BY", "RESPONDER", "TOOK", "WHY")
WIDE = ("TYPE", "FORCED BY", "ROUND", "EVICTION", "UID")
SHOWN = 50
"""The newest ones, unless more are asked for."""


@click.command("history")
@config_option
@click.option("--node", help="Only this node. Default: every node that this controller served.")
@click.option("--workload", help="Only this one: namespace/name, or the name alone.")
@click.option("--evicted", is_flag=True, help="Only those that are really gone.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=SHOWN,
    show_default=True,
    help="How many of the newest.",
)
@output_option()
def command(
    file: Path | None,
    node: str | None,
    workload: str | None,
    limit: int,
    output: str,
    *,
    evicted: bool,
) -> None:
    """Print what has ended, the newest last, from the journal of this machine's controller.

    It works without a broker. The newest 2000 of the last 90 days are kept.
    """
    journal = past.journal_of(known_configuration(file))
    found = [
        eviction
        for eviction in past.history(journal)
        if node in (None, eviction.status.node)
        and _is_about(eviction, workload)
        and (not evicted or past.outcome(eviction) == "Evicted")
    ]
    for line in written([item(eviction) for eviction in found[-limit:]], HEAD, WIDE, output):
        click.echo(line)
    if not found:
        whole = node is None and workload is None and not evicted
        talk("nothing has ended yet" if whole else "nothing that has ended is like that")


def item(eviction: Eviction) -> Item:
    """Its row."""
    status, metadata = eviction.status, eviction.metadata
    over, seconds = end_time(status), past.took_seconds(eviction)
    return Item(
        name=f"{metadata.namespace}/{metadata.name}",
        cells=(
            NOTHING if over is None else second(over),
            status.node or NOTHING,
            past.target(eviction),
            past.outcome(eviction),
            listed(past.requesters(eviction)),
            past.responder(eviction) or NOTHING,
            NOTHING if seconds is None else age(seconds),
            past.why(eviction) or NOTHING,
        ),
        wide=(
            status.type,
            NOTHING if status.forced is None else status.forced.by,
            str(status.round + 1),
            f"{metadata.namespace}/{metadata.name}",
            metadata.uid,
        ),
        document=msgspec.to_builtins(eviction),
    )


def _is_about(eviction: Eviction, workload: str | None) -> bool:
    name = past.target(eviction)
    return workload is None or workload in (name, name.partition("/")[2])
