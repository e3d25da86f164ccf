"""How every verb that reads the bus gets there: the same options, one mirror, one way to end.

Which broker and login: a flag, the environment or the configuration; else the broker that evictd
itself runs on this machine; else what `evictd client-config` wrote down.
"""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click

from evictd.cli.broker import operator_address, reached
from evictd.cli.client_configuration import CLIENTS, SIGNATURE, option_folder
from evictd.cli.options import Command, config_option, known_configuration
from evictd.cli.situation import EVERYWHERE
from evictd.client import Mirror
from evictd.core.errors import HostError, InputError, PeerError
from evictd.shell import logs
from evictd.shell.blocking import in_thread
from evictd.shell.broker.access import OPERATOR, USERS
from evictd.shell.bus.address import PORT_MAX, Address
from evictd.shell.configuration import SYSTEM_STATE, is_owned
from evictd.shell.kernel_text import number
from evictd_schemas.configuration import Configuration
from evictd_schemas.topics import segment_problem

T = TypeVar("T")

PARTICIPANT = "evictd.io/cli"
"""As whom the command line asks and wishes, whoever types."""
CONNECT_SECONDS = 5.0
"""Until everything retained is here; a broker that is there needs well under one."""
INTERRUPTED = 130
"""Exit code after Ctrl-C."""
READERS = frozenset(USERS) - {OPERATOR}
"""Logins of the shipped access list whose requests the broker drops without a word."""


class TimedOutError(PeerError):
    """What was waited for did not come in time."""

    exit_code: ClassVar[int] = 6


@dataclass(frozen=True, kw_only=True)
class Reader:
    """What the options of a reading verb say."""

    file: Path | None
    broker: str | None
    node: str | None
    timeout: float | None

    def configuration(self) -> Configuration:
        """Raises `ConfigurationError`."""
        return known_configuration(self.file, broker=self.broker)

    @asynccontextmanager
    async def mirror(
        self, seconds: float | None = None, *, asking: bool = False
    ) -> AsyncIterator[Mirror]:
        """Everything retained of the node, or of all. Raises `PeerError` without a broker, and
        `InputError` for who is `asking` with a login that may not."""
        configuration = await in_thread(self.configuration)
        address = await in_thread(lambda: broker_address(configuration))
        if asking and address.username in READERS:
            raise InputError(
                f"the login {address.username} may read everything and ask for nothing; "
                "the operator's may, which `docker compose run --rm cli` has"
            )
        patience = CONNECT_SECONDS if seconds is None else seconds
        logs.configure(worker="reader", node=self.node or "", level=logging.CRITICAL)
        async with reached(configuration, address, self.node or EVERYWHERE, patience) as mirror:
            yield mirror

    @property
    def connect_seconds(self) -> float:
        """How long a verb that only reads once waits for the broker."""
        return CONNECT_SECONDS if self.timeout is None else self.timeout


def reader_options(
    *, node: str = "every node on the bus", timeout: str = "for the broker. Default: 5"
) -> Callable[[Command], Command]:
    """Where to read, of which node, for how long; the verb gets one `Reader`.

    `node` is the default and `timeout` what is waited for, as the help tells them.
    """
    options = (
        click.option("--timeout", type=click.FloatRange(min=0), help=f"Seconds to wait {timeout}."),
        click.option("--node", help=f"Only this node. Default: {node}."),
        click.option("--broker", help="Broker. Default: the configured one, or this machine's."),
        config_option,
    )

    def decorated(command: Command) -> Command:
        wrapped: Command = _with_reader(command)
        for option in options:
            wrapped = option(wrapped)
        return wrapped

    return decorated


def _with_reader(command: Command) -> Command:
    @wraps(command)  # click keeps a command's options with the function
    def call(
        *,
        file: Path | None,
        broker: str | None,
        node: str | None,
        timeout: float | None,
        **rest: Any,
    ) -> Any:
        if node is not None and (problem := segment_problem(node)) is not None:
            raise InputError(f"{node!r} is no node: {problem}")
        return command(Reader(file=file, broker=broker, node=node, timeout=timeout), **rest)

    return call


def broker_address(configuration: Configuration) -> Address:
    """As a person uses it. Raises `PeerError` where none is known."""
    try:
        return operator_address(configuration)
    except (InputError, HostError) as error:
        noted = noted_address() if is_owned(configuration.broker) else None
        if noted is not None:
            return noted
        remedy = "" if isinstance(error, HostError) else f": {_remedy()}"
        raise PeerError(f"{error}{remedy}") from error


def _remedy() -> str:
    if os.geteuid() != 0 and SYSTEM_STATE.exists():
        return "evictd runs as root here, so try sudo, or name a broker by --broker"
    return "start `evictd up`, or name a broker by --broker or EVICTD_BROKER"


def noted_address() -> Address | None:
    """What `evictd client-config` has written for the standard clients; None where it has not."""
    try:
        text = (option_folder() / CLIENTS[0]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if not text.startswith(SIGNATURE):
        return None
    options = dict(line.partition(" ")[::2] for line in text.splitlines())
    port = number(options.get("-p", ""), PORT_MAX)
    if "-h" not in options or not port:
        return None
    return Address(
        host=options["-h"],
        port=port,
        username=options.get("-u"),
        password=options.get("-P"),
        tls="--tls-use-os-certs" in options,
    )


def run(work: Coroutine[Any, Any, T]) -> T:
    """Do it; Ctrl-C is an ordinary end."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def talk(text: str) -> None:
    """To the person, apart from the data."""
    click.echo(text, err=True)


def utc_now() -> datetime:
    """For ages that people read."""
    return datetime.now(UTC)
