"""`evictd replay FILE`: a recording decided again, and what comes out otherwise."""

import sys
from pathlib import Path

import click

from evictd.cli.options import loaded
from evictd.simulation import recording
from evictd.simulation.replay import Difference, replay

TEXT_CHARACTERS_MAX = 300
"""Of one difference; the file has the whole."""


@click.command("replay")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Decide under this configuration. Default: the recorded one.",
)
def command(file: Path, config: Path | None) -> None:
    """Decide the recording in FILE again and print each difference; exit code 1 if there is one.

    With --config: what another configuration would have decided.
    """
    configuration = None if config is None else loaded(config).configuration
    report = replay(recording.read(file), configuration)
    for difference in report.differences:
        for line in lines_of(file, difference):
            click.echo(line)
    for topic, count in report.compared.items():
        click.echo(f"{topic}: {count} decided again", err=True)
    if not report.compared:
        click.echo("nothing was decided in this recording", err=True)
    if report.differences:
        click.echo(f"{len(report.differences)} came out otherwise", err=True)
        sys.exit(1)
    click.echo("all the same", err=True)


def lines_of(file: Path, difference: Difference) -> list[str]:
    """One line a field, with the place in the recording."""
    place = f"{file}:{difference.line}: {difference.topic} {difference.sequence}"
    return [f"{place}: {_cut(text)}" for text in difference.what]


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CHARACTERS_MAX else f"{text[:TEXT_CHARACTERS_MAX]}…"
