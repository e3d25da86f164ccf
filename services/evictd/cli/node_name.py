"""`evictd node-name`: asked once, so that only one container needs the engine's socket for it."""

from pathlib import Path

import click

from evictd.cli.machine import home_node
from evictd.cli.options import config_option, loaded
from evictd.core.errors import HostError


@click.command("node-name")
@config_option
@click.option(
    "--write", "target", type=click.Path(dir_okay=False, path_type=Path), help="File to write."
)
def command(file: Path | None, target: Path | None) -> None:
    """Print the name of this machine on the bus, or write it to a file."""
    name = home_node(loaded(file).configuration)
    if target is None:
        click.echo(name)
        return
    fresh = target.with_suffix(".new")
    try:
        fresh.write_text(f"{name}\n", encoding="utf-8")
        fresh.chmod(0o644)
        fresh.replace(target)
    except OSError as error:
        raise HostError(f"{target}: cannot be written: {error.strerror}") from error
