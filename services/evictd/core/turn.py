"""The turn of a responder in the chain of one Eviction, as that responder sees it.

Whatever order activations, cancellations, interruptions and lost connections come in: its work runs
at most once at a time, ends when its entry is no longer Active, and its completion is reported
once. What the work itself does is its author's business. [contract 3, Report]
[eviction-request-api 8]
"""

from typing import TypeAlias, assert_never

from msgspec import structs

from evictd.core.admission.entries import MESSAGE_LENGTH_MAX
from evictd.core.duty.state import Assigned
from evictd.core.effects import Publish, Retract, Tick, WakeAt, unstamped
from evictd.core.moments import Now, whole_second
from evictd.core.protocol.chain import entry_of
from evictd.core.protocol.naming import report_topic
from evictd.core.protocol.vocabulary import State
from evictd.core.turn_state import (
    Begin,
    Committing,
    Confirm,
    Effect,
    End,
    Ending,
    Given,
    Left,
    Phase,
    Progressed,
    Recalled,
    Turn,
    TurnRules,
    Undo,
)
from evictd_schemas import Eviction, Report, ResponderStatus

FORGET_SECONDS = 60.0
"""An Eviction that is gone may come back: somebody had cleared its topic, and its controller writes
it again. For so long the responder knows that it has done its work."""
BEATS_PER_DEADLINE = 3
"""Where a deadline is short, signs of life may follow each other so much quicker."""
BEGUN = "begun"
UNWILLING = "nothing was done: this responder has no dry run"


Step: TypeAlias = tuple[Turn, tuple[Effect, ...]]


def take_turn(rules: TurnRules, turn: Turn, given: Given | Tick, now: Now) -> Step:
    """One step of one Eviction. `Tick` comes also when contact was lost or found again."""
    return _settled(rules, _told(rules, turn, given, now), now)


def active(rules: TurnRules, turn: Turn) -> bool:
    """Whether it is our turn, and the controller has not yet recorded our completion."""
    if turn.gone_boot_seconds is not None or _state(rules, turn) != State.ACTIVE:
        return False
    entry = _entry(rules, turn)
    return entry is None or entry.completion_time is None


def _told(rules: TurnRules, turn: Turn, given: Given | Tick, now: Now) -> Turn:
    match given:
        case Assigned(eviction=None):
            return _dismissed(turn, now)
        case Assigned(eviction=eviction):
            assert eviction is not None  # noqa: S101 - None is the case above
            return _assigned(turn, eviction, now)
        case Recalled(report=report):
            return _recalled(turn, report)
        case Progressed():
            return _progressed(turn, given, now)
        case Committing(uid=uid):
            return _committing(turn, uid, now)
        case Left():
            return _left(rules, turn, given, now)
        case Tick():
            return turn
        case _:
            assert_never(given)


def _assigned(turn: Turn, eviction: Eviction, now: Now) -> Turn:
    held = turn.eviction
    if held is not None and _is_older(eviction, turn.following or held):
        return turn
    if held is not None and held.metadata.uid != eviction.metadata.uid:
        if turn.phase in (Phase.WORKING, Phase.LEAVING):
            gone = now.boot_seconds if turn.gone_boot_seconds is None else turn.gone_boot_seconds
            return structs.replace(turn, gone_boot_seconds=gone, following=eviction)
        turn = Turn()
    turn = structs.replace(turn, eviction=eviction, gone_boot_seconds=None, following=None)
    return _reviewed(turn)


def _is_older(eviction: Eviction, held: Eviction) -> bool:
    """[contract 1, Order]; what is not numbered counts as it comes."""
    pair = (eviction.epoch, eviction.rev)
    return pair != (0, 0) and pair < (held.epoch, held.rev)


def _dismissed(turn: Turn, now: Now) -> Turn:
    if turn.eviction is None or turn.gone_boot_seconds is not None:
        return structs.replace(turn, following=None)
    return structs.replace(turn, gone_boot_seconds=now.boot_seconds, following=None)


def _recalled(turn: Turn, report: Report) -> Turn:
    """Only what comes before anything was done here tells something new."""
    if turn.phase is not Phase.IDLE or turn.report is not None:
        return turn
    return _reviewed(structs.replace(turn, report=unstamped(report)))


def _reviewed(turn: Turn) -> Turn:
    """A report of another Eviction means nothing; one that is complete, that all is done."""
    if turn.eviction is None or turn.report is None:
        return turn
    if turn.report.eviction_uid != turn.eviction.metadata.uid:
        return structs.replace(turn, report=None)
    if turn.phase is Phase.IDLE and turn.report.completion_time is not None:
        return structs.replace(turn, phase=Phase.DONE)
    return turn


def _progressed(turn: Turn, given: Progressed, now: Now) -> Turn:
    if not _at_work(turn, given.uid) or turn.report is None:
        return turn
    report = structs.replace(
        turn.report,
        heartbeat_time=whole_second(now.utc),
        expected_completion_time=given.expected_completion_time,
        message=given.message[:MESSAGE_LENGTH_MAX],
    )
    return structs.replace(turn, report=report, unsaid=True)


def _committing(turn: Turn, uid: str, now: Now) -> Turn:
    if not _at_work(turn, uid) or turn.report is None:
        return turn
    report = structs.replace(
        turn.report, heartbeat_time=whole_second(now.utc), point_of_no_return=True
    )
    return _pressing(structs.replace(turn, report=report))


def _left(rules: TurnRules, turn: Turn, given: Left, now: Now) -> Turn:
    """Work that was ended by us is not complete, whatever it made of that."""
    held = turn.eviction
    if held is None or held.metadata.uid != given.uid:
        return turn
    if turn.phase is Phase.LEAVING:
        turn = structs.replace(turn, phase=Phase.IDLE, unsaid=False)
    elif turn.phase is Phase.WORKING:
        turn = _completed(rules, turn, given.message, now)
    if turn.following is None:
        return turn
    return Turn(eviction=turn.following)


def _completed(rules: TurnRules, turn: Turn, message: str | None, now: Now) -> Turn:
    turn = structs.replace(turn, phase=Phase.DONE, unsaid=False)
    if not active(rules, turn) or turn.report is None:
        return turn
    report = structs.replace(
        turn.report,
        heartbeat_time=whole_second(now.utc),
        completion_time=whole_second(now.utc),
        message=(turn.report.message if message is None else message)[:MESSAGE_LENGTH_MAX],
    )
    return _pressing(structs.replace(turn, report=report))


def _settled(rules: TurnRules, turn: Turn, now: Now) -> Step:
    """What the state asks for, whichever step led to it."""
    turn, effects = _worked(rules, turn, now)
    turn, said = _said(rules, turn, now)
    turn, forgotten = _forgotten(rules, turn, now)
    return turn, (*effects, *said, *forgotten)


def _worked(rules: TurnRules, turn: Turn, now: Now) -> Step:
    if turn.eviction is None:
        return turn, ()
    uid = turn.eviction.metadata.uid
    if turn.phase is Phase.WORKING:
        if _committed(rules, turn):
            return turn, (Confirm(uid=uid),)
        ending = _ending(rules, turn)
        if ending is None:
            return turn, ()
        left = structs.replace(turn, phase=Phase.LEAVING, undone=ending is Ending.CANCELED)
        return left, (End(uid=uid, ending=ending),)
    if turn.phase is Phase.IDLE and rules.in_contact:
        if active(rules, turn):
            return _begun(rules, turn, turn.eviction, now)
        return _taken_back(rules, turn, turn.eviction)
    return turn, ()


def _taken_back(rules: TurnRules, turn: Turn, eviction: Eviction) -> Step:
    """Whoever was told to begin is told that it may stay, also by a later life of ours.

    A report that is left says that this is owed: it goes once that is done.
    """
    if turn.report is None or turn.gone_boot_seconds is not None:
        return turn, ()
    if turn.undone:
        return structs.replace(turn, report=None), (Retract(topic=_topic(rules, turn)),)
    if _state(rules, turn) != State.CANCELED or _committed(rules, turn):
        return turn, ()
    return structs.replace(turn, phase=Phase.LEAVING, undone=True), (Undo(eviction=eviction),)


def _begun(rules: TurnRules, turn: Turn, eviction: Eviction, now: Now) -> Step:
    """The first sign of life, or the refusal of a dry run that nobody should have given us."""
    resumed = turn.report is not None
    known = turn.report or Report(eviction_uid=eviction.metadata.uid, message=BEGUN)
    report = structs.replace(known, heartbeat_time=whole_second(now.utc))
    begun = _pressing(structs.replace(turn, phase=Phase.WORKING, report=report))
    if eviction.status.dry_run and not rules.supports_dry_run:
        return _completed(rules, begun, UNWILLING, now), ()
    effects: tuple[Effect, ...] = (Begin(eviction=eviction, resumed=resumed),)
    if _committed(rules, begun):
        effects = (*effects, Confirm(uid=eviction.metadata.uid))
    return begun, effects


def _said(rules: TurnRules, turn: Turn, now: Now) -> Step:
    """Nothing is reported when it is not our turn: it would be rejected."""
    if not turn.unsaid or turn.report is None or not active(rules, turn):
        return turn, ()
    due_seconds = turn.said_boot_seconds + _pause_seconds(rules, turn)
    if due_seconds > now.boot_seconds:
        return turn, (WakeAt(boot_seconds=due_seconds),)
    publish = Publish(topic=_topic(rules, turn), message=turn.report)
    return structs.replace(turn, unsaid=False, said_boot_seconds=now.boot_seconds), (publish,)


def _pause_seconds(rules: TurnRules, turn: Turn) -> float:
    """Both moments are the controller's own: no two machines' clocks are compared."""
    entry = _entry(rules, turn)
    last = None if entry is None else entry.heartbeat_time or entry.start_time
    if entry is None or entry.deadline_time is None or last is None:
        return rules.pause_seconds
    patience_seconds = (entry.deadline_time - last).total_seconds()
    return min(rules.pause_seconds, max(0.0, patience_seconds) / BEATS_PER_DEADLINE)


def _forgotten(rules: TurnRules, turn: Turn, now: Now) -> Step:
    """The controller clears reports of what it collects; ours may have crossed with that."""
    if turn.gone_boot_seconds is None or turn.phase in (Phase.WORKING, Phase.LEAVING):
        return turn, ()
    due_seconds = turn.gone_boot_seconds + FORGET_SECONDS
    if due_seconds > now.boot_seconds:
        return turn, (WakeAt(boot_seconds=due_seconds),)
    effects = () if turn.report is None else (Retract(topic=_topic(rules, turn)),)
    return Turn(), effects


def _ending(rules: TurnRules, turn: Turn) -> Ending | None:
    """Why the work must not go on, None where it may."""
    if turn.gone_boot_seconds is not None:
        return Ending.GONE
    if active(rules, turn):
        return None if rules.in_contact else Ending.OUT_OF_CONTACT
    return Ending.CANCELED if _state(rules, turn) == State.CANCELED else Ending.INTERRUPTED


def _committed(rules: TurnRules, turn: Turn) -> bool:
    """Whether the controller has recorded the point of no return.

    What we said is not enough, since a withdrawal may have come first.
    """
    entry = _entry(rules, turn)
    return entry is not None and entry.point_of_no_return


def _at_work(turn: Turn, uid: str) -> bool:
    held = turn.eviction
    return turn.phase is Phase.WORKING and held is not None and held.metadata.uid == uid


def _pressing(turn: Turn) -> Turn:
    """It is said now, not after the pause."""
    return structs.replace(turn, unsaid=True, said_boot_seconds=float("-inf"))


def _state(rules: TurnRules, turn: Turn) -> str | None:
    chain = () if turn.eviction is None else turn.eviction.status.target_responders
    return next((item.state for item in chain if item.name == rules.name), None)


def _entry(rules: TurnRules, turn: Turn) -> ResponderStatus | None:
    entries = () if turn.eviction is None else turn.eviction.status.responders
    return entry_of(entries, rules.name)


def _topic(rules: TurnRules, turn: Turn) -> str:
    assert turn.eviction is not None  # noqa: S101 - a report is of an Eviction
    return report_topic(rules.node, turn.eviction, rules.name)
