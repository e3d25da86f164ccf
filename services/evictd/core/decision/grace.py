"""How long a victim gets between SIGTERM and SIGKILL.

[kubelet-eviction 9.1] [design, profile host]
"""

from evictd.core.rules import Rules
from evictd_schemas import Pod

GRACE_SECONDS_MIN = 1
"""Nobody gets less, whatever was configured. [kubelet-eviction 9.1]"""


def pressure_grace_seconds(rules: Rules, pod: Pod, *, hard: bool) -> int | None:
    """The grace of a pressure eviction; None is the pod's own."""
    own = pod.termination_grace_period_seconds
    if hard:
        return _hard_grace_seconds(rules, own)
    cap = rules.maximum_pod_grace_seconds
    if cap < 0 and rules.profile.negative_soft_cap_is_own:
        return own
    return cap if own is None else min(cap, own)


def _hard_grace_seconds(rules: Rules, own: int | None) -> int:
    cap = rules.profile.hard_grace_seconds
    return min(cap, own) if rules.profile.hard_grace_is_cap and own is not None else cap


def effective_grace_seconds(
    *, own: int | None, deletion: int | None, override: int | None, running: int
) -> tuple[int, bool]:
    """What a pod really gets, and whether that shortens a termination that is under way.

    `deletion` is the grace of a deletion already asked for, `running` that of a termination under
    way, 0 for none; once running, it only shrinks. A grace of 0 counts as not set.
    [kubelet-eviction 9.1]
    """
    grace, applied = running, False
    for other in (deletion, override):
        if other is not None and (grace == 0 or other < grace):
            grace, applied = other, True
    if not applied and grace == 0:
        grace = own or 0
    effective = max(grace, GRACE_SECONDS_MIN)
    return effective, running not in (0, effective)
