"""Whether one request can be served now, later or never. [eviction-request-api 5.2: 3]

[contract 3, EvictionRequest]
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from evictd.core.moments import Now
from evictd.core.protocol import facts, validation
from evictd.core.protocol.case import Case, Held, dry, of_kind, taking_part, wanted_by
from evictd.core.protocol.conditions import cause_of, request_finished, transition_time
from evictd.core.protocol.inputs import ControllerRules
from evictd.core.protocol.policy import Policy
from evictd.core.protocol.relevance import relevant
from evictd.core.protocol.vocabulary import Cause, ConditionType
from evictd_schemas import Eviction


class Answer(StrEnum):
    """What becomes of a request."""

    ACCEPTED = "accepted"
    AWAITING = "awaiting"
    REFUSED = "refused"


class Acceptance(Struct, frozen=True, kw_only=True):
    """The answer with its sentence for people."""

    answer: Answer
    text: str = ""


def acceptance(rules: ControllerRules, case: Case, held: Held) -> Acceptance:
    """Presence is believed at once, absence only on evidence; other checks are immediate."""
    target = held.request.spec.target
    evictions = of_kind(case, is_dry=dry(rules, held.request))
    has_evictions = bool(evictions)
    unknown = _unheard_of(rules, case, evictions) or not (
        has_evictions or _known(rules, case, held)
    )
    if target.pod is not None and unknown:
        return Acceptance(answer=Answer.AWAITING, text=f"no observation of node {rules.node} yet")
    pod = case.pod
    text = validation.invalid_request(rules.policy, target, pod, has_evictions=has_evictions)
    if text is None and not facts.gone(target, pod):
        text = validation.refusal(rules.policy, pod, held.request.spec, rules.hard_requesters)
    if text is not None:
        return Acceptance(answer=Answer.REFUSED, text=text)
    return Acceptance(answer=Answer.ACCEPTED)


def settled(held: Held) -> bool:
    """Finished with the spec that it has: only another spec brings it up again."""
    status = held.status
    return request_finished(status.conditions) and status.observed_generation == status.generation


def awaits_observation(case: Case) -> bool:
    """Whether any observation, even an unchanged one, would lead further."""
    finish = case.run.finish
    if finish is not None and not finish.seen:
        return True
    return not case.evictions and any(
        not held.evidence and not settled(held) for held in case.requests
    )


def real_due(rules: ControllerRules, case: Case, now: Now) -> bool:
    """Whether a real request stands that would get an Eviction at once."""
    real = [
        held
        for held in wanted_by(taking_part(rules, case, is_dry=False))
        if not settled(held) and acceptance(rules, case, held).answer is Answer.ACCEPTED
    ]
    last, _ = relevant(of_kind(case, is_dry=False))
    return bool(real) and not resting(rules, case, real, last, now)


def resting(
    rules: ControllerRules, case: Case, wanting: Sequence[Held], last: Eviction | None, now: Now
) -> bool:
    """Whether these wait until the pause after the last round is over.

    A wish that took no part in that round is new and does not wait. Nor does a target that has
    ended in the pause: the next round only says so.
    """
    if last is None or case.over or now.utc >= pause_end(rules.policy, last):
        return False
    return all(took_part(held, last) for held in wanting)


def took_part(held: Held, last: Eviction | None) -> bool:
    """Whether the last round was made for the spec that the request still has."""
    status = held.status
    if last is None or status.eviction is None or status.eviction.uid != last.metadata.uid:
        return False
    return status.observed_generation == status.generation


def pause_end(policy: Policy, failed: Eviction) -> datetime:
    """When the round after a used-up chain may begin; other ends need no pause."""
    conditions = failed.status.conditions
    ended = transition_time(conditions, ConditionType.FAILED)
    if cause_of(conditions) != Cause.NO_FURTHER_RESPONDER:
        return ended
    doubled = policy.round_pause_seconds * 2.0 ** min(failed.status.round, 32)
    return ended + timedelta(seconds=min(doubled, policy.round_pause_seconds_max))


def _unheard_of(rules: ControllerRules, case: Case, evictions: tuple[Eviction, ...]) -> bool:
    """Nothing was ever seen under the name, where an Eviction would have to be made for it.

    So it is after the journal was lost, until the node is observed.
    """
    if not rules.policy.needs_observation or case.pod is not None or case.gone:
        return False
    _, may_create = relevant(evictions)
    return may_create


def _known(rules: ControllerRules, case: Case, held: Held) -> bool:
    if not rules.policy.needs_observation:
        return True
    present = not facts.gone(held.request.spec.target, case.pod)
    return present or (held.evidence and case.absent)
