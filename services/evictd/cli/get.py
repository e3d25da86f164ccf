"""`evictd get KIND`: what is on the bus now, a row each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import click

from evictd.cli import eviction_tables as about_evictions
from evictd.cli import node_tables as about_nodes
from evictd.cli.reading import Reader, reader_options, run, talk, utc_now
from evictd.cli.tables import Item, output_option, written
from evictd.client import Mirror


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How one kind of thing is shown."""

    head: tuple[str, ...]
    wide_head: tuple[str, ...]
    items: Callable[[Mirror, datetime], Iterator[Item]]


KINDS = {
    "signals": Kind(
        head=about_nodes.SIGNAL_HEAD,
        wide_head=about_nodes.SIGNAL_WIDE,
        items=about_nodes.signals,
    ),
    "conditions": Kind(
        head=about_nodes.CONDITION_HEAD,
        wide_head=about_nodes.CONDITION_WIDE,
        items=about_nodes.conditions,
    ),
    "workloads": Kind(
        head=about_nodes.WORKLOAD_HEAD,
        wide_head=about_nodes.WORKLOAD_WIDE,
        items=about_nodes.workloads,
    ),
    "evictions": Kind(
        head=about_evictions.EVICTION_HEAD,
        wide_head=about_evictions.EVICTION_WIDE,
        items=about_evictions.evictions,
    ),
    "requests": Kind(
        head=about_evictions.REQUEST_HEAD,
        wide_head=about_evictions.REQUEST_WIDE,
        items=about_evictions.requests,
    ),
    "responders": Kind(
        head=about_evictions.RESPONDER_HEAD,
        wide_head=about_evictions.RESPONDER_WIDE,
        items=about_evictions.responders,
    ),
    "workers": Kind(
        head=about_nodes.WORKER_HEAD,
        wide_head=about_nodes.WORKER_WIDE,
        items=about_nodes.workers,
    ),
    "nodes": Kind(
        head=about_nodes.NODE_HEAD,
        wide_head=about_nodes.NODE_WIDE,
        items=about_nodes.nodes,
    ),
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
