"""`evictd forget POD`: what evictd has stopped stays down, and is not counted as down any more."""

import sys
from datetime import timedelta

import click

from evictd.cli.naming import stopped_pod
from evictd.cli.reading import Reader, TimedOutError, reader_options, run, utc_now
from evictd.cli.wishing import ANSWER_SECONDS, Wished, down, told, wish_name
from evictd.core.orders import Verb
from evictd.core.wording import name_text
from evictd_schemas import Wish, topics

STANDS_SECONDS = 86_400.0
"""So long the wish stands where the machine that has the record does not answer."""
PATIENCE_SECONDS = 30.0
"""For the responder that has the record: it is there, or comes back within that time."""


@click.command("forget")
@click.argument("pod", metavar="POD")
@reader_options(timeout="for the record to go. Default: 30")
def command(reader: Reader, *, pod: str) -> None:
    """Take POD out of what is down because of evictd: it is never started again by evictd.

    What it was stays where it is; only its owner starts it, or removes it.
    """
    sys.exit(run(_forgotten(reader, pod)))


async def _forgotten(reader: Reader, pod: str) -> int:
    async with reader.mirror(asking=True) as mirror:
        found = [one for one in down(mirror) if reader.node in (None, one[0])]
        node, life = stopped_pod(found, pod)
        target = name_text(life)
        until = utc_now() + timedelta(seconds=STANDS_SECONDS)
        wish = Wish(verb=Verb.FORGET, target=target, until=until)
        wished = Wished(node=node, name=wish_name(Verb.FORGET, target), wish=wish)
        seconds = PATIENCE_SECONDS if reader.timeout is None else reader.timeout
        said = await told(mirror, wished, seconds)
        if said is None:
            raise TimedOutError(
                f"{target} was not forgotten in {min(seconds, ANSWER_SECONDS):g} s or more; "
                "the wish stands for a day"
            )
        mirror.clear(topics.WISH, node, **wished.levels)
        click.echo(said.text)
        return 0 if said.done else 1
