"""`evictd watch evictions|events`: what happens, as it happens."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import click
import msgspec

from evictd.cli.eviction_tables import EVICTION_HEAD, document, eviction_item
from evictd.cli.reading import Reader, reader_options, run, talk, utc_now
from evictd.cli.tables import NOTHING, Item, Output, output_option, row_text
from evictd.client import Change, Found, Mirror
from evictd_schemas import Event, topics
from evictd_schemas.topics import Topic

EVENT_HEAD = ("TIME", "NODE", "WORKER", "REASON", "MESSAGE")
EVENT_WIDTHS = (20, 12, 10, 25, 0)
EVICTION_WIDTHS = (12, 24, 20, 16, 20, 34, 9, 12, 0)
KINDS: dict[str, Topic[Any]] = {"evictions": topics.EVICTION, "events": topics.EVENT}
GONE = "Collected"


@click.command("watch")
@click.argument("kind", type=click.Choice(list(KINDS)))
@output_option(Output.TABLE, Output.JSON, Output.NAME)
@reader_options(timeout="before it ends. Default: for ever")
def command(reader: Reader, kind: str, output: str) -> None:
    """Print Evictions, or events, as they come, until Ctrl-C or for --timeout seconds.

    Evictions that are there already come first. With -o json each line is one object.
    """
    run(watch(reader, kind, output))


async def watch(reader: Reader, kind: str, output: str) -> None:
    """Until the time is over; that is no failure."""
    async with reader.mirror() as mirror:
        with anyio.move_on_after(reader.timeout if reader.timeout is not None else float("inf")):
            if output == Output.TABLE:
                head, widths = heads(kind)
                click.echo(row_text(head, widths))
            async for item in items(mirror, kind):
                click.echo(text(item, kind, output))
        if mirror.missed:
            talk(f"{mirror.missed} came too fast and are missing")


def heads(kind: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names and least widths of the columns."""
    if kind == "events":
        return EVENT_HEAD, EVENT_WIDTHS
    return EVICTION_HEAD, EVICTION_WIDTHS


def text(item: Item, kind: str, output: str) -> str:
    """One line."""
    if output == Output.JSON:
        return msgspec.json.encode(item.document).decode()
    if output == Output.NAME:
        return item.name
    return row_text(item.cells, heads(kind)[1])


async def items(mirror: Mirror, kind: str) -> AsyncIterator[Item]:
    """What is there, then what comes. Nothing is awaited in between, so that nothing is missed."""
    if kind == "evictions":
        for item in present(mirror):
            yield item
    async for change in mirror.watch(KINDS[kind]):
        yield event_item(change.found) if kind == "events" else changed(change)


def present(mirror: Mirror) -> Iterator[Item]:
    """Evictions that are there already."""
    now = utc_now()
    return (eviction_item(found, now) for found in mirror.objects(topics.EVICTION))


def changed(change: Change) -> Item:
    """An Eviction as it is now, or that it was collected."""
    if change.found is not None:
        return eviction_item(change.found, utc_now())
    names, node = change.place.names, change.place.node
    name = f"{names['namespace']}/{names['name']}"
    cells = [NOTHING] * len(EVICTION_HEAD)
    cells[0], cells[1], cells[4] = node, name, GONE
    told = {"node": node, "topic": change.topic, "gone": True}
    return Item(name=name, cells=tuple(cells), document=told)


def event_item(found: Found[Event] | None) -> Item:
    """An event; there is none without a message."""
    assert found is not None  # noqa: S101 - events are not state, so that none is ever cleared
    event, place = found.message, found.place
    return Item(
        name=place.names["reason"],
        cells=(
            f"{event.time:%Y-%m-%dT%H:%M:%SZ}",
            place.node,
            place.names["worker"],
            place.names["reason"],
            str(event.data.get("message", NOTHING)),
        ),
        document=document(found),
    )
