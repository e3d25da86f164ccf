"""`evictd simulate FILE`: what would be decided, on virtual time; nothing real is touched."""

from pathlib import Path

import click

from evictd.cli.options import warn
from evictd.cli.tables import json_text
from evictd.simulation import telling
from evictd.simulation.scenario_file import load_scenario
from evictd.simulation.story import play


@click.command("simulate")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "json"]),
    default="table",
    help="A table, the same with reasons and the whole order, or JSON.",
)
def command(file: Path, output: str) -> None:
    """Play the scenario in FILE and print each decision.

    A scenario holds a configuration, pods, and steps with figures, raw /proc files, or a kubelet's
    Summary. Exit code 3 with the place of everything that is wrong in it.
    """
    scenario = load_scenario(file)
    warn(scenario.warnings)
    turns = play(scenario)
    if output == "json":
        click.echo(json_text(telling.document(scenario, turns)))
    else:
        click.echo(telling.table(scenario, turns, wide=output == "wide"))
