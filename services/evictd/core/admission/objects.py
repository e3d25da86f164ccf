"""Rules about whole objects: requests, Evictions, and the responders that a pod declares.

Every function gives all broken rules at once, with kind and path. [eviction-request-api 2.1 to 2.4]
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec

from evictd.core.admission import names
from evictd.core.admission.kinds import (
    duplicate,
    forbidden,
    immutable,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from evictd.core.problems import Problem
from evictd.core.protocol.policy import Policy
from evictd.core.protocol.vocabulary import Intent, RequestType
from evictd_schemas import (
    DeclaredResponder,
    Eviction,
    EvictionRequest,
    EvictionRequestSpec,
    Metadata,
    Number,
    Reason,
    Target,
)

DECLARED_MAX = 10
"""Responders that one pod may declare."""
PRIORITY_MIN = 1000
"""Lower priorities are reserved."""
PRIORITY_MAX = 100_000
DEADLINE_SECONDS_MAX = 315_360_000
"""Ten years, as for every other time of the protocol."""
REASON_BYTES_MAX = 1 << 19
"""Of a reason as JSON: half a message, since its Eviction carries it beside everything else."""
GRACE_SECONDS_MAX = 2**31 - 1
"""A grace is a 32-bit number in the engines."""


def request_problems(
    policy: Policy, new: EvictionRequest, old: EvictionRequest | None
) -> Iterator[Problem]:
    """A request as its requester wrote it; `old` is the one held under the same name."""
    yield from _metadata(policy, new.metadata)
    yield from _target(policy, new.spec.target, None if old is None else old.spec.target)
    yield from names.participant("spec.requester", new.spec.requester, outsider=True)
    if old is not None and new.spec.requester != old.spec.requester:
        yield immutable("spec.requester")
    yield from word("spec.intent", new.spec.intent, Intent)
    yield from _wish(new.spec, None if old is None else old.spec)


def eviction_problems(policy: Policy, new: Eviction, old: Eviction | None) -> Iterator[Problem]:
    """An Eviction without its status."""
    yield from _metadata(policy, new.metadata)
    yield from _target(policy, new.spec.target, None if old is None else old.spec.target)


def declared_problems(
    new: Sequence[DeclaredResponder],
    old: Sequence[DeclaredResponder] | None,
    *,
    in_group: bool = False,
    field: str = "spec.evictionResponders",
) -> Iterator[Problem]:
    """The responders of a pod: set when it is made, and never beside a scheduling group."""
    if old is not None and tuple(new) != tuple(old):
        yield invalid(field, "it is set only when the pod is made")
    if in_group and new:
        yield forbidden(field, "a pod of a scheduling group is not evicted on its own")
    if len(new) > DECLARED_MAX:
        yield too_many(field, len(new), DECLARED_MAX)
        return
    yield from twins(field, [item.name for item in new])
    for index, item in enumerate(new):
        path = f"{field}[{index}]"
        yield from names.participant(f"{path}.name", item.name, outsider=True)
        yield from priority(f"{path}.priority", item.priority, PRIORITY_MIN)
        yield from duration(f"{path}.startDeadlineSeconds", item.start_deadline_seconds)
        yield from duration(f"{path}.heartbeatDeadlineSeconds", item.heartbeat_deadline_seconds)


def priority(field: str, value: int | None, least: int) -> Iterator[Problem]:
    """The rule for priorities; those below `least` are not for everyone."""
    if value is None:
        yield required(field)
    elif not least <= value <= PRIORITY_MAX:
        yield invalid(field, f"{value} is not within {least} and {PRIORITY_MAX}")


def duration(field: str, seconds: Number | None) -> Iterator[Problem]:
    """The rule for how long a responder may be silent."""
    if seconds is not None and not 0 < seconds <= DEADLINE_SECONDS_MAX:
        yield invalid(field, f"it is not within 0 and {DEADLINE_SECONDS_MAX} s")


def twins(field: str, listed: Sequence[str]) -> Iterator[Problem]:
    """The rule for lists that are maps: each name once; the later one is told."""
    seen: set[str] = set()
    for index, name in enumerate(listed):
        if name in seen:
            yield duplicate(f"{field}[{index}]", name)
        seen.add(name)


def word(field: str, value: str, known: type[StrEnum]) -> Iterator[Problem]:
    """The rule for enumerations: there, and one of the words."""
    if not value:
        yield required(field)
    elif value not in set(known):
        yield not_supported(field, value, known)


def _metadata(policy: Policy, metadata: Metadata) -> Iterator[Problem]:
    yield from names.long_name("metadata.name", metadata.name, dns=policy.dns_names)
    yield from names.long_name("metadata.namespace", metadata.namespace, dns=policy.dns_names)


def _target(policy: Policy, new: Target, old: Target | None) -> Iterator[Problem]:
    if old is not None and new != old:
        yield immutable("spec.target")
    if new.pod is None:
        yield invalid("spec.target", "it needs exactly one member: pod")
        return
    yield from names.long_name("spec.target.pod.name", new.pod.name, dns=policy.dns_names)
    yield from names.uid("spec.target.pod.uid", new.pod.uid)


def _wish(new: EvictionRequestSpec, old: EvictionRequestSpec | None) -> Iterator[Problem]:
    """evictd's additions; a type may only be tightened. [contract 3, EvictionRequest]"""
    yield from word("spec.type", new.type, RequestType)
    if new.type not in set(RequestType):
        return
    kind = RequestType(new.type)
    if old is not None and kind.strictness < RequestType(old.type).strictness:
        yield forbidden("spec.type", f"{old.type} may only be tightened, not become {new.type}")
    if new.deadline_seconds is None:
        if kind is RequestType.SOFT_WITH_DEADLINE:
            yield required("spec.deadlineSeconds")
    elif not 0 < new.deadline_seconds <= DEADLINE_SECONDS_MAX:
        yield invalid("spec.deadlineSeconds", f"it is not within 0 and {DEADLINE_SECONDS_MAX}")
    yield from _reason(new.reason)
    grace = new.grace_period_seconds
    if grace is not None and not 0 <= grace <= GRACE_SECONDS_MAX:
        yield invalid("spec.gracePeriodSeconds", f"it is not within 0 and {GRACE_SECONDS_MAX}")


def _reason(reason: Reason | None) -> Iterator[Problem]:
    length = 0 if reason is None else len(msgspec.json.encode(reason))
    if length > REASON_BYTES_MAX:
        yield too_long("spec.reason", length, REASON_BYTES_MAX, "bytes")
