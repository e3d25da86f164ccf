"""Whether a disruption budget lets a workload be stopped now.

A budget is kept for every requester but node pressure: a machine that is out of memory takes a
workload anyway, and better the one that the ranking names. It knows nothing of how a stop is
carried out or tried again. [contract 3, EvictionRequest: budgets] [eviction-request-api 7]
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from evictd.core.pods import FINAL_PHASES
from evictd.core.protocol.vocabulary import NODE_PRESSURE, Intent
from evictd.core.rules import Budget, Rules
from evictd.core.wording import name_text
from evictd_schemas import Eviction, Pod, Stopped

PENDING = "Pending"
"""Not running yet: like one that has ended, its end takes nothing away."""


class Neighbours(Struct, frozen=True, kw_only=True):
    """The workloads of this machine at the moment of the look.

    `away`: what evictd has stopped or is stopping, by name, uid and labels; it is not healthy
    whatever is listed, and still expected. `problem`: why not all of them are known, None where
    they are.
    """

    pods: tuple[Pod, ...] = ()
    away: tuple[Pod, ...] = ()
    problem: str | None = None


def stopped_life(names: Mapping[str, str], record: Stopped) -> Pod:
    """As much of what is down as a budget asks for. `names`: of the record's topic."""
    return Pod(
        namespace=names["namespace"], name=names["name"], uid=record.uid, labels=record.labels
    )


def hold(rules: Rules, eviction: Eviction | None) -> bool:
    """Whether budgets have to be kept: not while node pressure is among those who want it."""
    if not rules.budgets or eviction is None:
        return False
    return not any(
        requester.name == NODE_PRESSURE and requester.intent == Intent.EVICTION
        for requester in eviction.status.requesters
    )


def withheld(
    rules: Rules,
    eviction: Eviction | None,
    pod: Pod,
    neighbours: Neighbours | None,
    *,
    gone: bool,
) -> str | None:
    """Why a budget keeps the workload for now, None where it may go.

    One that is surely gone takes nothing away any more. `neighbours` None: not everyone was looked
    at, because node pressure wanted it a moment ago.
    """
    if not hold(rules, eviction):
        return None
    known = neighbours or Neighbours(problem="not everyone was looked at")
    if gone and known.problem is None:
        return None
    why = refusal(rules.budgets, pod, known)
    return None if why is None else f"{name_text(pod)}: {why}"


def ignored(rules: Rules, eviction: Eviction | None, pod: Pod) -> str:
    """What node pressure adds to the report: which budgets would have counted; else nothing."""
    names = ", ".join(str(budget) for budget in rules.budgets if budget.covers(pod))
    return f"; node pressure ignores budget {names}" if names and not hold(rules, eviction) else ""


def refusal(budgets: Sequence[Budget], pod: Pod, neighbours: Neighbours) -> str | None:
    """The first budget that would be broken, with its figures; all have to allow the end."""
    found = (why for _, why in judged(budgets, pod, neighbours))
    return next((why for why in found if why is not None), None)


def judged(
    budgets: Sequence[Budget], pod: Pod, neighbours: Neighbours
) -> Iterator[tuple[Budget, str | None]]:
    """Each budget that is about the workload, and why it would be broken; None: it lets it go.

    What is not running, or is being deleted already, may always go.
    """
    takes_nothing = pod.phase in {PENDING, *FINAL_PHASES} or pod.deletion_time is not None
    for budget in budgets:
        if budget.covers(pod):
            yield budget, None if takes_nothing else _refusal(budget, pod, neighbours)


def _refusal(budget: Budget, pod: Pod, neighbours: Neighbours) -> str | None:
    """The healthy ones without it have to be enough.

    An unhealthy one counts for nothing and so may go while the others are enough, as under
    Kubernetes' default policy for unhealthy pods.
    """
    if neighbours.problem is not None:
        return f"budget {budget} cannot be judged: {neighbours.problem}"
    away = {gone.uid for gone in neighbours.away}
    listed = [other for other in neighbours.pods if other.phase not in FINAL_PHASES]
    counted = [other for other in (*listed, *neighbours.away) if budget.covers(other)]
    expected = len({(other.namespace, other.name) for other in counted})
    left = sum(
        other.uid != pod.uid and other.uid not in away and _healthy(other)
        for other in listed
        if budget.covers(other)
    )
    needed = budget.healthy_needed(expected)
    if left >= needed:
        return None
    return f"budget {budget} needs {needed} healthy of {expected}, and {left} would be left"


def _healthy(pod: Pod) -> bool:
    return pod.phase == "Running" and pod.ready and pod.deletion_time is None
