"""What a shortage waits for: an eviction that is under way for it, or its effect.

[design, laws 7 and 8]
"""

from evictd.core.decision.plan import OwnRequest, Plan
from evictd.core.decision.scene import Scene
from evictd.core.decision.shortage import hard
from evictd.core.decision.upkeep import stuck
from evictd.core.moments import Now, elapsed_seconds, rebooted
from evictd.core.signals.names import resource_of
from evictd.core.wording import name_text
from evictd_schemas import ThresholdStatus


def wait_reason(scene: Scene, plan: Plan, acting: ThresholdStatus) -> str | None:
    """Why this pass takes nobody.

    An eviction for the same resource is under way, or its effect is not to be seen yet. [design,
    laws 7 and 8]
    """
    for own in plan.own:
        if _blocks(own, acting, scene.now):
            name = name_text(own.pod)
            if own.dry_run or own.finished:
                return f"{name} would have been evicted for this shortage"
            return f"{name} is being evicted"
    gone, settle_seconds = plan.gone, scene.rules.profile.settle_seconds
    if gone is None or not settle_seconds:
        return None
    waited = scene.now.boot_seconds - gone.boot_seconds
    if gone.moment is not None and plan.observed is not None:
        if rebooted(gone.moment, plan.observed):
            return None  # nothing of the old boot is still being freed
        waited = min(waited, elapsed_seconds(gone.moment, plan.observed))
    if waited < settle_seconds:
        return "the last victim has only just gone"
    return None


def _blocks(own: OwnRequest, acting: ThresholdStatus, now: Now) -> bool:
    if own.withdrawn or own.resource is not resource_of(acting.signal):
        return False
    if own.dry_run or own.finished:
        return True
    if own.gone or stuck(own, now):
        return False
    return own.hard or not hard(acting)
