"""`evictd config`: check, show, and describe the configuration."""

from pathlib import Path

import click
import msgspec

from evictd.cli.machine import home_node
from evictd.cli.options import config_option, loaded
from evictd.shell.configuration import rows
from evictd_schemas.configuration import Configuration
from evictd_schemas.export import json_schema


@click.group("config")
def command() -> None:
    """Check and show the configuration."""


@command.command("check")
@config_option
@click.argument("argument", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
def check(file: Path | None, argument: Path | None) -> None:
    """Name everything that is wrong in FILE at once, with line, column and what was meant.

    A kubelet's own configuration is understood as well. Exit code 3 when something is wrong.
    """
    source = argument or file
    loaded(source)
    click.echo(f"{source or 'defaults and environment'}: in order")


@command.command("show")
@config_option
@click.option("--node", help="Show what holds for this node. Default: this machine.")
@click.option("--origin", is_flag=True, help="Tell where each value came from.")
def show(file: Path | None, node: str | None, *, origin: bool) -> None:
    """Print every value in force."""
    found = loaded(file)
    for row in rows(found, node or home_node(found.configuration)):
        line = f"{row.path}: {row.value}"
        click.echo(f"{line:<60}  # {row.origin}" if origin else line)


@command.command("schema")
def schema() -> None:
    """Print a JSON Schema of the file, for editors."""
    document = msgspec.json.encode(json_schema(Configuration), order="sorted")
    click.echo(msgspec.json.format(document, indent=2).decode())
