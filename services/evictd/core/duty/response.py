"""The built-in responder's step: when it is its turn it stops the target, once, and says so.

Each step returns everything that its phase stands for, a running stop included, so that whichever
step was the last one before a crash, carrying out its effects again resumes the work. The shell
does not begin twice what still runs, and a runtime checks the uid: repeating is harmless. [design,
law 5] [contract 3, Report, Eviction] [eviction-request-api 7]
"""

from typing import assert_never

from msgspec import structs

from evictd.core.duty import budgets, doubt, pace, rejoining, telling, ways
from evictd.core.duty.namesake import succeeded
from evictd.core.duty.outcomes import StartOutcome, StopOutcome, StopResult
from evictd.core.duty.state import (
    Assigned,
    Duty,
    Effect,
    Given,
    Listed,
    Look,
    Phase,
    Rejoin,
    Start,
    StartEnded,
    StopEnded,
)
from evictd.core.effects import Publish, Stop, Tick, WakeAt
from evictd.core.moments import Now
from evictd.core.pods import critical
from evictd.core.protocol.vocabulary import SetbackCause
from evictd.core.rules import Mode, Rules
from evictd.core.wording import name_text
from evictd_schemas import Eviction, Pod

Step = tuple[Duty, tuple[Effect, ...]]


def respond(rules: Rules, duty: Duty, given: Given | Tick, now: Now) -> Step:
    """One step of one Eviction of the home node. [design, laws 1, 8, 9 and 11]"""
    if duty.is_rejoining:
        return rejoining.rejoined(duty, given, now)
    match given:
        case Rejoin(pod=pod):
            if duty.eviction is not None:
                return _standing(rules, duty, now)
            return rejoining.begun(pod, now)
        case Assigned(eviction=eviction):
            if eviction is None:
                return _dismissed(rules, duty, now)
            return _assigned(rules, duty, eviction, now)
        case Listed():
            return _listed(rules, duty, given, now)
        case StopEnded(uid=uid, outcome=outcome):
            return _ended(rules, duty, uid, outcome, now)
        case StartEnded(uid=uid, outcome=outcome):
            return _started(rules, duty, uid, outcome, now)
        case Tick():
            return _standing(rules, duty, now)
        case _:
            assert_never(given)


def forbidden(rules: Rules) -> str | None:
    """Why this node stops nothing at all, None where it acts.

    Looked at for each stop that is carried out, since one that was decided in `act` may be left in
    the journal. [design, law 8]
    """
    return None if rules.mode is Mode.ACT else f"mode is {rules.mode}"


def _assigned(rules: Rules, duty: Duty, eviction: Eviction, now: Now) -> Step:
    """The newest state of the Eviction, or another one under its name."""
    was_doubtful = duty.doubtful
    if duty.eviction is None or duty.eviction.metadata.uid != eviction.metadata.uid:
        duty = succeeded(duty, eviction, now)
    duty = structs.replace(duty, eviction=eviction, dismissed=False)
    foreign = eviction.status.node not in ("", rules.node)
    if foreign or duty.target is None:
        return Duty(), ()
    if duty.phase is Phase.STOPPING:
        return _standing(rules, _shortened(rules, duty, now), now)
    if duty.phase is Phase.STARTING:
        return _standing(rules, duty, now)
    if not duty.active and (duty.phase is not Phase.DONE or duty.doubtful):
        idle = structs.replace(duty, phase=Phase.IDLE)
        return _doubted(rules, idle, now) if idle.doubtful else (idle, ())
    if (
        was_doubtful
        or duty.phase is Phase.IDLE
        or (duty.phase is Phase.PAUSING and _sooner(rules, duty, eviction))
    ):
        duty = structs.replace(duty, phase=Phase.LOOKING)
    return _standing(rules, duty, now)


def _dismissed(rules: Rules, duty: Duty, now: Now) -> Step:
    """The Eviction was collected: the report goes too; what runs is still waited for."""
    if duty.eviction is None:
        return Duty(), ()
    if duty.phase in (Phase.STOPPING, Phase.STARTING):
        return _standing(rules, structs.replace(duty, dismissed=True), now)
    left = structs.replace(duty, dismissed=True)
    return _doubted(rules, left, now) if left.doubtful else (Duty(), telling.retracted(rules, duty))


def _listed(rules: Rules, duty: Duty, listed: Listed, now: Now) -> Step:
    """Only a uid that a runtime of this machine has listed is ours; of others nothing is said."""
    uid, target = listed.uid, duty.target
    if duty.phase is not Phase.LOOKING or target is None or target.uid != uid:
        return _standing(rules, duty, now)
    if duty.doubtful:
        return _settled(rules, duty, listed, now)
    if not duty.active:
        return _standing(rules, duty, now)
    # A life that was listed before and is not now: the runtime itself tells that it has gone.
    pod = duty.pod if listed.pod is None else listed.pod
    if pod is None or pod.uid != uid:
        return _standing(rules, telling.paused(duty, now), now)
    return _begun(rules, structs.replace(duty, pod=pod), pod, listed, now)


def _begun(rules: Rules, duty: Duty, pod: Pod, listed: Listed, now: Now) -> Step:
    """The mode is looked at last, from the node's own rules.

    Then the reasons never to stop, then those not to stop now.
    """
    assert duty.eviction is not None  # noqa: S101 - only an active duty begins
    name, refusal, gone = name_text(pod), _refusal(pod), listed.pod is None
    withheld = budgets.withheld(rules, duty.eviction, pod, listed.neighbours, gone=gone)
    held = None if listed.held is None or gone else f"{name}: {listed.held}"
    dry = _dryness(rules, duty.eviction)
    if dry is not None:
        kept = refusal or withheld or held
        would = ways.rehearsed(duty, pod) if kept is None else f"would not stop {kept}"
        return _standing(rules, telling.completed(duty, f"{would}; {dry}", now, gone=False), now)
    soft = not ways.hard(duty.eviction)
    duty = structs.replace(
        duty, withheld=refusal is None and withheld is not None, held=held is not None and soft
    )
    if refusal is not None:
        return _standing(rules, telling.failed(duty, SetbackCause.REFUSED, refusal, now), now)
    if withheld is not None:
        return _standing(rules, telling.refused(duty, withheld, now), now)
    if ways.left_to_webhook(duty, pod):
        return _standing(rules, ways.left(duty, pod, now), now)
    asked = _asked_seconds(duty)
    grace = pod.termination_grace_period_seconds if asked is None else asked
    if held is not None:
        waits = structs.replace(duty, grace_seconds=grace)
        return _standing(rules, telling.failed(waits, SetbackCause.REFUSED, held, now), now)
    began = structs.replace(
        duty,
        phase=Phase.STOPPING,
        grace_seconds=grace,
        began_boot_seconds=now.boot_seconds,
        found_gone=gone and not duty.signalled,
        left_boot_seconds=None,
    )
    wait = "its own grace" if grace is None else f"a grace of {grace} s"
    ignored = budgets.ignored(rules, began.eviction, pod)
    return _standing(
        rules, telling.stopping(began, f"stopping {name} with {wait}{ignored}", now), now
    )


def _ended(rules: Rules, duty: Duty, uid: str, outcome: StopOutcome, now: Now) -> Step:
    """What is down because of us is written down; what is not is tried again.

    An end counts also after a failure, and when the turn is over by then: of two stops one may fail
    while the other still runs.
    """
    target = duty.target
    if duty.ended or duty.pod is None or target is None or target.uid != uid:
        return _standing(rules, duty, now)
    if not outcome.ended:
        if duty.phase is not Phase.STOPPING:
            return _standing(rules, duty, now)
        was_tried = outcome.result is StopResult.FAILED
        cause = SetbackCause.FAILED if was_tried else SetbackCause.REFUSED
        why = f"{name_text(target)}: {outcome.why}"
        duty = structs.replace(duty, signalled=duty.signalled or was_tried)
        duty = telling.failed(duty, cause, why, now)
        if duty.doubtful:
            return _doubted(rules, duty, now)
        if duty.dismissed:
            return Duty(), telling.retracted(rules, duty)
        return _standing(rules, duty, now)
    end = telling.end_sentence(target, outcome)
    if forbidden(rules) is None and ways.restarts(duty, outcome):
        again = telling.completed(duty, f"{end}; it is started again at once", now, gone=True)
        return _standing(rules, structs.replace(again, phase=Phase.STARTING), now)
    record = telling.record(rules, duty, now) if _ours(duty, outcome) else ()
    if duty.dismissed:
        return Duty(), (*telling.retracted(rules, duty), *record)
    duty, effects = _standing(rules, telling.completed(duty, end, now, gone=True), now)
    return duty, (*effects, *record)


def _ours(duty: Duty, outcome: StopOutcome) -> bool:
    """Whether what has ended is down because of us; a name that runs again is not down.

    One that is not found counts as ours, since the order to stop was given: after a crash in the
    middle of a stop nothing else is left to see. Unless it had gone before, while it was held.
    """
    if outcome.result is StopResult.NOT_FOUND:
        return not duty.found_gone
    return outcome.result is not StopResult.OTHER_UID


def _doubted(rules: Rules, duty: Duty, now: Now) -> Step:
    """Our turn is over, but a stop may still come true: it is looked at whether it does."""
    retracted = telling.retracted(rules, duty) if duty.dismissed else ()
    report = None if duty.dismissed else duty.report
    looking = structs.replace(duty, phase=Phase.LOOKING, report=report)
    duty, effects = _standing(rules, looking, now)
    return duty, (*retracted, *effects)


def _settled(rules: Rules, duty: Duty, listed: Listed, now: Now) -> Step:
    """What came true is written down; what still lives is left alone in the end."""
    if not doubt.over(duty, listed, now):
        return _standing(rules, doubt.waiting(duty, now), now)
    is_down = doubt.gone(listed) and doubt.down(duty, listed)
    record = telling.record(rules, duty, now) if is_down else ()
    if duty.dismissed:
        return Duty(), record
    return structs.replace(duty, phase=Phase.IDLE, signalled=False), record


def _started(rules: Rules, duty: Duty, uid: str, outcome: StartOutcome, now: Now) -> Step:
    """It lives again, or it is down because of us like any other."""
    target = duty.target
    if duty.phase is not Phase.STARTING or target is None or target.uid != uid:
        return _standing(rules, duty, now)
    record = () if outcome.runs else telling.record(rules, duty, now, attempts=1)
    if duty.dismissed:
        return Duty(), (*telling.retracted(rules, duty), *record)
    duty, effects = _standing(rules, structs.replace(duty, phase=Phase.DONE), now)
    return duty, (*effects, *record)


def _standing(rules: Rules, duty: Duty, now: Now) -> Step:
    """Everything that the phase asks for; nothing is reported when it is not our turn."""
    waits = duty.active or duty.doubtful
    if duty.phase is Phase.PAUSING and waits and pace.rested(duty, now):
        duty = structs.replace(duty, phase=Phase.LOOKING)
    duty = pace.beaten(pace.resumed(duty, now), now)
    effects: list[Effect] = []
    target = duty.target
    if duty.active and duty.report is not None:
        effects.append(Publish(topic=telling.report_topic_of(rules, duty), message=duty.report))
    if duty.phase is Phase.LOOKING and target is not None:
        everyone = duty.doubtful or budgets.hold(rules, duty.eviction)
        effects.append(Look(pod=target, everyone=everyone))
    if duty.phase is Phase.STOPPING and target is not None:
        rest = duty.rest_seconds(now.boot_seconds)
        effects.append(Stop(pod=target, grace_seconds=rest, signal=telling.signal_of(duty)))
    if duty.phase is Phase.STARTING and target is not None and duty.pod is not None:
        effects.append(Start(pod=target, runtime_id=duty.pod.runtime_id))
    if (wake := pace.wake_boot_seconds(duty, now)) is not None:
        effects.append(WakeAt(boot_seconds=wake))
    return duty, tuple(effects)


def _shortened(rules: Rules, duty: Duty, now: Now) -> Duty:
    """A smaller grace that arrives while the stop runs shortens it; nothing lengthens it."""
    asked, rest = _asked_seconds(duty), duty.rest_seconds(now.boot_seconds)
    target = duty.target
    if duty.eviction is None or not duty.active or _dryness(rules, duty.eviction) is not None:
        return duty  # whoever may not stop it may not hurry it either
    if asked is None or target is None or (rest is not None and asked >= rest):
        return duty
    name = name_text(target)
    shorter = structs.replace(duty, grace_seconds=asked, began_boot_seconds=now.boot_seconds)
    return telling.stopping(shorter, f"stopping {name} with a grace shortened to {asked} s", now)


def _sooner(rules: Rules, duty: Duty, eviction: Eviction) -> bool:
    """Whether the pause ends now: less grace is asked for, or what kept it counts no more."""
    kept = duty.withheld and budgets.hold(rules, eviction)
    left = duty.left_boot_seconds is not None and not ways.hard(eviction)
    waits = duty.withheld or duty.left_boot_seconds is not None
    forced = duty.held and ways.hard(eviction)
    return _tightened(duty) or forced or (waits and not kept and not left)


def _tightened(duty: Duty) -> bool:
    """Whether less grace is asked for than at the last attempt."""
    asked = _asked_seconds(duty)
    return asked is not None and (duty.grace_seconds is None or asked < duty.grace_seconds)


def _asked_seconds(duty: Duty) -> int | None:
    """The Eviction's own grace; a negative one is none at all."""
    asked = None if duty.eviction is None else duty.eviction.status.grace_period_seconds
    return None if asked is None else max(0, asked)


def _dryness(rules: Rules, eviction: Eviction) -> str | None:
    """Why nothing is stopped for this Eviction, or None."""
    dry = "the request is a dry run" if eviction.status.dry_run else None
    return forbidden(rules) or dry


def _refusal(pod: Pod) -> str | None:
    """Never a critical or protected workload, even if all others have let it pass.

    [design, law 9]
    """
    name = name_text(pod)
    if critical(pod):
        return f"{name}: it is critical"
    if pod.protected:
        return f"{name}: it is protected" + (
            f", managed by {pod.managed_by}" if pod.managed_by else ""
        )
    return None
