"""For whom the doctor asks: in a container of one worker not every right and view is needed."""

from evictd.shell.broker.access import USERS
from evictd_schemas.configuration import Configuration
from evictd_schemas.topics import ALL, Role

STOPPING = frozenset({ALL, Role.RESPONDER.value})
WATCHING = frozenset({ALL, Role.COLLECTOR.value})


def stops(configuration: Configuration, container: str) -> bool:
    """Whether whoever is here may have to stop workloads."""
    return _is_any_of(STOPPING, configuration, container)


def watches(configuration: Configuration, container: str) -> bool:
    """Whether whoever is here looks at the machine."""
    return _is_any_of(WATCHING, configuration, container)


def _is_any_of(logins: frozenset[str], configuration: Configuration, container: str) -> bool:
    """Only in a container does a login of ours say which worker this is; else all may run here."""
    login = configuration.broker_user
    return not container or login in logins or login not in USERS
