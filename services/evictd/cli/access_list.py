"""`evictd access-list`: what the broker has to let whom do, from the contract's topic table."""

from pathlib import Path

import click

from evictd.cli.broker import askings
from evictd.cli.options import config_option, loaded
from evictd.shell.broker.access import access_list, outsider_problem
from evictd_schemas.topics import segment_problem


@click.command("access-list")
@config_option
@click.argument("outsiders", nargs=-1, metavar="[USER=DOMAIN/KEY]...")
def command(file: Path | None, outsiders: tuple[str, ...]) -> None:
    """Print Mosquitto's `acl_file`.

    Each USER=DOMAIN/KEY is the login of an outside program and the name under which it may ask,
    report and wish, such as mover=acme.io/mover. Where `responders:` in the configuration have a
    topic of a workload, the login of that name may ask there, and so may the operator's.
    """
    logins = dict(map(outsider, outsiders))
    if len(logins) < len(outsiders):
        raise click.BadParameter("a login has one name: give each USER once")
    found = askings(loaded(file).configuration)
    click.echo(access_list(logins, found), nl=False)


def outsider(text: str) -> tuple[str, tuple[str, str]]:
    """User, and the two parts of its name. Raises `BadParameter`."""
    user, _, name = text.partition("=")
    domain, _, key = name.partition("/")
    if not user or any(segment_problem(level) for level in (domain, key)):
        raise click.BadParameter(f"{text!r} is not written like mover=acme.io/mover")
    if (problem := outsider_problem(user, (domain, key))) is not None:
        raise click.BadParameter(f"{text!r}: {problem}")
    return user, (domain, key)
