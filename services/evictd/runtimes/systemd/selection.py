"""Which units their owner has listed: names and patterns of services, scopes and slices."""

from fnmatch import fnmatchcase

from evictd.shell.configuration.units import patterns
from evictd_schemas.sources import SystemdSource


class Selection:
    """What `systemctl` is asked for."""

    def __init__(self, source: SystemdSource) -> None:
        self.patterns = patterns(source)
        self._has_slices = bool(source.slices)

    def covers(self, name: str) -> bool:
        """Whether a unit of this name was listed."""
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def may_cover(self, name: str) -> bool:
        """Whether a change of this unit may be one of a workload: it may be in a listed slice."""
        return self._has_slices or self.covers(name)
