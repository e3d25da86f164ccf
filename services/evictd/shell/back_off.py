"""The pause before something that ended is begun again: it doubles until something has lasted.

For what a process of ours holds on to: its connection, its broker. How long workloads wait is
`core.back_off`.
"""

FIRST_SECONDS = 0.5
"""What is only restarted is there again by then, mostly."""
PAUSE_SECONDS_MAX = 30.0
"""Whoever repairs it does not want to wait much longer for us."""
SETTLED_SECONDS = 30.0
"""What lived shorter counts as a failure; after more than this the pause is the first one again."""


class BackOff:
    """Of one thing that is begun again and again."""

    def __init__(self) -> None:
        self._next_seconds = FIRST_SECONDS

    def pause_seconds(self, lived_seconds: float) -> float:
        """How long to wait, now that it has ended after so long."""
        if lived_seconds > SETTLED_SECONDS:
            self._next_seconds = FIRST_SECONDS
        pause_seconds = self._next_seconds
        self._next_seconds = min(2 * pause_seconds, PAUSE_SECONDS_MAX)
        return pause_seconds
