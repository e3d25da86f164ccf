"""The broker on trial, with the login of a person and without any."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from evictd.cli.broker import state_folder_of
from evictd.cli.checkup.broker import BrokerFacts
from evictd.cli.examination import processes
from evictd.cli.examination.foreign_file import beginning
from evictd.cli.examination.processes import BROKERS, Process
from evictd.cli.reading import broker_address
from evictd.core.errors import EvictdError
from evictd.shell.blocking import in_thread
from evictd.shell.broker.folder import Folder
from evictd.shell.bus.address import Address
from evictd.shell.bus.link_trial import trial
from evictd.shell.configuration import is_owned
from evictd_schemas.configuration import Configuration


async def broker(configuration: Configuration, every: Sequence[Process]) -> BrokerFacts:
    """Never raises for a broker that is not there."""
    owned = is_owned(configuration.broker)
    separate, running = processes.separate(every), processes.running(every)
    try:
        address = await in_thread(lambda: broker_address(configuration))
    except EvictdError as error:
        return BrokerFacts(owned=owned, missing=str(error))
    found = await trial(address)
    facts = BrokerFacts(
        url=address.url,
        owned=owned,
        here=_is_here(address),
        tls=address.tls,
        login=address.username,
        trial=found,
        separate=separate,
        running=running,
    )
    if address.username is None or found.failure is not None:
        return facts
    stranger = await trial(replace(address, username=None, password=None))
    return structs.replace(facts, anonymous=stranger)


def _is_here(address: Address) -> bool | None:
    """A name without a dot is one among containers, whose machine cannot be told."""
    if address.loopback:
        return True
    return None if "." not in address.host and ":" not in address.host else False


def broker_file(
    configuration: Configuration, given: Path | None, every: Iterable[Process]
) -> tuple[str, str] | None:
    """A Mosquitto's configuration and where it is; None where none can be read.

    The given one, that of the owned broker, or that of a Mosquitto which runs on this machine.
    """
    places = [given]
    if is_owned(configuration.broker):
        places.append(Folder(state_folder_of(configuration)).configuration)
    else:
        running = (one.given("-c") for one in every if one.name in BROKERS and not one.container)
        places += [Path(place) for place in running if place]
    for place in places:
        if place is not None and (text := beginning(place)) is not None:
            return text, str(place)
    return None
