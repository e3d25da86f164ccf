"""Early checks: what fails an Eviction or a request before any responder is asked.

Each gives the sentence of the first broken rule, or None. [eviction-request-api 5.2, 5.4: 2]
"""

from evictd.core import pods
from evictd.core.protocol import facts
from evictd.core.protocol.policy import Policy
from evictd.core.wording import name_text
from evictd_schemas import EvictionRequestSpec, Pod, Target

UNSUPPORTED = "Unsupported target type."
NOT_FOUND = "Target pod not found."
DUPLICATE = "Active Eviction already exists for the same target."
GROUP = "Target pod references a SchedulingGroup. Eviction is currently not supported."


def invalid_request(
    policy: Policy, target: Target, pod: Pod | None, *, has_evictions: bool
) -> str | None:
    """Whether a request can be served. Once an Eviction exists, an absent pod is its success."""
    if target.pod is None:
        return UNSUPPORTED
    if not has_evictions and pod is None:
        return NOT_FOUND
    if not has_evictions and pod is not None and pod.uid != target.pod.uid:
        return f"Target pod UID mismatch: expected {target.pod.uid}, got {pod.uid}."
    return GROUP if facts.in_scheduling_group(policy, target, pod) else None


def invalid_eviction(
    policy: Policy, target: Target, pod: Pod | None, *, duplicate: bool
) -> str | None:
    """Whether an Eviction can run."""
    if target.pod is None:
        return UNSUPPORTED
    if duplicate:
        return DUPLICATE
    return GROUP if facts.in_scheduling_group(policy, target, pod) else None


def refusal(
    policy: Policy, pod: Pod | None, spec: EvictionRequestSpec, hard_requesters: tuple[str, ...]
) -> str | None:
    """Why this pod is not stopped, or not that soon, whoever asks. [contract 3, EvictionRequest]"""
    if not policy.targets_may_be_refused or pod is None:
        return None
    name = name_text(pod)
    if pods.critical(pod):
        return f"{name} is critical and is never evicted."
    if pod.protected:
        return f"{name} is protected by its owner and is never evicted."
    own, asked = pod.termination_grace_period_seconds, spec.grace_period_seconds
    if own is None or asked is None or asked >= own or spec.requester in hard_requesters:
        return None
    return f"{name} has a grace of {own} s; {spec.requester} may not shorten it to {asked} s."
