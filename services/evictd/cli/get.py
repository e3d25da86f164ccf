"""`evictd get KIND`: what is on the bus now, a row each."""

from collections.abc import Iterator

import click

from evictd.cli import eviction_tables, node_tables, responder_tables, workload_tables
from evictd.cli.kinds import Kind
from evictd.cli.reading import Reader, reader_options, run, talk, utc_now
from evictd.cli.tables import Item, output_option, written
from evictd.client import Mirror

KINDS = {
    "signals": node_tables.SIGNALS,
    "conditions": node_tables.CONDITIONS,
    "workloads": workload_tables.WORKLOADS,
    "evictions": eviction_tables.EVICTIONS,
    "requests": eviction_tables.REQUESTS,
    "responders": responder_tables.RESPONDERS,
    "workers": node_tables.WORKERS,
    "nodes": node_tables.NODES,
}
"""What can be asked for."""
UNREADABLE_SHOWN = 5
"""Messages that cannot be read and are named one by one."""


@click.command("get")
@click.argument("kind", metavar="KIND", type=click.Choice(list(KINDS)))
@output_option()
@reader_options()
def command(reader: Reader, kind: str, output: str) -> None:
    """Print what is on the bus now, one row each.

    KIND is signals, conditions, workloads, evictions, requests, responders, workers or nodes.
    In the lines of a signal `!` marks one that is met.
    """
    wanted = KINDS[kind]
    items = run(found(reader, wanted))
    for line in written(items, wanted.head, wanted.wide_head, output):
        click.echo(line)
    if not items:
        talk(f"no {kind}" + (f" of node {reader.node}" if reader.node else ""))


async def found(reader: Reader, kind: Kind) -> list[Item]:
    """All of a kind."""
    async with reader.mirror(reader.connect_seconds) as mirror:
        for line in unreadable_lines(mirror):
            talk(line)
        return [*kind.items(mirror, utc_now())]


def unreadable_lines(mirror: Mirror) -> Iterator[str]:
    """What is on the bus and not what its topic says, so that nobody wonders where it is."""
    for one in list(mirror.unreadable.values())[:UNREADABLE_SHOWN]:
        yield f"cannot be read: {one.topic}: {one.reason}"
    if len(mirror.unreadable) > UNREADABLE_SHOWN:
        yield f"cannot be read: {len(mirror.unreadable) - UNREADABLE_SHOWN} more"
