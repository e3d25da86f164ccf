"""The `reclaim` section of the configuration: what may be given back before a workload is stopped.

Each step is a switch with its figures; what is not switched on is never taken, whoever orders it.
Their order is fixed. [design, profile host: disk and inodes]
"""

from evictd_schemas.section import Section


class UnusedImages(Section, frozen=True, kw_only=True):
    """Images that no container has used for long and that a registry can give again."""

    enabled: bool = False
    unused_for: str = "168h"
    minimum_age: str = "168h"
    keep: tuple[str, ...] = ()


class DeadContainers(Section, frozen=True, kw_only=True):
    """Containers that ended long ago, with what they had written."""

    enabled: bool = False
    exited_for: str = "168h"
    keep: tuple[str, ...] = ()


class TruncateLogs(Section, frozen=True, kw_only=True):
    """Logs of running containers, emptied in place: what they held is lost."""

    enabled: bool = False
    above: str = "100Mi"
    keep: tuple[str, ...] = ()


class Reclaim(Section, frozen=True, kw_only=True):
    """What is given back besides dangling images and old build cache, in this order."""

    unused_images: UnusedImages = UnusedImages()
    dead_containers: DeadContainers = DeadContainers()
    truncate_logs: TruncateLogs = TruncateLogs()
