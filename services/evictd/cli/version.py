"""`evictd version`."""

from importlib.metadata import version

import click


@click.command("version")
def command() -> None:
    """Print the version of this program."""
    click.echo(f"evictd {version('evictd')}")
