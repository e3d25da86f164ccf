"""`evictd node-name`: asked once, so that only one container needs the engine's socket for it."""

from pathlib import Path
from uuid import uuid4

import click

from evictd.cli.machine import SHARED_IDENTITY, home_node
from evictd.cli.options import config_option, loaded
from evictd.core.errors import HostError
from evictd.shell import whole_file

READABLE = 0o644
"""For the users of the other containers."""


@click.command("node-name")
@config_option
@click.option(
    "--write", "target", type=click.Path(dir_okay=False, path_type=Path), help="File to write."
)
def command(file: Path | None, target: Path | None) -> None:
    """Print the name of this machine on the bus, or write it to a file.

    Beside a written name stands what tells this machine from another one of the same name, made
    once and kept.
    """
    name = home_node(loaded(file).configuration)
    if target is None:
        click.echo(name)
        return
    identity = target.with_name(SHARED_IDENTITY.name)
    try:
        whole_file.replace(target, f"{name}\n".encode(), READABLE)
        if not identity.exists():
            whole_file.replace(identity, f"{uuid4().hex}\n".encode(), READABLE)
    except OSError as error:
        raise HostError(f"{error.filename}: cannot be written: {error.strerror}") from error
