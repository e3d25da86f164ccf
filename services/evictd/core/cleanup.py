"""How long a pass waits until evicted pods are cleaned up. [kubelet-eviction 14.2]"""

from collections.abc import Iterable
from math import ceil

POLL_SECONDS = 1
"""Looked at once a second, first after one second."""
WAIT_SECONDS_MAX = 30
"""Given up after that; a pod that takes longer is still in the list and may be picked again."""


def wait_seconds(cleaned_up_at_seconds: Iterable[float | None]) -> int:
    """When the wait ends, counted from the eviction; None among the times: never cleaned up."""
    last_seconds = 0.0
    for seconds in cleaned_up_at_seconds:
        if seconds is None:
            return WAIT_SECONDS_MAX
        last_seconds = max(last_seconds, seconds)
    polls = max(1, ceil(last_seconds / POLL_SECONDS))
    return min(polls * POLL_SECONDS, WAIT_SECONDS_MAX)
