"""`evictd up`: every worker in one process, with a broker of its own unless one is named."""

import asyncio
from pathlib import Path

import click

from evictd.cli.assembly import Assembly, assembly, folder_of_state
from evictd.cli.broker import address_of, askings
from evictd.cli.figures import figures
from evictd.cli.last_configuration import remember
from evictd.cli.options import loaded, process_options, warn
from evictd.cli.proposal import awaits_candidates, propose
from evictd.shell.broker import OwnedBroker
from evictd.shell.configuration import cautions_here, is_owned, owned_port, rules_of


@click.command("up")
@process_options
def command(file: Path | None, broker: str | None, node: str | None) -> None:
    """Run every worker in this process until SIGTERM or Ctrl-C.

    Without --broker evictd starts a Mosquitto of its own and ends it with itself.
    """
    found = loaded(file, broker=broker, node=node)
    everything = assembly(found.configuration)
    rules = rules_of(found.configuration, everything.node)
    here = figures(found.configuration, everything.node, with_workloads=awaits_candidates(rules))
    warn(cautions_here(found, here.observation))
    propose(found.configuration, here.observation)
    remember(folder_of_state(found.configuration), file)
    asyncio.run(up(everything))


async def up(everything: Assembly) -> None:
    """With the configured broker, or inside the life of an owned one."""
    configuration = everything.configuration
    if not is_owned(configuration.broker):
        await everything.run(address_of(configuration, everything.worker))
        return
    folder = folder_of_state(configuration)
    port = owned_port(configuration.broker)
    async with OwnedBroker(folder, port, askings(configuration)) as broker:
        await everything.run(broker.address(everything.worker))
