"""Which units their owner has listed: names and patterns of services, scopes and slices."""

from fnmatch import fnmatchcase

from evictd.shell.configuration.units import patterns
from evictd_schemas.sources import SystemdSource


class Selection:
    """What `systemctl` is asked for."""

    def __init__(self, source: SystemdSource) -> None:
        self.patterns = patterns(source)

    def covers(self, name: str) -> bool:
        """Whether a unit of this name was listed."""
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)
