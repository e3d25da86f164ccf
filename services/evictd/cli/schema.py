"""`evictd schema`: the contract as documents."""

from pathlib import Path

import click

from evictd.core.errors import HostError
from evictd_schemas.export import documents


@click.group("schema")
def command() -> None:
    """The schemas of all messages."""


@command.command("export")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def export(folder: Path) -> None:
    """Write all schemas into FOLDER.

    A JSON Schema for each message, and the AsyncAPI description.
    """
    for path, text in documents():
        target = folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        except OSError as error:
            raise HostError(f"{target}: cannot be written: {error.strerror}") from error
        click.echo(str(target))
