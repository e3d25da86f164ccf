"""What an Eviction of a pod would go through if it were made now: the chain and its worst case.

The same chain and the same deadlines that the controller would fix; nothing is asked for.
[eviction-request-api 3] [contract 3, Registration]
"""

from collections.abc import Mapping

from msgspec import Struct

from evictd.core.protocol.chain import initial, ordered
from evictd.core.protocol.links import silence_terms
from evictd.core.protocol.policy import Policy
from evictd.core.protocol.progression import Terms
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd_schemas import (
    DeclaredResponder,
    Pod,
    PodTarget,
    Registration,
    Target,
    TargetResponder,
)


class Turn(Struct, frozen=True, kw_only=True):
    """One responder's turn.

    `declared`: the pod names it. `status`: that of its registration, None without one.
    """

    name: str
    priority: int
    terms: Terms
    declared: bool
    status: str | None

    @property
    def builtin(self) -> bool:
        """Whether it is the default one, which stops the workload."""
        return self.name == DEFAULT_RESPONDER

    @property
    def seconds_max(self) -> float:
        """The longest without progress.

        It shows life right before its start deadline, and never again. One that goes on showing
        life has no limit.
        """
        return self.terms.start_seconds + self.terms.heartbeat_seconds


class Prospect(Struct, frozen=True, kw_only=True):
    """The turns in their order. `grace_seconds`: what the stop itself may take; None: unknown."""

    turns: tuple[Turn, ...]
    grace_seconds: float | None

    @property
    def unanswered_seconds(self) -> float:
        """When the stop begins if nobody before the default responder ever shows life."""
        return sum(turn.terms.start_seconds for turn in self.turns if not turn.builtin)

    @property
    def handover_seconds_max(self) -> float:
        """When the stop begins at latest, unless somebody goes on showing life."""
        return sum(turn.seconds_max for turn in self.turns if not turn.builtin)


def prospect_of(policy: Policy, pod: Pod, registrations: Mapping[str, Registration]) -> Prospect:
    """What would be the chain of a soft Eviction of this pod."""
    target = Target(pod=PodTarget(name=pod.name, uid=pod.uid))
    chain, _ = initial(policy, (), target, pod, registrations)
    declared = {item.name: item for item in pod.eviction_responders}
    turns = tuple(
        _turn(item, declared.get(item.name), registrations.get(item.name))
        for item in ordered(chain)
    )
    grace = pod.termination_grace_period_seconds
    return Prospect(turns=turns, grace_seconds=None if grace is None else float(grace))


def _turn(
    item: TargetResponder, declared: DeclaredResponder | None, registered: Registration | None
) -> Turn:
    return Turn(
        name=item.name,
        priority=item.priority or 0,
        terms=silence_terms(declared, registered),
        declared=declared is not None,
        status=None if registered is None else registered.status,
    )
