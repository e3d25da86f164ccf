"""`evictd demo`: a simulated machine runs short, and everything that decides about it is real."""

import click

from evictd.simulation import demo


@click.command("demo")
def command() -> None:
    """Tell the story of a machine that runs short of memory. Nothing real is touched."""
    demo.run(click.echo)
