"""The chain of responders: who is in it and who runs first. [eviction-request-api 2.4, 3]"""

from collections.abc import Iterable, Mapping, Sequence

from evictd.core.protocol import facts
from evictd.core.protocol.policy import Policy
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER, THERE, State
from evictd_schemas import (
    DeclaredResponder,
    EvictionStatus,
    Pod,
    Registration,
    ResponderStatus,
    Target,
    TargetResponder,
)

RESPONDERS_MAX = 11
"""Ten besides the default one."""
REGISTERED_PRIORITY = 10_000
"""Of a registered responder that names none: what the workload's own controller uses."""

Chain = tuple[TargetResponder, ...]


def order(responder: TargetResponder) -> tuple[bool, int, tuple[str, ...], str]:
    """Sort key, first to run first: priority, then the domain from the right, then the key."""
    domain, _, key = responder.name.partition("/")
    labels = tuple(reversed(domain.split(".")))
    missing = responder.priority is None
    return missing, -(responder.priority or 0), labels, key


def ordered(chain: Iterable[TargetResponder]) -> Chain:
    """The stored order means nothing: sort before every decision."""
    return tuple(sorted(chain, key=order))


def initial(
    policy: Policy,
    held: Chain,
    target: Target,
    pod: Pod | None,
    registered: Mapping[str, Registration] | None = None,
) -> tuple[Chain, bool]:
    """The chain, and whether it was made now: it is fixed at the first sync of its Eviction.

    Those that the pod declares, then registered ones for which it is meant, then the default one.
    """
    if held:
        return held, False
    declared = facts.responders(policy, target, pod)
    if not declared:
        return (), False
    assert pod is not None  # noqa: S101 - nothing is declared by an absent pod
    *own, default = declared
    found = _registered(pod, {item.name for item in own}, registered or {})
    every = [*own, *found[: RESPONDERS_MAX - 1 - len(own)], default]
    return tuple(
        TargetResponder(name=item.name, priority=item.priority, state=State.INACTIVE)
        for item in every
    ), True


def entry_of(entries: Sequence[ResponderStatus], name: str) -> ResponderStatus | None:
    """What is known of one responder's work."""
    return next((entry for entry in entries if entry.name == name), None)


def active(chain: Iterable[TargetResponder]) -> TargetResponder | None:
    """The one responder whose turn it is."""
    return next((item for item in chain if item.state == State.ACTIVE), None)


def active_entry(status: EvictionStatus) -> ResponderStatus | None:
    """What is known of the one whose turn it is; None while it has no entry."""
    current = active(status.target_responders)
    return None if current is None else entry_of(status.responders, current.name)


def past_return(status: EvictionStatus) -> bool:
    """Whether a withdrawal cannot take back any more what the Active responder has begun."""
    entry = active_entry(status)
    return entry is not None and entry.point_of_no_return


def serves(registration: Registration, pod: Pod) -> bool:
    """Whether a registered responder works for this pod."""
    if registration.status not in THERE:
        return False
    if registration.namespaces and pod.namespace not in registration.namespaces:
        return False
    wanted = registration.selector.match_labels if registration.selector is not None else {}
    return all(pod.labels.get(label) == value for label, value in wanted.items())


def _registered(
    pod: Pod, declared: set[str], registrations: Mapping[str, Registration]
) -> list[DeclaredResponder]:
    found = [
        DeclaredResponder(name=name, priority=registration.priority or REGISTERED_PRIORITY)
        for name, registration in registrations.items()
        if name not in declared and name != DEFAULT_RESPONDER and serves(registration, pod)
    ]
    return sorted(found, key=lambda item: (-(item.priority or 0), item.name))
