"""`evictd demo`: a simulated machine runs short, and everything that decides about it is real."""

import asyncio
import tempfile
from pathlib import Path

import click

from evictd.cli.broker import address_of, operator_address
from evictd.cli.options import loaded, process_options
from evictd.shell.configuration import is_owned
from evictd.simulation import demo, guest


@click.command("demo")
@click.option("--bus", is_flag=True, help="Take part on a broker until SIGTERM, as node demo-1.")
@process_options
def command(*, bus: bool, file: Path | None, broker: str | None, node: str | None) -> None:
    """Tell the story of a machine that runs short of memory. Nothing real is touched.

    With --bus the machine is a node on the broker, and the evictd that serves it decides.
    """
    if not bus:
        demo.run(click.echo)
        return
    configuration = loaded(file, broker=broker).configuration
    machine = demo.machine(drains=False)
    machine.node = node or demo.NODE
    owned = is_owned(configuration.broker)
    address = operator_address(configuration) if owned else address_of(configuration, "demo")
    with tempfile.TemporaryDirectory() as folder:  # a simulated machine begins anew each time
        asyncio.run(guest.take_part(machine, demo.rules_for(machine.node), address, Path(folder)))
