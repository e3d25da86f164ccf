"""The configuration's `reclaim:` as figures that runtimes take. It reads no file.

Only what is switched on is here: a runtime knows no other step, whoever orders it.
"""

from fnmatch import fnmatchcase

from msgspec import Struct

from evictd.shell.configuration import bytes_of, seconds_of
from evictd_schemas.configuration import Configuration


class Kept(Struct, frozen=True, kw_only=True):
    """Names that a step leaves alone, as patterns."""

    patterns: tuple[str, ...] = ()

    def holds(self, *names: str) -> bool:
        """Whether any of the names of one thing matches."""
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.patterns)


class UnusedImages(Struct, frozen=True, kw_only=True):
    """Images that nothing has used for so long, and that have been here for so long."""

    unused_seconds: float
    minimum_age_seconds: float
    kept: Kept = Kept()


class DeadContainers(Struct, frozen=True, kw_only=True):
    """Containers that ended so long ago."""

    exited_seconds: float
    kept: Kept = Kept()


class LongLogs(Struct, frozen=True, kw_only=True):
    """Logs of containers that run, above so many bytes."""

    above_bytes: int
    kept: Kept = Kept()


class Reclaims(Struct, frozen=True, kw_only=True):
    """What may be given back besides what every engine gives back; None: switched off."""

    unused_images: UnusedImages | None = None
    dead_containers: DeadContainers | None = None
    long_logs: LongLogs | None = None


def reclaims_of(configuration: Configuration) -> Reclaims:
    """Compiled. The loader has refused what is no duration or quantity."""
    given = configuration.reclaim
    images, dead, logs = given.unused_images, given.dead_containers, given.truncate_logs
    return Reclaims(
        unused_images=UnusedImages(
            unused_seconds=seconds_of(images.unused_for) or 0.0,
            minimum_age_seconds=seconds_of(images.minimum_age) or 0.0,
            kept=Kept(patterns=images.keep),
        )
        if images.enabled
        else None,
        dead_containers=DeadContainers(
            exited_seconds=seconds_of(dead.exited_for) or 0.0, kept=Kept(patterns=dead.keep)
        )
        if dead.enabled
        else None,
        long_logs=LongLogs(above_bytes=bytes_of(logs.above) or 0, kept=Kept(patterns=logs.keep))
        if logs.enabled
        else None,
    )
