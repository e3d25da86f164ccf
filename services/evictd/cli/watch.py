"""`evictd watch KIND`: what happens, as it happens: rows that are new, changed, or gone."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import click
import msgspec

from evictd.cli.eviction_tables import EVICTIONS, REQUESTS, eviction_item
from evictd.cli.eviction_texts import document
from evictd.cli.kinds import Kind
from evictd.cli.reading import Reader, reader_options, run, talk, utc_now
from evictd.cli.responder_tables import RESPONDERS
from evictd.cli.tables import (
    NOTHING,
    Item,
    Output,
    output_option,
    plain,
    row_text,
    second,
    yaml_text,
)
from evictd.client import Change, Found, Mirror
from evictd_schemas import Event, topics
from evictd_schemas.topics import Topic

EVENT_HEAD = ("TIME", "NODE", "WORKER", "REASON", "MESSAGE")
EVENT_WIDTHS = (20, 12, 10, 25, 0)
EVICTION_WIDTHS = (12, 24, 20, 16, 20, 34, 9, 12, 0)
REQUEST_WIDTHS = (12, 24, 20, 20, 16, 20, 24, 0)
RESPONDER_WIDTHS = (12, 34, 14, 8, 20, 0)
HEADS: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "evictions": (EVICTIONS.head, EVICTION_WIDTHS),
    "requests": (REQUESTS.head, REQUEST_WIDTHS),
    "responders": (RESPONDERS.head, RESPONDER_WIDTHS),
    "events": (EVENT_HEAD, EVENT_WIDTHS),
}
"""Names and least widths of the columns."""
KINDS: dict[str, Topic[Any]] = {"evictions": topics.EVICTION, "events": topics.EVENT}
"""What is one message a row."""
COMPOSED: dict[str, tuple[Kind, tuple[Topic[Any], ...]]] = {
    "requests": (REQUESTS, (topics.REQUEST, topics.REQUEST_STATUS)),
    "responders": (RESPONDERS, (topics.REGISTRATION, topics.WORKER, topics.EVICTION)),
}
"""What is put together of several messages, and which."""
GONE = "Collected"


@click.command("watch")
@click.argument("kind", metavar="KIND", type=click.Choice(list(HEADS)))
@output_option(Output.TABLE, Output.JSON, Output.YAML, Output.NAME)
@reader_options(timeout="before it ends. Default: for ever")
def command(reader: Reader, kind: str, output: str) -> None:
    """Print what comes, as it comes, until Ctrl-C or for --timeout seconds.

    KIND is evictions, requests, responders or events. Of all but events those that are there
    already come first. With -o json each line is one object, with -o yaml each is a document.
    """
    run(watch(reader, kind, output))


async def watch(reader: Reader, kind: str, output: str) -> None:
    """Until the time is over; that is no failure."""
    async with reader.mirror() as mirror:
        with anyio.move_on_after(reader.timeout if reader.timeout is not None else float("inf")):
            if output == Output.TABLE:
                head, widths = HEADS[kind]
                click.echo(row_text(head, widths))
            async for item in items(mirror, kind):
                click.echo(text(item, kind, output))
        if mirror.missed:
            talk(f"{mirror.missed} came too fast and are missing")


def text(item: Item, kind: str, output: str) -> str:
    """One line."""
    if output == Output.JSON:
        return msgspec.json.encode(item.document).decode()
    if output == Output.YAML:
        return "---\n" + yaml_text(dict(item.document))
    if output == Output.NAME:
        return item.name
    return row_text(plain(item.cells), HEADS[kind][1])


async def items(mirror: Mirror, kind: str) -> AsyncIterator[Item]:
    """What is there, then what comes. Nothing is awaited in between, so that nothing is missed."""
    if kind in COMPOSED:
        async for item in differences(mirror, kind):
            yield item
        return
    if kind == "evictions":
        for item in present(mirror):
            yield item
    async for change in mirror.watch(KINDS[kind]):
        yield event_item(change.found) if kind == "events" else changed(change)


async def differences(mirror: Mirror, kind: str) -> AsyncIterator[Item]:
    """Rows that are put together, whenever one is new, has changed or is gone."""
    composed, parts = COMPOSED[kind]
    known: dict[tuple[str, str], Item] = {}
    for item in composed.items(mirror, utc_now()):
        known[key_of(item)] = item
        yield item
    async for _ in mirror.watch(*parts):
        now = {key_of(item): item for item in composed.items(mirror, utc_now())}
        for key, item in now.items():
            if key not in known or is_other(kind, known[key], item):
                yield item
        for key in known.keys() - now.keys():
            yield gone(known[key])
        known = now


def key_of(item: Item) -> tuple[str, str]:
    """By what a row is known: its node, and its topic or name."""
    return item.cells[0], str(item.document.get("topic", item.name))


def is_other(kind: str, before: Item, after: Item) -> bool:
    """Whether there is news; that time passes is none."""
    if before.document != after.document:
        return True
    return kind == "responders" and before.cells != after.cells


def gone(item: Item) -> Item:
    """The last word about one that is no longer there."""
    told = {"node": item.cells[0], "gone": True}
    place = {"topic": item.document["topic"]} if "topic" in item.document else {"name": item.name}
    cells = (*item.cells[:2], *[NOTHING] * (len(item.cells) - 3), GONE)
    return Item(name=item.name, cells=cells, document={**told, **place})


def present(mirror: Mirror) -> Iterator[Item]:
    """Evictions that are there already."""
    now = utc_now()
    return (eviction_item(found, now) for found in mirror.objects(topics.EVICTION))


def changed(change: Change) -> Item:
    """An Eviction as it is now, or that it was collected."""
    if change.found is not None:
        return eviction_item(change.found, utc_now())
    name, node = change.place.namespaced_name, change.place.node
    cells = [NOTHING] * len(EVICTIONS.head)
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
            second(event.time),
            place.node,
            place.names["worker"],
            place.names["reason"],
            str(event.data.get("message", NOTHING)),
        ),
        document=document(found),
    )
