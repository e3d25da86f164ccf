"""What to reclaim, who goes next and why.

It knows nothing of brokers, engines or clocks; it asks through EvictionRequests and orders like any
other requester. [kubelet-eviction 4: 12 to 21; 6 to 10] [design, laws 7 to 9]
"""

from evictd.core.decision.decide import decide
from evictd.core.decision.inputs import (
    Answered,
    Fallen,
    Given,
    Gone,
    Judged,
    Ordered,
    Recalled,
    Retained,
    Seen,
    Wished,
)
from evictd.core.decision.plan import Plan

__all__ = [
    "decide",
    "Plan",
    "Given",
    "Judged",
    "Seen",
    "Answered",
    "Ordered",
    "Wished",
    "Fallen",
    "Retained",
    "Recalled",
    "Gone",
]
