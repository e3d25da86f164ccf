"""The broker that evictd starts, guards and ends itself, and what any broker must let whom do.

It knows Mosquitto's files and processes. It does not connect to it. [mqtt 3]
"""

from evictd.shell.broker.access import USERS, access_list
from evictd.shell.broker.logins import new_password, password_file
from evictd.shell.broker.owned import OwnedBroker, owned_address

__all__ = [
    "USERS",
    "OwnedBroker",
    "access_list",
    "new_password",
    "owned_address",
    "password_file",
]
