"""Whether a node under pressure takes a new pod. [kubelet-eviction 11]

Who is critical and what class of service a pod has is decided elsewhere and handed in.
"""

from collections.abc import Collection

from evictd.core.signals.names import ConditionType
from evictd_schemas import Pod, Toleration

BEST_EFFORT = "BestEffort"
MEMORY_TAINT = "node.kubernetes.io/memory-pressure"
NO_SCHEDULE = "NoSchedule"
REFUSED = "Evicted"
"""The reason of a refusal; its message lists the conditions."""


def admits(
    conditions: Collection[ConditionType], pod: Pod, *, critical: bool, qos_class: str
) -> bool:
    """Whether the pod may start while these conditions are reported."""
    if not conditions or critical:
        return True
    if set(conditions) != {ConditionType.MEMORY}:
        return False
    return qos_class != BEST_EFFORT or any(
        tolerates(toleration, MEMORY_TAINT, "", NO_SCHEDULE) for toleration in pod.tolerations
    )


def tolerates(toleration: Toleration, key: str, value: str, effect: str) -> bool:
    """Whether a toleration matches a taint. Numeric operators are an alpha feature and do not."""
    if toleration.effect not in ("", effect) or toleration.key not in ("", key):
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == value
        case "Exists":
            return True
        case _:
            return False
