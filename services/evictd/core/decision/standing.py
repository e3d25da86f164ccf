"""What stands beside a pass: who is down and why, how often they fell or went, who is passed over,
who was stopped for a full disk, what wishes are answered.

It is written into each Decision, for people, and for the evictor that comes after a restart.
[design, laws 5 and 12]
"""

from msgspec import structs

from evictd.core.decision import failures, loops, past, wishing
from evictd.core.decision.plan import Plan, Step
from evictd.core.decision.readiness import pause_seconds
from evictd.core.decision.report import ROWS_MAX
from evictd.core.decision.restore import FORGIVEN_SECONDS, again
from evictd.core.decision.returns import Falls, Returns, life
from evictd.core.effects import BusEffect, Publish
from evictd.core.moments import Now, after, past_boot_seconds
from evictd.core.rules import Rules
from evictd.core.wording import name_text
from evictd_schemas import AbsentPod, Decision, Fall


def written(plan: Plan, effects: tuple[BusEffect, ...], now: Now) -> Step:
    """The Decisions of a step with all of that in them."""
    decision = plan.decision
    if decision is None or not any(_decides(effect) for effect in effects):
        return plan, effects
    told = tuple(
        structs.replace(effect, message=_with_standing(plan, effect.message, now))
        if isinstance(effect, Publish) and isinstance(effect.message, Decision)
        else effect
        for effect in effects
    )
    return structs.replace(plan, decision=_with_standing(plan, decision, now)), told


def remembered(rules: Rules, plan: Plan, decision: Decision, now: Now) -> Step:
    """What an earlier life of ours had written down, and who has fallen again since.

    [design, law 5]
    """
    falls = {name_text(fall.pod): _falls(fall, now) for fall in decision.falls}
    recent = {
        name: fall
        for name, fall in falls.items()
        if now.boot_seconds - fall.boot_seconds <= FORGIVEN_SECONDS
    }
    merged = {**recent, **plan.returns.falls}
    told: list[BusEffect] = []
    for name, fall in plan.returns.falls.items():
        if name in recent:
            merged[name] = _joined(recent[name], fall)
            if (absent := plan.returns.absent.get(name)) is not None:
                loop = loops.fallen(rules, absent.stopped, recent[name], merged[name], now)
                told.extend(loop)
    plan = structs.replace(plan, returns=structs.replace(plan.returns, falls=merged))
    return wishing.recalled(plan, decision.wishes, decision.node), tuple(told)


def _joined(earlier: Falls, found: Falls) -> Falls:
    """What was remembered, and the record that was found: the same fall, or one more."""
    if earlier.told.pod.uid == found.told.pod.uid:
        return earlier
    return again(earlier, found.told.pod, found.boot_seconds, found.told.time)


def _falls(fall: Fall, now: Now) -> Falls:
    return Falls(
        told=fall,
        first_boot_seconds=past_boot_seconds(fall.first_time, now),
        boot_seconds=past_boot_seconds(fall.time, now),
    )


def _decides(effect: BusEffect) -> bool:
    return isinstance(effect, Publish) and isinstance(effect.message, Decision)


def _with_standing(plan: Plan, decision: Decision, now: Now) -> Decision:
    """The newest of each list."""
    returns = plan.returns
    return structs.replace(
        decision,
        absent=tuple(_absent(returns, name) for name in list(returns.absent)[-ROWS_MAX:]),
        falls=tuple(falls.told for falls in list(returns.falls.values())[-ROWS_MAX:]),
        evictions=past.written(plan.history, now)[-ROWS_MAX:],
        passed_over=failures.written(plan.failed, now)[-ROWS_MAX:],
        relieved=plan.relieved,
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
        pod=life(name, stopped.uid),
        why=absent.why,
        next_try_time=max(times, default=None),
        falls=1 if falls is None else falls.told.count,
    )
