"""Which Evictions go: nobody's wish any more, one too many, or done long ago.

A request is its requester's to clear. One that nobody clears keeps its final status alone.
[eviction-request-api 5.8]
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import structs

from evictd.core.moments import Now
from evictd.core.protocol.acceptance import settled
from evictd.core.protocol.case import Case, of_kind, stamp
from evictd.core.protocol.conditions import eviction_finished, holds, transition_time
from evictd.core.protocol.inputs import ControllerRules
from evictd.core.protocol.policy import Policy
from evictd.core.protocol.relevance import natural
from evictd.core.protocol.vocabulary import ConditionType
from evictd_schemas import Eviction

_EVICTED = ConditionType.TARGET_EVICTED


def collected(rules: ControllerRules, case: Case, now: Now) -> Case:
    """The case without the Evictions whose last owner, or whose target, went long enough ago."""
    policy = rules.policy
    orphans = {item.metadata.uid for item in case.evictions if _orphaned(policy, case, item)}
    marks = case.orphaned
    for uid in [*marks.moments]:
        marks = marks if uid in orphans else marks.clear(uid)
    for uid in orphans:
        marks = marks if marks.get(uid) is not None else marks.put(uid, stamp(now))
    delay = timedelta(seconds=policy.collection_seconds)
    going = {uid for uid, time in marks.moments.items() if now.utc >= time + delay}
    going.update(_surplus(policy, case))
    going.update(uid for uid, time in expiries(policy, case) if now.utc >= time)
    for uid in going:
        marks = marks.clear(uid)
    if not going and marks == case.orphaned:
        return case
    kept = tuple(item for item in case.evictions if item.metadata.uid not in going)
    ended = case.ended
    for uid in going:
        ended = ended.clear(uid)
    return structs.replace(case, evictions=kept, orphaned=marks, ended=ended)


def expiries(policy: Policy, case: Case) -> Iterator[tuple[str, datetime]]:
    """When an Eviction that has evicted its target goes at latest, by its uid.

    None does while a request of the target has not had its answer.
    """
    if policy.success_kept_seconds is None or not all(map(settled, case.requests)):
        return
    kept = timedelta(seconds=policy.success_kept_seconds)
    for item in case.evictions:
        if holds(item.status.conditions, _EVICTED):
            yield item.metadata.uid, transition_time(item.status.conditions, _EVICTED) + kept


def _orphaned(policy: Policy, case: Case, eviction: Eviction) -> bool:
    """No owner is left. Upstream's collector waits for no end, but spares what never had one."""
    owners = eviction.metadata.owner_references
    live = {held.request.metadata.uid for held in case.requests}
    if any(owner.uid in live for owner in owners):
        return False
    if policy.collects_running:
        return bool(owners)
    return eviction_finished(eviction.status.conditions)


def _surplus(policy: Policy, case: Case) -> Iterator[str]:
    """The oldest finished ones beyond what is kept for one target.

    Rehearsals count apart, so that they do not make a pause between rounds forgotten.
    """
    if policy.finished_kept_max is None:
        return
    for is_dry in (False, True):
        finished = sorted(
            (
                item
                for item in of_kind(case, is_dry=is_dry)
                if eviction_finished(item.status.conditions)
            ),
            key=lambda item: natural(item.metadata.name),
        )
        for item in finished[: -policy.finished_kept_max]:
            yield item.metadata.uid
