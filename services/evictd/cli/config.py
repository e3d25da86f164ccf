"""`evictd config`: check, show, and describe the configuration."""

import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click
import msgspec

from evictd.cli.broker import state_folder_of
from evictd.cli.figures import Figures, figures
from evictd.cli.last_configuration import remembered
from evictd.cli.machine import home_node
from evictd.cli.options import config_option, known_configuration, loaded, warn
from evictd.cli.proposal import propose
from evictd.cli.tables import NOTHING, aligned
from evictd.core.errors import InputError
from evictd.core.rules import Rules
from evictd.shell.configuration import Loaded, cautions_here, lines_here, rows, rules_of
from evictd_schemas.configuration import Configuration
from evictd_schemas.export import json_schema

_config_option = partial(config_option, default="the one that evictd runs with here")
HEAD = ("LINE", "KIND", "IS", "OF", "LEFT NOW", "STATE")


@click.group("config")
def command() -> None:
    """Check and show the configuration."""


@command.command("check")
@_config_option
@click.argument("argument", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option("--kubelet", is_flag=True, help="FILE is a kubelet's own, or holds its flags.")
@click.option("--node", help="Check what holds for this node, without this machine's figures.")
def check(file: Path | None, argument: Path | None, node: str | None, *, kubelet: bool) -> None:
    """Name everything that is wrong in FILE at once. Default: the one that evictd runs with here.

    Each with line, column and what was probably meant. What is legal and probably not meant is a
    warning; then comes what each line amounts to on this machine. A kubelet's own configuration is
    understood as well. Exit code 3 when something is wrong.
    """
    source = argument or file or _running()
    found = loaded(source, kubelet=kubelet)
    click.echo(f"{source or 'defaults and environment'}: in order")
    if node is None:
        here = figures(found.configuration, this_node(found.configuration), with_workloads=True)
        warn(cautions_here(found, here.observation))
        propose(found.configuration, here.observation)
        click.echo("\n".join(on_this_machine(found, here)))


@command.command("show")
@_config_option
@click.option("--node", help="Show what holds for this node. Default: this machine.")
@click.option("--origin", is_flag=True, help="Tell where each value came from.")
def show(file: Path | None, node: str | None, *, origin: bool) -> None:
    """Print every value in force."""
    found = loaded(file or _running())
    for row in rows(found, node or home_node(found.configuration)):
        line = f"{row.path}: {row.value}"
        click.echo(f"{line:<60}  # {row.origin}" if origin else line)


@command.command("schema")
def schema() -> None:
    """Print a JSON Schema of the file, for editors."""
    document = msgspec.json.encode(json_schema(Configuration), order="sorted")
    click.echo(msgspec.json.format(document, indent=2).decode())


def _running() -> Path | None:
    """The file that evictd runs with here."""
    return remembered(state_folder_of(known_configuration(None)))


def this_node(configuration: Configuration) -> str:
    """The name of this machine; for a check one that does not last is good enough."""
    try:
        return home_node(configuration)
    except InputError:
        return socket.gethostname()


def on_this_machine(found: Loaded, here: Figures) -> Iterator[str]:
    """What holds for this machine, and each line in the unit of its signal."""
    rules = rules_of(found.configuration, here.observation.node)
    yield ""
    yield f"on this machine ({rules.node}): {_manner(found, rules)}"
    if rules.reclaim_steps:
        yield f"given back before anybody is stopped for a disk: {', '.join(rules.reclaim_steps)}"
    if found.configuration.responders:
        names = ", ".join(one.name for one in found.configuration.responders)
        yield f"asked before a workload is stopped, while `evictd respond` runs: {names}"
    for source, reason in sorted(here.failures.items()):
        yield f"{source} cannot be read: {reason}"
    yield ""
    lines = [
        (line.text, line.kind, line.amount, line.capacity, line.left, line.state)
        for line in lines_here(rules, here.observation)
    ]
    yield from aligned(HEAD, [tuple(cell or NOTHING for cell in line) for line in lines])
    if not lines:
        yield "no line is in force: nothing is ever short"


def _manner(found: Loaded, rules: Rules) -> str:
    profile = {row.path: row.value for row in rows(found, rules.node)}["profile"]
    return (
        f"profile {profile}, mode {rules.mode}, candidates {rules.candidates}; "
        f"a condition stays {rules.transition_seconds:g} s after its signals recovered"
    )
