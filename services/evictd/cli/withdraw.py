"""`evictd withdraw NAME`: take back what `evictd request` has asked for."""

from collections.abc import Iterator

import click

from evictd.cli.eviction_texts import status_of
from evictd.cli.naming import request_names, the_one
from evictd.cli.reading import PARTICIPANT, Reader, reader_options, run, talk
from evictd.client import Found, Mirror
from evictd.core.errors import InputError
from evictd.core.protocol.conditions import request_finished
from evictd_schemas import EvictionRequest, topics


@click.command("withdraw")
@click.argument("name", required=False)
@click.option("--ended", is_flag=True, help="Clear all own requests that have had their answer.")
@reader_options()
def command(reader: Reader, name: str | None, *, ended: bool) -> None:
    """Take the request NAME back, and print its topic. An Eviction that nobody else wants ends.

    NAME is that of a request, with or without its namespace, or of the workload it is about.
    """
    if (name is None) != ended:
        raise click.UsageError("give the NAME of a request, or --ended")
    for topic in run(withdraw(reader, name)):
        click.echo(topic)


async def withdraw(reader: Reader, name: str | None) -> list[str]:
    """The topics that were cleared. Raises `NotFoundError`, and `InputError` for others' ones."""
    async with reader.mirror(reader.connect_seconds, asking=True) as mirror:
        chosen = [*over(mirror)] if name is None else [named(mirror, name)]
        for found in chosen:
            mirror.clear(topics.REQUEST, found.place.node, **found.place.names)
    if not chosen:
        talk("no request of ours has ended")
    return [found.topic for found in chosen]


def own(mirror: Mirror) -> Iterator[Found[EvictionRequest]]:
    """Requests of this command line, whoever typed them."""
    for found in mirror.objects(topics.REQUEST):
        if found.place.participant == PARTICIPANT:
            yield found


def over(mirror: Mirror) -> Iterator[Found[EvictionRequest]]:
    """Those that have had their answer."""
    for found in own(mirror):
        status = status_of(mirror, found)
        if status is not None and request_finished(status.conditions):
            yield found


def named(mirror: Mirror, name: str) -> Found[EvictionRequest]:
    """The one that is meant, an open one before one that has had its answer.

    Only its requester may withdraw it. [contract 2]
    """
    mine = [*own(mirror)]
    meant = [found for found in mine if name in request_names(found)]
    if not meant:
        for found in mirror.objects(topics.REQUEST):
            if name in request_names(found):
                raise InputError(
                    f"{name} is a request of {found.place.participant}, which alone may withdraw it"
                )
    answered = {found.topic for found in over(mirror)}
    open_ones = [found for found in meant if found.topic not in answered]
    return the_one("request of ours", name, open_ones or mine, request_names)
