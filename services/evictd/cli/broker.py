"""Which broker, and with which login: the configured one, or the one that evictd owns."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from evictd.client import Mirror, connect
from evictd.core.errors import PeerError
from evictd.shell.broker import owned_address
from evictd.shell.broker.access import OPERATOR, Asking
from evictd.shell.bus.address import Address, address
from evictd.shell.configuration import is_owned, state_folder
from evictd.shell.configuration.responders import exchange
from evictd_schemas.configuration import Configuration


def address_of(configuration: Configuration, worker: str) -> Address:
    """The configured broker with the login of a worker; no password means no login."""
    found = address(configuration.broker or "")
    if configuration.broker_password is None:
        return found
    user = configuration.broker_user or found.username or worker
    return replace(found, username=user, password=configuration.broker_password)


def operator_address(configuration: Configuration, login: str = OPERATOR) -> Address:
    """The broker as a person uses it: with the operator's login where evictd owns it.

    Or with another `login` of that broker.
    """
    if not is_owned(configuration.broker):
        return address_of(configuration, login)
    return owned_address(state_folder_of(configuration), login)


def askings(configuration: Configuration) -> tuple[Asking, ...]:
    """Who asks workloads on topics of theirs, for the broker's access list."""
    found = ((entry.name, exchange(entry)) for entry in configuration.responders)
    return tuple(Asking(responder=name, exchange=where) for name, where in found if where)


@asynccontextmanager
async def reached(
    configuration: Configuration, where: Address, node: str, seconds: float
) -> AsyncIterator[Mirror]:
    """A mirror. Raises `PeerError`, which tells how to get a broker of evictd's own to run."""
    async with AsyncExitStack() as stack:
        try:
            mirror = await stack.enter_async_context(connect(where, node, seconds=seconds))
        except PeerError as error:
            hint = "; does evictd run here? `evictd up` starts it"
            raise PeerError(f"{error}{hint if is_owned(configuration.broker) else ''}") from error
        yield mirror


def state_folder_of(configuration: Configuration) -> Path:
    """The configured folder, or the one for this user; it may not exist yet."""
    given = configuration.state_folder
    return state_folder() if given is None else Path(given).expanduser()
