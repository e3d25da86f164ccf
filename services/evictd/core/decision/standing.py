"""What stands beside a pass: who is down and why, how often they fell, what wishes are answered.

It is written into each Decision, for people, and for the evictor that comes after a restart.
[design, laws 5 and 12]
"""

from datetime import timedelta

from msgspec import structs

from evictd.core.decision import wishing
from evictd.core.decision.plan import Plan, Step
from evictd.core.decision.readiness import pause_seconds
from evictd.core.decision.report import ROWS_MAX
from evictd.core.decision.restore import FORGIVEN_SECONDS, again
from evictd.core.decision.returns import Falls, Returns
from evictd.core.effects import BusEffect, Publish
from evictd.core.moments import Now, after
from evictd_schemas import AbsentPod, Decision, Fall, PodReference


def written(plan: Plan, effects: tuple[BusEffect, ...]) -> Step:
    """The Decisions of a step with all of that in them."""
    decision = plan.decision
    if decision is None or not any(_decides(effect) for effect in effects):
        return plan, effects
    told = tuple(
        structs.replace(effect, message=_with_standing(plan, effect.message))
        if isinstance(effect, Publish) and isinstance(effect.message, Decision)
        else effect
        for effect in effects
    )
    return structs.replace(plan, decision=_with_standing(plan, decision)), told


def remembered(plan: Plan, decision: Decision, now: Now) -> Plan:
    """What an earlier life of ours had written down. [design, law 5]"""
    falls = {f"{fall.pod.namespace}/{fall.pod.name}": _falls(fall, now) for fall in decision.falls}
    recent = {
        name: fall
        for name, fall in falls.items()
        if now.boot_seconds - fall.boot_seconds <= FORGIVEN_SECONDS
    }
    merged = {**recent, **plan.returns.falls}
    for name, fall in plan.returns.falls.items():
        if name in recent:
            merged[name] = _joined(recent[name], fall)
    plan = structs.replace(plan, returns=structs.replace(plan.returns, falls=merged))
    return wishing.recalled(plan, decision.wishes, decision.node)


def _joined(earlier: Falls, found: Falls) -> Falls:
    """What was remembered, and the record that was found: the same fall, or one more."""
    if earlier.uid == found.uid:
        return earlier
    return again(earlier, found.uid, found.boot_seconds, found.time)


def _falls(fall: Fall, now: Now) -> Falls:
    def boot_seconds(age: timedelta) -> float:
        return now.boot_seconds - max(0.0, age.total_seconds())

    return Falls(
        uid=fall.pod.uid,
        count=fall.count,
        first_boot_seconds=boot_seconds(now.utc - fall.first_time),
        boot_seconds=boot_seconds(now.utc - fall.time),
        first_time=fall.first_time,
        time=fall.time,
        returned=fall.returned,
        forgotten=fall.forgotten,
    )


def _decides(effect: BusEffect) -> bool:
    return isinstance(effect, Publish) and isinstance(effect.message, Decision)


def _with_standing(plan: Plan, decision: Decision) -> Decision:
    """The newest of each list."""
    returns = plan.returns
    return structs.replace(
        decision,
        absent=tuple(_absent(returns, name) for name in list(returns.absent)[-ROWS_MAX:]),
        falls=tuple(_fall(name, falls) for name, falls in list(returns.falls.items())[-ROWS_MAX:]),
        wishes=tuple(
            plan.answers[topic] for topic in list(plan.wishes)[-ROWS_MAX:] if topic in plan.answers
        ),
    )


def _absent(returns: Returns, name: str) -> AbsentPod:
    """The times are those of the records, which everybody can read."""
    absent, falls = returns.absent[name], returns.falls.get(name)
    stopped = absent.stopped
    times = [] if stopped.next_try_time is None else [stopped.next_try_time]
    if (pause := pause_seconds(returns, name)) and not absent.failures:
        times.append(after(stopped.time, pause))
    return AbsentPod(
        pod=_reference(name, stopped.uid),
        why=absent.why,
        next_try_time=max(times, default=None),
        falls=1 if falls is None else falls.count,
    )


def _fall(name: str, falls: Falls) -> Fall:
    return Fall(
        pod=_reference(name, falls.uid),
        count=falls.count,
        first_time=falls.first_time,
        time=falls.time,
        returned=falls.returned,
        forgotten=falls.forgotten,
    )


def _reference(name: str, uid: str) -> PodReference:
    namespace, _, own_name = name.partition("/")
    return PodReference(namespace=namespace, name=own_name, uid=uid)
