"""What holds where nothing is given: an upper layer's keys before a lower one's, and the profile's
last."""

import os
from pathlib import Path

from evictd.shell.configuration.profiles import profile_of
from evictd_schemas.configuration import NodeSettings

OWNED = "owned"
"""The broker that evictd starts itself."""
DEMONSTRATION = ("demo-*",)
"""Served without being asked on a loopback broker. [contract 2]"""


def over(upper: NodeSettings | None, lower: NodeSettings) -> NodeSettings:
    """The keys given in the upper settings, the rest from the lower ones."""
    values = {}
    for name in NodeSettings.__struct_fields__:
        own = None if upper is None else getattr(upper, name)
        values[name] = getattr(lower, name) if own is None else own
    return NodeSettings(**values)


def complete(settings: NodeSettings) -> NodeSettings:
    """Settings in which only the lines may be absent."""
    return over(settings, profile_of(settings).defaults)


SYSTEM_STATE = Path("/var/lib/evictd")
"""Of an evictd that runs as root."""


def state_folder() -> Path:
    """Where journals and the owned broker are kept."""
    if os.geteuid() == 0:
        return SYSTEM_STATE
    return Path.home() / ".local" / "state" / "evictd"
