"""Options that several verbs share, and loading the configuration they name."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from evictd.shell.configuration import ConfigurationError, Loaded, Problem, load
from evictd_schemas.configuration import Configuration

Command = Callable[..., Any]


def config_option(command: Command, default: str = "none, everything has a default") -> Command:
    """`--config FILE`; `default` is what holds without it, as the help tells."""
    return click.option(
        "--config",
        "file",
        type=click.Path(dir_okay=False, path_type=Path),
        envvar="EVICTD_CONFIG",
        help=f"Configuration file. Default: {default}.",
    )(command)


def process_options(command: Command) -> Command:
    """What every verb that starts workers takes."""
    command = click.option("--node", help="Name of this machine on the bus.")(command)
    command = click.option("--broker", help="Broker, such as mqtt://127.0.0.1:1883, or owned.")(
        command
    )
    return config_option(command)


def loaded(file: Path | None, *, kubelet: bool = False, **flags: str | None) -> Loaded:
    """The configuration with environment and flags; warnings are told on stderr."""
    try:
        found = load(file, variables=os.environ, flags=flags, kubelet=kubelet)
    except ConfigurationError as error:
        warn(error.warnings)
        raise
    warn(found.warnings)
    return found


def known_configuration(file: Path | None, **flags: str | None) -> Configuration:
    """What the workers go by. Its warnings are for who runs them, not for who reads."""
    return load(file, variables=os.environ, flags=flags).configuration


def warn(warnings: tuple[Problem, ...]) -> None:
    """One line each, apart from the data."""
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
