"""`evictd doctor`: what is right here, what is not, what that means, what to do about it."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from evictd.cli.checkup.findings import Finding, State
from evictd.cli.examination.everything import examined, findings
from evictd.cli.options import config_option
from evictd.cli.reading import talk
from evictd.cli.tables import Output, json_text, output_option

STATE_WIDTH = max(map(len, State)) + 2
CHECK_WIDTH = 28
MORE = " " * STATE_WIDTH
COUNTED = {
    State.PROBLEM: ("problem", "problems"),
    State.NOTE: ("note", "notes"),
    State.OK: ("ok", "ok"),
}
"""One of them and several."""


@click.command("doctor")
@config_option
@click.option("--broker", help="Broker. Default: the configured one, or this machine's.")
@click.option(
    "--broker-file",
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    help="Look at this configuration of a Mosquitto. Default: that of the one that runs here.",
)
@output_option(Output.TABLE, Output.JSON)
def command(file: Path | None, broker: str | None, broker_file: Path | None, output: str) -> None:
    """Examine this machine, its engine, its broker and the configuration.

    Each line is ok, a note or a problem; a problem comes with what it means and what to do. Nothing
    is changed. Exit code 1 where there is a problem.
    """
    found = [*findings(examined(file, broker, broker_file))]
    if output == Output.JSON:
        click.echo(json_text(found))
    else:
        for one in found:
            click.echo("\n".join(lines(one)))
        talk(summary(found))
    if any(one.state is State.PROBLEM for one in found):
        sys.exit(1)


def lines(finding: Finding) -> Iterator[str]:
    """The finding, and below it what it means and what to do."""
    state = f"{finding.state:<{STATE_WIDTH}}"
    yield f"{state}{finding.check:<{CHECK_WIDTH}}  {finding.text}"
    if finding.means:
        yield f"{MORE}means: {finding.means}"
    if finding.remedy:
        yield f"{MORE}to do: {finding.remedy}"


def summary(found: Sequence[Finding]) -> str:
    """How many of each."""
    counts = Counter(one.state for one in found)
    words = (
        (counts[state], one if counts[state] == 1 else many)
        for state, (one, many) in COUNTED.items()
    )
    return ", ".join(f"{count} {word}" for count, word in words)
