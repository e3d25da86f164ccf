"""What is known of a target: whether it is there, over, or named by nobody any more.

It reads a pod and knows nothing of requests or responders. [eviction-request-api 5.4: 4, 5.4.3]
"""

from datetime import datetime

from msgspec import Struct, structs

from evictd.core.pods import active
from evictd.core.protocol.policy import Policy
from evictd.core.protocol.vocabulary import DEFAULT_PRIORITY, DEFAULT_RESPONDER
from evictd_schemas import DeclaredResponder, Pod, Target


def gone(target: Target, pod: Pod | None) -> bool:
    """No pod of that name, or one of another uid. A target without a member is never gone."""
    return target.pod is not None and (pod is None or pod.uid != target.pod.uid)


def terminal(pod: Pod | None) -> bool:
    """Its processes are over, though the pod may still be listed."""
    return pod is not None and not active(pod)


def consulted(policy: Policy, target: Target, pod: Pod | None) -> Pod | None:
    """The pod that speaks for the target; upstream also asks a replacement under the same name."""
    if target.pod is None or pod is None:
        return None
    return pod if policy.consults_replacement or pod.uid == target.pod.uid else None


def in_scheduling_group(policy: Policy, target: Target, pod: Pod | None) -> bool:
    """Whether the pod is placed together with others, which cannot be evicted one by one."""
    own = consulted(policy, target, pod)
    return own is not None and own.scheduling_group is not None


def finish_time(pod: Pod) -> datetime | None:
    """When its last container ended; None while one still runs or nothing is known of them.

    Init containers count only when they restart, as sidecars do.
    """
    sidecars = tuple(item for item in pod.init_containers if item.restart_policy == "Always")
    times = [container.finish_time for container in pod.containers + sidecars]
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def terminal_time(pod: Pod | None) -> datetime | None:
    """The later of the deletion mark and the last container's end, as far as they are known.

    A mark contains the grace period and may lie ahead.
    """
    if pod is None:
        return None
    known = [time for time in (pod.deletion_time, finish_time(pod)) if time is not None]
    return max(known, default=None)


def responders(
    policy: Policy, target: Target, pod: Pod | None, *, include_default: bool = True
) -> tuple[DeclaredResponder, ...]:
    """The responders that the pod declares, in its order, and the default one after them."""
    own = consulted(policy, target, pod)
    if own is None:
        return ()
    default = DeclaredResponder(name=DEFAULT_RESPONDER, priority=DEFAULT_PRIORITY)
    return own.eviction_responders + ((default,) if include_default else ())


class TerminalTimes(Struct, frozen=True, kw_only=True):
    """When the end of a target was first seen, by Eviction, where the pod itself does not tell.

    It keeps what it is given last; whoever writes decides whether an earlier moment stands.
    """

    moments: dict[str, datetime] = {}

    def put(self, holder: str, time: datetime) -> "TerminalTimes":
        """The same with one moment more."""
        return structs.replace(self, moments={**self.moments, holder: time})

    def get(self, holder: str) -> datetime | None:
        """The moment kept for a holder."""
        return self.moments.get(holder)

    def clear(self, holder: str) -> "TerminalTimes":
        """The same without one holder, which need not be there."""
        rest = {name: time for name, time in self.moments.items() if name != holder}
        return structs.replace(self, moments=rest)
