"""How long is waited before something is tried again that did not work: it doubles, and is bounded.

One place for whoever starts workloads and whoever decides that they are started. [design, law 10]
"""

BACK_OFF_SECONDS = 60.0
"""Before the second try; it doubles with each further one."""
BACK_OFF_SECONDS_MAX = 3_600.0
"""The longest pause: a machine that was made larger is noticed within the hour."""

_STEPS_MAX = 16
"""From here on the pause is the longest anyway."""


def back_off_seconds(tries: int) -> float:
    """The pause after so many that did not last; none after none."""
    if tries <= 0:
        return 0.0
    return min(BACK_OFF_SECONDS_MAX, BACK_OFF_SECONDS * 2.0 ** min(tries - 1, _STEPS_MAX))
