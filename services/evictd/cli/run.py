"""`evictd run WORKER`: one worker as a process of its own."""

import asyncio
from pathlib import Path

import click

from evictd.cli.assembly import ROLES, assembly
from evictd.cli.broker import address_of
from evictd.cli.options import loaded, process_options
from evictd.core.errors import InputError
from evictd.shell.configuration import is_owned
from evictd_schemas.topics import Role


@click.command("run")
@click.argument("worker", type=click.Choice([role.value for role in ROLES]))
@process_options
def command(worker: str, file: Path | None, broker: str | None, node: str | None) -> None:
    """Run one WORKER until SIGTERM. It needs the address of a broker."""
    configuration = loaded(file, broker=broker, node=node).configuration
    if is_owned(configuration.broker):
        raise InputError(
            "a single worker needs the address of a broker: "
            "--broker mqtt://127.0.0.1:1883, or EVICTD_BROKER"
        )
    one = assembly(configuration, (Role(worker),))
    asyncio.run(one.run(address_of(configuration, one.worker)))
