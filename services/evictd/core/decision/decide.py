"""The evictor's step for one node: what to reclaim, who goes next and how, and who is let off.

[kubelet-eviction 4: 12 to 21] [design, laws 1, 4, 7 and 8]
"""

from typing import assert_never

from msgspec import structs

from evictd.core.decision import (
    companions,
    consent,
    failures,
    filling,
    forgetting,
    growth,
    loops,
    occurrences,
    passes,
    recall,
    reclaim,
    report,
    restore,
    standing,
    wishing,
)
from evictd.core.decision.inputs import (
    Answered,
    Fallen,
    Given,
    Gone,
    Judged,
    Ordered,
    Recalled,
    Seen,
    Wished,
)
from evictd.core.decision.plan import (
    Instant,
    OwnRequest,
    Plan,
    Reclaiming,
    Step,
    newest,
    order_of,
)
from evictd.core.decision.report import Action
from evictd.core.decision.requests import Fate, fate
from evictd.core.decision.scene import Scene
from evictd.core.decision.shortage import (
    acting_threshold,
    by_urgency,
    fresh_thresholds,
    observation_times,
)
from evictd.core.decision.upkeep import keep, not_gone, with_victim
from evictd.core.effects import Emit, Retract, Tick, WakeAt
from evictd.core.moments import Now
from evictd.core.orders import OrderState
from evictd.core.protocol.conditions import eviction_finished
from evictd.core.rules import Mode, Rules
from evictd_schemas import Layout, OrderStatus, topics


def decide(rules: Rules, plan: Plan, given: Given | Tick, now: Now) -> Step:
    """One step of one node; at most one pressure victim a pass. [design, law 1]"""
    plan, effects = _taken(rules, plan, given, now)
    if isinstance(given, Tick | Seen | Answered | Gone):
        return plan, effects
    plan, more = _with_wishes(rules, plan, given, now)
    return standing.written(plan, (*effects, *more))


def _taken(rules: Rules, plan: Plan, given: Given | Tick, now: Now) -> Step:
    match given:
        case Judged():
            return _judged(rules, plan, given, now)
        case Answered():
            return _answered(rules, plan, given, now)
        case Ordered():
            return _ordered(rules, plan, given, now)
        case Seen():
            return _seen(plan, given), ()
        case Wished(topic=topic, wish=wish):
            return wishing.taken(plan, topic, wish), ()
        case Recalled():
            return recall.recalled(rules, plan, given, now)
        case Tick():
            return _ticked(rules, plan, now)
        case Fallen(namespace=namespace, name=name, stopped=stopped):
            pod = (namespace, name)
            return _with_returns(plan, restore.fallen(rules, plan.returns, pod, stopped, now))
        case Gone():
            return _gone(rules, plan)
        case _:
            assert_never(given)


def _gone(rules: Rules, plan: Plan) -> Step:
    """Everything of the node is taken off the bus. [contract 2]"""
    mine = (*(Retract(topic=own.topic) for own in plan.own), *companions.retractions(plan))
    order = () if plan.reclaiming is None else (reclaim.retraction(rules),)
    returns = plan.returns
    orders = (*restore.retraction(rules, returns), *forgetting.retraction(rules, returns))
    return Plan(), (*mine, *order, *orders, Retract(topic=topics.DECISION.at(rules.node)))


def _judged(rules: Rules, plan: Plan, given: Judged, now: Now) -> Step:
    """Older and repeated Pressures, and listed ones, change nothing."""
    layout = _layout(plan, given)
    if given.listed or layout is None or order_of(given.pressure) <= plan.handled:
        return plan, ()
    is_first_act = _first_act(rules, plan)
    told_to_act, rules = rules.mode is Mode.ACT, consent.in_force(rules, plan, given)
    handled = order_of(given.pressure)
    plan = structs.replace(plan, handled=handled, layout=layout, told_to_act=told_to_act)
    plan, kept = keep(rules, plan, given, layout, now)
    plan, led = companions.lead(rules, plan, given, now)
    under_way = plan.reclaiming
    if is_first_act:
        plan = _warned(rules, plan, given, now)
    if under_way is None:
        scene = _scene(rules, plan, given, layout, now)
        plan = structs.replace(plan, judged=observation_times(given.pressure))
        plan, effects = passes.run(scene, plan)
    elif reclaim.looked_again(under_way, given):
        plan, effects = _rechecked(rules, plan, under_way, given, now)
    else:
        plan, effects = _amid_reclaim(rules, plan, under_way, given, now)
    plan, returned = _with_returns(plan, _returned(rules, plan, given, now))
    return plan, (*kept, *led, *effects, *returned)


def _returned(rules: Rules, plan: Plan, given: Judged, now: Now) -> restore.Step:
    """Nobody comes back while anybody has to go or something is given back."""
    busy = plan.reclaiming is not None or any(
        not own.withdrawn and not own.gone for own in plan.own
    )
    return restore.restore(
        rules,
        plan.returns,
        given,
        now,
        busy=busy,
        leaving=plan.leaving.values(),
        wanted=wishing.wanted(plan, now),
    )


def _with_wishes(rules: Rules, plan: Plan, given: Given | Tick, now: Now) -> Step:
    """What people wish is done as far as it takes no look, and answered."""
    returns, forgot = forgetting.forgotten(rules, plan.returns, wishing.given_up(plan, now))
    returns, held = restore.held_back(rules, returns, wishing.wanted(plan, now), now)
    plan = structs.replace(plan, returns=returns)
    looked = isinstance(given, Judged) and not given.listed
    plan, told = wishing.answered(rules, plan, now, looked=looked)
    return plan, (*forgot, *held, *told)


def _with_returns(plan: Plan, step: restore.Step) -> Step:
    returns, effects = step
    return structs.replace(plan, returns=returns), effects


def _first_act(rules: Rules, plan: Plan) -> bool:
    """Whether this node was not acted on before, as far as anybody knows.

    [design, profile host: lines]
    """
    if not rules.profile.warns_before_first_act or rules.mode is not Mode.ACT or plan.told_to_act:
        return False
    return plan.decision is None or plan.decision.mode != Mode.ACT


def _warned(rules: Rules, plan: Plan, given: Judged, now: Now) -> Plan:
    until = now.boot_seconds + rules.profile.hard_grace_seconds
    due = {item.signal: until for item in given.pressure.thresholds if item.due}
    return structs.replace(plan, warned=due)


def _layout(plan: Plan, given: Judged) -> Layout | None:
    """The layout of the view, or the last one that could be told; None: it never could."""
    layout = given.observation.layout
    if layout is None:
        return plan.layout or Layout()
    return plan.layout if layout.error is not None else layout


def _scene(rules: Rules, plan: Plan, given: Judged, layout: Layout, now: Now) -> Scene:
    return Scene(
        rules=rules,
        given=given,
        newest=given,
        layout=layout,
        fresh=fresh_thresholds(given.pressure, plan.judged),
        now=now,
    )


def _amid_reclaim(rules: Rules, plan: Plan, under_way: Reclaiming, given: Judged, now: Now) -> Step:
    """While something is being given back, only shortages that no reclaim can help are acted on.

    They do not wait. The rest is left for the re-check.
    """
    plan = structs.replace(plan, reclaiming=structs.replace(under_way, latest=given))
    scene = _scene(rules, plan, given, plan.layout or Layout(), now)
    urgent = tuple(
        threshold
        for threshold in scene.fresh
        if not reclaim.steps_for(rules, scene.layout, threshold.signal)
    )
    if acting_threshold(urgent) is None:
        return plan, ()
    times = observation_times(given.pressure)
    used = {item.signal: times[item.signal] for item in urgent if item.signal in times}
    plan = structs.replace(plan, judged={**plan.judged, **used})
    return passes.run(structs.replace(scene, fresh=urgent), plan)


def _rechecked(rules: Rules, plan: Plan, under_way: Reclaiming, given: Judged, now: Now) -> Step:
    """The pass goes on where the reclaim interrupted it. [kubelet-eviction 7]"""
    enough = reclaim.cleared(rules, under_way.signal, given)
    effects: tuple[Emit, ...] = ()
    if under_way.outcome is not None:
        event = occurrences.reclaim_finished(
            rules, under_way.signal, under_way.outcome, enough=enough, now=now
        )
        effects = (event,)
    if not enough:
        plan, more = _not_cleared(rules, plan, under_way, given, now)
        return plan, (*effects, *more)
    plan = structs.replace(plan, reclaiming=None)
    plan, publish = report.decided(
        rules,
        plan,
        given,
        now,
        action=Action.WAIT,
        reason=f"reclaiming was enough for {under_way.signal}",
        signal=under_way.signal,
    )
    return plan, (reclaim.retraction(rules), *effects, publish)


def _not_cleared(
    rules: Rules, plan: Plan, under_way: Reclaiming, newest: Judged | None, now: Now
) -> Step:
    """Reclaiming did not help, or nobody said that it did: the pass goes on to evict."""
    plan = structs.replace(plan, reclaiming=None)
    over = (reclaim.retraction(rules),)
    interrupted = under_way.given or newest
    if filling.spares(rules, under_way.signal):
        interrupted = newest or interrupted  # who is growing is seen in what came since
    if interrupted is None:
        return plan, over
    due = (item for item in interrupted.pressure.thresholds if item.due)
    scene = Scene(
        rules=rules,
        given=interrupted,
        newest=newest or interrupted,
        layout=plan.layout or Layout(),
        fresh=under_way.fresh or by_urgency(due),
        now=now,
    )
    acting = acting_threshold(item for item in scene.fresh if item.signal == under_way.signal)
    if acting is None:
        return plan, over
    plan, effects = passes.evict(scene, plan, acting)
    return plan, (*over, *effects)


def _ordered(rules: Rules, plan: Plan, given: Ordered, now: Now) -> Step:
    """What the responder says of an order of ours."""
    if given.name == forgetting.ORDER_NAME:  # the record tells, once it is gone
        return plan, forgetting.stale(rules, plan.returns, given.status)
    if given.name == restore.ORDER_NAME:
        return _with_returns(plan, restore.answered(rules, plan.returns, given.status, now))
    return _reclaimed(rules, plan, given.status, now)


def _reclaimed(rules: Rules, plan: Plan, status: OrderStatus | None, now: Now) -> Step:
    under_way = plan.reclaiming
    if status is None or under_way is None or status.order_uid != under_way.order_uid:
        return plan, ()
    if under_way.outcome is not None or not reclaim.over(status):
        return plan, ()
    deadline = now.boot_seconds + reclaim.RECHECK_SECONDS
    under_way = structs.replace(under_way, outcome=status, deadline_boot_seconds=deadline)
    plan = _with_outcome(rules, structs.replace(plan, reclaiming=under_way), status, now)
    latest = under_way.latest
    if status.state != OrderState.FINISHED:
        plan, effects = _not_cleared(rules, plan, under_way, latest, now)
        if not status.steps:
            return plan, effects
        told = occurrences.reclaim_rehearsed(rules, under_way.signal, status, now)
        return plan, (told, *effects)
    if latest is not None and reclaim.looked_again(under_way, latest):
        return _rechecked(rules, plan, under_way, latest, now)
    return plan, (WakeAt(boot_seconds=deadline),)


def _with_outcome(rules: Rules, plan: Plan, status: OrderStatus, now: Now) -> Plan:
    """What came back is no growth undone, and what gave nothing is not tried again at once.

    The kubelet reclaims in each pass.
    """
    if plan.reclaiming is None or rules.reclaim_steps is None:
        return plan
    signal = plan.reclaiming.signal
    tried = {**plan.fruitless.get(signal, {}), **reclaim.fruitless(status.steps, now)}
    writing = plan.writing and growth.reclaimed(plan.writing, status.steps)
    fruitless = {**plan.fruitless, signal: tried}
    return structs.replace(plan, fruitless=fruitless, writing=writing)


def _ticked(rules: Rules, plan: Plan, now: Now) -> Step:
    """No word of the reclaim by its deadline: it has not cleared anything."""
    under_way = plan.reclaiming
    if under_way is None:
        return plan, ()
    if now.boot_seconds < under_way.deadline_boot_seconds:
        return plan, (WakeAt(boot_seconds=under_way.deadline_boot_seconds),)
    return _not_cleared(rules, plan, under_way, under_way.latest, now)


def _answered(rules: Rules, plan: Plan, given: Answered, now: Now) -> Step:
    """How one of our requests stands; it is cleared once it is final. [design, law 7]"""
    own, status = plan.request(given.topic), given.status
    if status is None:
        spent = {topic: uid for topic, uid in plan.spent.items() if topic != given.topic}
        return structs.replace(plan, spent=spent), ()
    if own is None or plan.spent.get(given.topic) == status.uid:
        return plan, ()
    end = fate(status)
    if end is None:
        return plan, ()
    if end is Fate.REHEARSED:
        return plan.with_request(structs.replace(own, finished=True)), ()
    spent = newest({**plan.spent, own.topic: status.uid})
    plan = structs.replace(plan.without_request(own.topic), spent=spent)
    plan, told = _ended(rules, plan, own, end, now)
    over = () if companions.leads(plan, own) else (Retract(topic=own.topic),)
    return plan, (*over, *told)


def _ended(rules: Rules, plan: Plan, own: OwnRequest, end: Fate, now: Now) -> Step:
    if end is Fate.EVICTED:
        gone = Instant(moment=plan.observed, boot_seconds=now.boot_seconds)
        history, told = loops.counted(rules, plan.history, own.pod, now)
        plan = structs.replace(plan, history=history, gone=plan.gone if own.gone else gone)
        plan = companions.await_turn(plan, own)
        if own.gone:  # noted when it was seen
            return plan, told
        return with_victim(rules, plan, own, now), told
    moves_on = rules.profile.failed_victim_moves_on
    if end is Fate.REFUSED:
        rest_seconds = failures.FAILED_SECONDS
        return _without_victim(
            plan, own, failures.not_gone(own.pod, now, rest_seconds=rest_seconds)
        )
    if end is Fate.FAILED and moves_on:
        return _without_victim(plan, own, not_gone(own, now))
    return plan, ()


def _without_victim(plan: Plan, own: OwnRequest, failed: dict[str, failures.Failure]) -> Step:
    """It stays, so that its disk has not had its one victim."""
    relieved = {signal: pod for signal, pod in plan.relieved.items() if pod.uid != own.pod.uid}
    return structs.replace(plan, failed={**plan.failed, **failed}, relieved=relieved), ()


def _seen(plan: Plan, given: Seen) -> Plan:
    """Which pods are on their way already, whoever asked."""
    name = f"{given.namespace}/{given.name}"
    others = {key: uid for key, uid in plan.leaving.items() if key != name}
    eviction = given.eviction
    if (
        eviction is not None
        and not eviction.status.dry_run
        and not eviction_finished(eviction.status.conditions)
    ):
        pod = eviction.spec.target.pod
        if pod is not None:
            others[name] = pod.uid
    return structs.replace(plan, leaving=others)
