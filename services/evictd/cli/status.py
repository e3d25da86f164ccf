"""`evictd status`, and `evictd` without a verb: how a machine is, on one screen."""

import sys
from dataclasses import replace
from typing import Any

import click
from msgspec import structs

from evictd.cli import absence, offline, standing_text
from evictd.cli.broker import state_folder_of
from evictd.cli.config import this_node
from evictd.cli.machine import home_node
from evictd.cli.past import journal_of
from evictd.cli.reading import Reader, reader_options, run, talk, utc_now
from evictd.cli.situation import NotFoundError, not_observed, running_configuration
from evictd.cli.standing import Standing, standing
from evictd.cli.tables import Output, json_text, output_option
from evictd.core.errors import PeerError
from evictd_schemas import topics
from evictd_schemas.configuration import Configuration

CONNECT_SECONDS = 3.0
"""A person looks at an empty screen meanwhile, and the journal has an answer too."""
OF_A_NODE: tuple[topics.Topic[Any], ...] = (topics.OBSERVATION, topics.PRESSURE, topics.DECISION)
"""A node of which none of these is there is none, or mistyped."""


@click.command("status")
@output_option(Output.TABLE, Output.JSON)
@reader_options(node="this machine", timeout="for the broker. Default: 3")
def command(reader: Reader, output: str) -> None:
    """Print conditions, what is down because of evictd, who is next, and which worker is late.

    Of this machine, or of --node. Where no broker answers, what this machine's journal, its
    workers' signs of life and a look at the machine itself tell; the exit code is 5 then.
    """
    configuration = running_configuration(reader.file, reader.broker)
    node = reader.node or home_node(configuration)
    try:
        told = run(_looked(reader, configuration, node))
    except PeerError as error:
        talk(f"evictd: {error}")
        here = node if reader.node is None else this_node(configuration)
        found = offline.standing(configuration, here, journal_of(configuration), utc_now())
        _print(_with_file_holds(found, configuration), output)
        sys.exit(error.exit_code)
    if reader.node is None:  # a worker may stand as ready on the bus and show no life here
        told = structs.replace(told, late=(*told.late, *offline.late_workers()))
        told = _with_file_holds(told, configuration)
    _print(told, output)


def _with_file_holds(told: Standing, configuration: Configuration) -> Standing:
    """What the hold file of this machine adds to what is known already."""
    known = {text.rpartition(", by ")[0] for text in told.holds}
    found = absence.file_holds(state_folder_of(configuration), utc_now())
    more = (text for text in found if text.rpartition(", by the file ")[0] not in known)
    return structs.replace(told, holds=(*told.holds, *more))


async def _looked(reader: Reader, configuration: Configuration, node: str) -> Standing:
    seconds = CONNECT_SECONDS if reader.timeout is None else reader.timeout
    everywhere = replace(reader, node=None)  # whose workers decide here may be another node's
    async with everywhere.mirror(seconds) as mirror:
        known = {found.place.node for kind in OF_A_NODE for found in mirror.objects(kind)}
        if reader.node is not None and node not in known:
            raise NotFoundError(not_observed(mirror, node))
        told = standing(mirror, configuration, node, utc_now())
        return told if reader.node is None else structs.replace(told, others=())


def _print(told: Standing, output: str) -> None:
    if output == Output.JSON:
        click.echo(json_text(told))
        return
    for line in standing_text.lines(told, utc_now()):
        click.echo(line)
