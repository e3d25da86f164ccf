"""Who of the ranked pods may go, who goes next, and why: one row each.

[contract 3, Decision] [design, laws 7, 9, 12]
"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import structs

from evictd.core.decision import failures
from evictd.core.decision.failures import Failure
from evictd.core.decision.plan import Plan
from evictd.core.decision.ranking import Place
from evictd.core.holds import until_text
from evictd.core.moments import Now
from evictd.core.pods import critical, reference
from evictd.core.rules import Candidates, Rules
from evictd.core.signals.amounts import measured_text
from evictd.core.signals.names import Resource, resource_of
from evictd_schemas import Pod, RankedPod


class Verdict(StrEnum):
    """What the decision says of one pod."""

    VICTIM = "Victim"
    CANDIDATE = "Candidate"
    LEAVING = "Leaving"
    FAILED = "Failed"
    HELD = "Held"
    CRITICAL = "Critical"
    PROTECTED = "Protected"


MAY_GO = frozenset({Verdict.CANDIDATE, Verdict.LEAVING})


def evictable(rules: Rules, pod: Pod) -> bool:
    """Whether the rules of the node and of its owner let it go at all."""
    return _exemption(rules, pod) is None


def rows(
    rules: Rules,
    plan: Plan,
    signal: str,
    places: Sequence[Place],
    *,
    hard: bool,
    now: Now,
    nobody_else: bool = False,
) -> tuple[RankedPod, ...]:
    """The whole order with a verdict for each, before anybody is chosen.

    `nobody_else`: who has failed is asked again, since the machine must not die for it.
    """
    return tuple(
        _row(
            rules,
            signal,
            place,
            _verdict(rules, plan, place.pod, hard=hard, nobody_else=nobody_else, now=now),
        )
        for place in places
    )


def may_go(ranking: Sequence[RankedPod]) -> tuple[str, ...]:
    """Uids of those that may be chosen, in order."""
    return tuple(row.pod.uid for row in ranking if row.verdict in MAY_GO)


def with_victim(ranking: Sequence[RankedPod], uid: str | None) -> tuple[RankedPod, ...]:
    """The same order with that one as the `Victim`."""
    return tuple(
        structs.replace(row, verdict=Verdict.VICTIM) if row.pod.uid == uid else row
        for row in ranking
    )


def victim(ranking: Sequence[RankedPod]) -> RankedPod | None:
    """Who goes next."""
    return next((row for row in ranking if row.verdict == Verdict.VICTIM), None)


def _ignored(rules: Rules, pod: Pod) -> str:
    """Which budgets do not keep it: node pressure ignores them, and says so.

    [contract 3, EvictionRequest]
    """
    names = ", ".join(str(budget) for budget in rules.budgets if budget.covers(pod))
    return f"budget {names} ignored" if names else ""


def _row(rules: Rules, signal: str, place: Place, judgement: tuple[Verdict, str]) -> RankedPod:
    verdict, remark = judgement
    figures, rank = _figures(rules, signal, place), f"priority {place.priority}"
    doubt = _doubt(signal, place.pod)
    ignored = _ignored(rules, place.pod) if verdict in MAY_GO else ""
    return RankedPod(
        pod=reference(place.pod),
        verdict=verdict,
        why="; ".join(part for part in (remark, figures, doubt, rank, ignored) if part),
        exceeds_request=place.exceeds,
        priority=place.priority,
        usage=place.usage,
        request=place.request,
        over_request=place.excess,
    )


def _verdict(
    rules: Rules, plan: Plan, pod: Pod, *, hard: bool, nobody_else: bool, now: Now
) -> tuple[Verdict, str]:
    """The first that applies, and its reason."""
    exemption = _exemption(rules, pod)
    if exemption is not None:
        return exemption
    wish = plan.hold(pod, hard=hard, now=now)
    if wish is not None:
        return Verdict.HELD, f"held {until_text(wish)}"
    failure = failures.passed_over(plan.failed, pod, now, hard=hard)
    if failure is not None:
        if nobody_else and _open(plan, pod, failure, now):
            why = failure.told.why
            return Verdict.CANDIDATE, f"is taken for want of anybody else, though {why}"
        return Verdict.FAILED, failures.remark(failure, now)
    if pod.uid in plan.leaving.values() or any(own.pod.uid == pod.uid for own in plan.own):
        return Verdict.LEAVING, "is asked to go already"
    return Verdict.CANDIDATE, ""


def _open(plan: Plan, pod: Pod, failure: Failure, now: Now) -> bool:
    """Whether to ask once more is of use: not too soon, and not while our request still stands."""
    asked = any(own.pod.uid == pod.uid and not own.withdrawn for own in plan.own)
    return failure.open_boot_seconds <= now.boot_seconds and not asked


def _exemption(rules: Rules, pod: Pod) -> tuple[Verdict, str] | None:
    """Never a victim. [kubelet-eviction 12] [design, law 9]"""
    if critical(pod):
        return Verdict.CRITICAL, "critical: never evicted"
    if pod.protected:
        return Verdict.PROTECTED, "protected by its owner"
    if rules.candidates is Candidates.LABELLED and not pod.labelled:
        return Verdict.PROTECTED, "no candidate: neither a label nor `workloads:` names it"
    return None


def _doubt(signal: str, pod: Pod) -> str:
    """What makes its figure less than exact."""
    memory = None if pod.stats is None else pod.stats.memory
    if memory is None or resource_of(signal) is not Resource.MEMORY:
        return ""
    if memory.includes_cache:
        return "file cache is included in that"
    return "that is a sum over its processes" if memory.estimated else ""


def _figures(rules: Rules, signal: str, place: Place) -> str:
    """The comparison that ranks it, as a sentence."""
    if place.usage is None:
        last = rules.profile.priority_first
        return f"has no statistics, which goes {'last' if last else 'first'}"
    used = measured_text(signal, place.usage)
    if place.request is None:
        return f"has {used} processes"
    if not place.request:
        return f"uses {used} and asked for none"
    asked = measured_text(signal, place.request)
    if place.exceeds:
        over = measured_text(signal, place.usage - place.request)
        return f"uses {over} more than the {asked} it asked for"
    return f"uses {used} of the {asked} it asked for"
