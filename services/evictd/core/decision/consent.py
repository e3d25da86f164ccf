"""Whether acting has begun: told to act, but with nobody who may go, a node stays in `observe`.

It begins with the first workload that its owner lets go, and goes on although all of them are away:
who was stopped has to come back. [design, two profiles: candidates]
"""

from msgspec import structs

from evictd.core.decision.candidates import evictable
from evictd.core.decision.inputs import Judged
from evictd.core.decision.plan import Plan
from evictd.core.rules import Candidates, Mode, Rules

WAY_OUT = (
    "told to act, but nobody may go, so this node is only observed: label workloads or name them"
    " under workloads:, `evictd rank -o config` prints a block to paste"
)


def in_force(rules: Rules, plan: Plan, given: Judged) -> Rules:
    """The rules with the mode that holds now.

    Where every workload is a candidate, its owner has let them go by that.
    """
    if rules.mode is not Mode.ACT or rules.candidates is not Candidates.LABELLED:
        return rules
    if _has_acted(plan) or any(evictable(rules, pod) for pod in given.observation.pods or ()):
        return rules
    return structs.replace(rules, mode=Mode.OBSERVE)


def held_text(rules: Rules, plan: Plan) -> str:
    """Why nothing is done although the owner said `act`; empty where that is not so."""
    return f"; {WAY_OUT}" if plan.told_to_act and rules.mode is Mode.OBSERVE else ""


def _has_acted(plan: Plan) -> bool:
    """As far as anybody knows: by the last decision, what was asked for, or who is down by us."""
    acted = plan.decision is not None and plan.decision.mode == Mode.ACT
    return acted or bool(plan.returns.absent) or any(not own.dry_run for own in plan.own)
