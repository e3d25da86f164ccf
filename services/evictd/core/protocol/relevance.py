"""Which Eviction of a target counts, and whether another may be made. [eviction-request-api 5.3]"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias

from evictd.core.protocol.conditions import NEVER, eviction_finished, holds, transition_time
from evictd.core.protocol.vocabulary import ConditionType
from evictd_schemas import Eviction

Natural: TypeAlias = tuple[tuple[str, int], ...]

_EVICTED = ConditionType.TARGET_EVICTED
_NUMBERS = re.compile(r"([0-9]+)")


def relevant(evictions: Sequence[Eviction]) -> tuple[Eviction | None, bool]:
    """The Eviction that a request shows, and whether a new one may be created.

    The newest success, else the oldest that runs, else the newest failure. Times have whole
    seconds, so that ties are real: of running ones the lowest name counts, else the highest.
    """
    succeeded = [item for item in evictions if holds(item.status.conditions, _EVICTED)]
    if succeeded:
        return max(succeeded, key=lambda item: _changed(item, _EVICTED)), False
    running = [item for item in evictions if not eviction_finished(item.status.conditions)]
    if running:
        return min(running, key=_created), False
    failed = max(evictions, key=lambda item: _changed(item, ConditionType.FAILED), default=None)
    return failed, True


def natural(name: str) -> Natural:
    """Order of names as people count: `pod-2-web` before `pod-10-web`."""
    parts = _NUMBERS.split(name)
    return tuple(zip(parts[::2], [int(number) for number in parts[1::2]] + [0], strict=True))


def _created(eviction: Eviction) -> tuple[datetime, Natural]:
    created = eviction.metadata.creation_timestamp
    return NEVER if created is None else created, natural(eviction.metadata.name)


def _changed(eviction: Eviction, kind: str) -> tuple[datetime, Natural]:
    changed = transition_time(eviction.status.conditions, kind)
    return changed, natural(eviction.metadata.name)
