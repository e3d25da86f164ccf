"""`evictd restore POD`: have something started again now that evictd has stopped."""

import asyncio
import sys
from collections.abc import Sequence
from datetime import timedelta

import click

from evictd.cli.naming import NOTHING_DOWN, stopped_pod
from evictd.cli.reading import Reader, TimedOutError, reader_options, run, talk, utc_now
from evictd.cli.situation import NotFoundError
from evictd.cli.wishing import Said, Wished, down, own, told, wish_name
from evictd.client import Mirror
from evictd.core.orders import Verb
from evictd.core.rules import Mode
from evictd.core.wording import name_text
from evictd_schemas import Wish, topics

STANDS_SECONDS = 7 * 86_400.0
"""So long a wish stands that nobody follows or takes back: for longer nobody means it."""

STANDS = "the wish stands: `evictd restore --end` takes it back"


@click.command("restore")
@click.argument("pod", metavar="[POD]", required=False)
@click.option("--all", "everyone", is_flag=True, help="Everything that is down because of evictd.")
@click.option("--end", is_flag=True, help="Take the wish back: it comes back as if never asked.")
@reader_options(timeout="for its start. Default: for ever")
def command(reader: Reader, *, pod: str | None, everyone: bool, end: bool) -> None:
    """Wish that POD is started again now, and tell how that went.

    Whatever its `restore` says, and without waiting for its back-off; but one at a time, after what
    it depends on, with room for it, and not while anything is short or held.
    """
    if not end and (pod is None) is not everyone:
        raise click.UsageError("give one POD, or --all")
    if end:
        sys.exit(run(_ended(reader, pod)))
    sys.exit(run(_asked(reader, pod)))


async def _asked(reader: Reader, pod: str | None) -> int:
    async with reader.mirror(asking=True) as mirror:
        found = [one for one in down(mirror) if reader.node in (None, one[0])]
        if pod is None:
            node, target = the_node(found), None
        else:
            node, life = stopped_pod(found, pod)
            target = name_text(life)
        decision = mirror.get(topics.DECISION, node)
        if decision is not None and decision.mode != Mode.ACT:
            talk(f"nothing is started on {node}: mode is {decision.mode}")
            return 1
        wish = Wish(
            verb=Verb.RESTORE, target=target, until=utc_now() + timedelta(seconds=STANDS_SECONDS)
        )
        wished = Wished(node=node, name=wish_name(Verb.RESTORE, target), wish=wish)
        try:
            said = await told(mirror, wished, reader.timeout)
        except asyncio.CancelledError:
            talk(STANDS)
            raise
        return _end(mirror, wished, said, reader.timeout)


def the_node(found: Sequence[tuple[str, object]]) -> str:
    """The only one on which something is down."""
    if not found:
        raise NotFoundError(NOTHING_DOWN)
    nodes = sorted({node for node, _ in found})
    if len(nodes) > 1:
        raise NotFoundError(f"something is down on {', '.join(nodes)}; --node tells which is meant")
    return nodes[0]


def _end(mirror: Mirror, wished: Wished, said: Said | None, seconds: float | None) -> int:
    """What has had its answer is of no use any more; its writer clears it."""
    if said is None:
        within = "" if seconds is None else f" in {seconds:g} s"
        raise TimedOutError(f"nothing came back{within}; {STANDS}")
    mirror.clear(topics.WISH, wished.node, **wished.levels)
    click.echo(said.text)
    return 0 if said.done else 1


async def _ended(reader: Reader, pod: str | None) -> int:
    async with reader.mirror(reader.connect_seconds, asking=True) as mirror:
        mine = [
            found
            for found in own(mirror, Verb.RESTORE, reader.node)
            if pod in (None, found.message.target, (found.message.target or "").partition("/")[2])
        ]
        for found in mine:
            mirror.clear(topics.WISH, found.place.node, **found.place.names)
            click.echo(found.topic)
    if not mine:
        talk("no such wish of ours stands")
    return 0
