"""`evictd client-config`: option files with which mosquitto_pub and mosquitto_sub need no flags."""

import os
from pathlib import Path

import click

from evictd.cli.broker import operator_address
from evictd.cli.options import config_option, loaded
from evictd.core.errors import HostError, InputError
from evictd.shell import whole_file
from evictd.shell.broker.access import OPERATOR, VIEWER, WORKLOAD
from evictd.shell.bus.address import Address

CLIENTS = ("mosquitto_pub", "mosquitto_sub")
SIGNATURE = "# written by evictd client-config\n"
"""How a file of ours is known again; the clients pass comments over."""


@click.command("client-config")
@config_option
@click.option("--broker", help="Broker to write down. Default: the configuration's.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to write. Default: where the clients look, $XDG_CONFIG_HOME or ~/.config.",
)
@click.option("--force", is_flag=True, help="Overwrite files that somebody else wrote.")
@click.option(
    "--login",
    type=click.Choice((OPERATOR, VIEWER, WORKLOAD)),
    default=OPERATOR,
    help="Whose. Default: operator, who may do everything; workload answers `responders:`.",
)
def command(
    file: Path | None, broker: str | None, folder: Path | None, login: str, *, force: bool
) -> None:
    """Write option files, so that mosquitto_pub and mosquitto_sub need no flags.

    The files hold a password and are readable by you alone.
    """
    text = option_text(operator_address(loaded(file, broker=broker).configuration, login))
    paths = [(folder or option_folder()) / client for client in CLIENTS]
    for path in paths:
        if not force:
            refuse_foreign(path)
    for path in paths:
        write(path, text)
        click.echo(str(path))


def option_text(address: Address) -> str:
    """One option a line."""
    options = [f"-h {address.host}", f"-p {address.port}", "-V 5"]
    if address.username is not None:
        options.append(f"-u {address.username}")
    if address.password is not None:
        options.append(f"-P {address.password}")
    if address.tls:
        options.append("--tls-use-os-certs")
    return SIGNATURE + "\n".join(options) + "\n"


def refuse_foreign(path: Path) -> None:
    """Raises `InputError` for a file that this command did not write."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    except OSError as error:
        raise HostError(f"{path}: cannot be read: {error.strerror}") from error
    if not text.startswith(SIGNATURE):
        raise InputError(
            f"{path} is there already and is not ours: --force overwrites it, "
            "--folder writes elsewhere (and XDG_CONFIG_HOME lets the clients look there)"
        )


def write(path: Path, text: str) -> None:
    """Readable by this user alone, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole_file.replace(path, text.encode())
    except OSError as error:
        raise HostError(f"{path}: cannot be written: {error.strerror}") from error


def option_folder() -> Path:
    """Where the standard clients look."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return Path(home) if home else Path.home() / ".config"
