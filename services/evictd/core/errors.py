"""The family of errors, by who has to do something about it.

    EvictdError
    ├── InputError    your input is wrong (configuration, command line)
    ├── PeerError     the other side broke the contract or is not there (broker, engine)
    ├── HostError     the machine refused (permission, missing file system, full disk)
    └── Bug           we are wrong; please report

Expected absence (a container that has just gone) is a value, never one of these.
"""

from typing import ClassVar


class EvictdError(Exception):
    """Base of the family; `exit_code` is what a command ends with."""

    exit_code: ClassVar[int] = 1


class InputError(EvictdError):
    """Your input is wrong. The text names the place and what was probably meant."""

    exit_code = 3


class PeerError(EvictdError):
    """The broker, an engine or another program broke its contract or cannot be reached."""

    exit_code = 5


class HostError(EvictdError):
    """The machine refused something that evictd needs."""

    exit_code = 1


class Bug(EvictdError):
    """A state that cannot be. Please report it with the text."""

    exit_code = 1
