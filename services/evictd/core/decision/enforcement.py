"""Pods over a limit of their own: everybody who is not asked to go yet is, whatever the pressure.

[kubelet-eviction 10]
"""

from collections.abc import Sequence

from evictd.core.decision import failures, report
from evictd.core.decision.candidates import Verdict, evictable
from evictd.core.decision.limits import Offence, offences
from evictd.core.decision.plan import Plan, Step
from evictd.core.decision.report import Action
from evictd.core.decision.requests import limit_request, publication
from evictd.core.decision.scene import Scene
from evictd.core.effects import BusEffect
from evictd.core.pods import priority, reference
from evictd.core.rules import Mode
from evictd_schemas import Pod, RankedPod


def offenders(scene: Scene, plan: Plan) -> tuple[Offence, ...]:
    """Pods over a limit of their own that are not asked to go yet. [kubelet-eviction 10]"""
    if not scene.rules.local_storage_capacity_isolation:
        return ()
    rules, now = scene.rules, scene.now
    asked = {own.pod.uid for own in plan.own if own.resource is None}

    def open_to(pod: Pod) -> bool:
        passed_over = failures.passed_over(plan.failed, pod, now, hard=True) is not None
        held = plan.hold(pod, hard=True, now=now) is not None
        return evictable(rules, pod) and pod.uid not in asked and not (passed_over or held)

    return offences(scene.active_pods, scene.layout, open_to)


def enforce(scene: Scene, plan: Plan, over: Sequence[Offence]) -> Step:
    """Everybody over a limit goes, at once. [kubelet-eviction 10]"""
    effects: list[BusEffect] = []
    if scene.rules.mode is not Mode.OBSERVE:
        for offence in over:
            asked = limit_request(scene.rules, offence, scene.now)
            plan = plan.with_request(asked)
            effects.append(publication(asked))
    plan, publish = report.decided(
        scene.rules,
        plan,
        scene.given,
        scene.now,
        action=Action.EVICT,
        reason="; ".join(sorted({offence.message.strip() for offence in over})),
        signal=over[0].signal,
        is_hard=True,
        ranking=[_row(offence) for offence in over],
    )
    return plan, (*effects, publish)


def _row(offence: Offence) -> RankedPod:
    return RankedPod(
        pod=reference(offence.pod),
        verdict=Verdict.VICTIM,
        why=offence.message.strip(),
        priority=priority(offence.pod),
    )
