"""A responder's turn, whatever comes in whatever order. [contract 3, Report]"""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from evictd.core.duty.state import Assigned
from evictd.core.effects import Publish, Retract, Tick, WakeAt
from evictd.core.moments import Now
from evictd.core.turn import take_turn
from evictd.core.turn_state import (
    Begin,
    Committing,
    Confirm,
    End,
    Ending,
    Given,
    Left,
    Progressed,
    Recalled,
    Turn,
    TurnRules,
    Undo,
)
from evictd_schemas import (
    Eviction,
    EvictionSpec,
    EvictionStatus,
    Metadata,
    PodTarget,
    Report,
    ResponderStatus,
    Target,
    TargetResponder,
)

NAME = "acme.io/drain"
START = datetime(2026, 1, 1, tzinfo=UTC)
FINAL = ("Canceled", "Interrupted", "Completed")


class Play(RuleBasedStateMachine):
    """One Eviction name on the bus, its controller, the responder's processes and their work.

    `seen` is what the responder was told last; the controller may be ahead of that.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = Now(boot_seconds=1000.0, utc=START)
        self.lives = 0
        self.rev = 0
        self.truth: Eviction | None = None
        self.seen: Eviction | None = None
        self.contact = True
        self.turn = Turn()
        self.kept: Report | None = None
        self.running: dict[str, bool] = {}
        self.confirmed: set[str] = set()
        self.completions: dict[str, int] = {}
        self.returned: set[str] = set()
        self.owed: set[str] = set()
        self.undoing = False

    def step(self, given: Given | Tick) -> None:
        rules = TurnRules(node="edge-7", name=NAME, in_contact=self.contact)
        self.turn, effects = take_turn(rules, self.turn, given, self.now)
        for effect in effects:
            self.obey(effect)

    def obey(self, effect: Any) -> None:
        match effect:
            case Begin(eviction=eviction):
                assert not self.running, "at most once at a time"
                assert self.active_as_seen(eviction.metadata.uid)
                assert self.contact
                assert eviction.metadata.uid not in self.returned, "never after its completion"
                self.running[eviction.metadata.uid] = True
                self.owed.add(eviction.metadata.uid)
            case Undo(eviction=eviction):
                assert not self.running, "nothing is undone while work goes on"
                assert self.state_as_seen(eviction.metadata.uid) == "Canceled"
                assert eviction.metadata.uid in self.owed, "nothing is undone twice"
                self.running[eviction.metadata.uid] = False
                self.undoing = True
            case End(uid=uid, ending=ending):
                assert uid not in self.confirmed, "nothing ends what cannot be taken back"
                self.running[uid] = False
                self.undoing = ending is Ending.CANCELED
            case Confirm(uid=uid):
                self.confirmed.add(uid)
            case Publish(message=message):
                self.publish(message)
            case Retract():
                self.kept = None
            case WakeAt():
                pass

    def publish(self, report: Report) -> None:
        assert self.active_as_seen(report.eviction_uid), "nothing is said out of turn"
        if report.completion_time is not None:
            assert report.eviction_uid in self.returned
            known = self.completions.get(report.eviction_uid, 0)
            self.completions[report.eviction_uid] = known + 1
        self.kept = report

    def active_as_seen(self, uid: str) -> bool:
        return self.state_as_seen(uid) == "Active"

    def state_as_seen(self, uid: str) -> str | None:
        seen = self.seen
        if seen is None or seen.metadata.uid != uid:
            return None
        return seen.status.target_responders[0].state

    def write(self, state: str, **entry: Any) -> None:
        """The controller's next word about the Eviction."""
        assert self.truth is not None
        self.rev += 1
        old = self.truth.status.responders[0]
        fields = {name: getattr(old, name) for name in ("point_of_no_return", "completion_time")}
        self.truth = made(self.truth.metadata.uid, self.rev, state, **{**fields, **entry})

    @property
    def state(self) -> str:
        assert self.truth is not None
        return self.truth.status.target_responders[0].state

    @rule(seconds=strategies.sampled_from([0.5, 5.0, 30.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.now = Now(
            boot_seconds=self.now.boot_seconds + seconds,
            utc=self.now.utc + timedelta(seconds=seconds),
        )
        self.step(Tick())

    @precondition(lambda self: self.truth is None or self.state in FINAL)
    @rule()
    def an_eviction_is_made(self) -> None:
        self.lives += 1
        self.rev += 1
        self.truth = made(f"uid-{self.lives}", self.rev, "Inactive")

    @initialize()
    def our_turn_begins(self) -> None:
        self.an_eviction_is_made()
        self.our_entry_becomes_active()
        self.the_newest_is_delivered()

    @precondition(lambda self: self.truth is None or self.state in FINAL)
    @rule()
    def our_next_turn_begins(self) -> None:
        self.our_turn_begins()

    @precondition(lambda self: self.truth is not None and self.state == "Inactive")
    @rule()
    def our_entry_becomes_active(self) -> None:
        self.write("Active")

    @precondition(lambda self: self.truth is not None and self.state == "Active")
    @rule(state=strategies.sampled_from(["Canceled", "Interrupted"]))
    def our_turn_is_ended(self, state: str) -> None:
        self.write(state)

    @precondition(lambda self: self.truth is not None and self.state == "Active" and self.running)
    @rule(state=strategies.sampled_from(["Canceled", "Canceled", "Interrupted"]))
    def our_turn_is_ended_while_we_work(self, state: str) -> None:
        self.write(state)
        self.the_newest_is_delivered()

    @precondition(lambda self: self.truth is not None and self.state == "Active")
    @rule()
    def the_controller_reads_our_report(self) -> None:
        report = self.kept
        if report is None or self.truth is None:
            return
        if report.eviction_uid != self.truth.metadata.uid:
            return
        recorded = report.point_of_no_return or self.truth.status.responders[0].point_of_no_return
        if report.completion_time is not None:
            self.write("Completed", completion_time=report.completion_time)
        else:
            self.write("Active", point_of_no_return=recorded)

    @precondition(lambda self: self.truth is not None and self.state in FINAL)
    @rule()
    def the_eviction_is_collected(self) -> None:
        self.truth, self.kept = None, None

    @rule()
    def the_newest_is_delivered(self) -> None:
        self.seen = self.truth
        self.step(Assigned(eviction=self.truth))

    @precondition(lambda self: self.seen is not None)
    @rule(back=strategies.integers(1, 3))
    def an_old_copy_comes_late(self, back: int) -> None:
        assert self.seen is not None
        old = made(self.seen.metadata.uid, max(1, self.seen.rev - back), "Active")
        if old.rev < self.seen.rev:
            self.step(Assigned(eviction=old))

    @rule()
    def contact_is_lost_or_found(self) -> None:
        self.contact = not self.contact
        self.step(Tick())

    @precondition(lambda self: not self.contact)
    @rule()
    def contact_is_found(self) -> None:
        self.contact_is_lost_or_found()

    @precondition(lambda self: self.running)
    @rule(number=strategies.integers(0, 3))
    def the_work_gets_on(self, number: int) -> None:
        (uid,) = self.running
        self.step(Progressed(uid=uid, message=f"part {number}"))

    @precondition(lambda self: self.running)
    @rule()
    def the_work_cannot_be_taken_back(self) -> None:
        (uid,) = self.running
        self.step(Committing(uid=uid))

    @precondition(lambda self: self.running)
    @rule()
    def the_work_is_over(self) -> None:
        ((uid, going),) = self.running.items()
        self.running.clear()
        self.confirmed.discard(uid)
        if going:
            self.returned.add(uid)
        if going or self.undoing:
            self.owed.discard(uid)
        self.undoing = False
        self.step(Left(uid=uid, message="done"))

    @rule()
    def the_process_starts_again(self) -> None:
        """The work of the old one ends with it; a report that was kept comes with the list.

        It says that something is owed, also where that was done out of contact and nobody heard.
        """
        self.running.clear()
        self.confirmed.clear()
        self.undoing = False
        said = self.kept.eviction_uid if self.kept and self.kept.completion_time else None
        if self.kept is not None and said is None:
            self.owed.add(self.kept.eviction_uid)
        self.returned &= {said}
        self.turn, self.contact = Turn(), False
        self.seen = self.truth
        self.step(Assigned(eviction=self.truth))
        if self.kept is not None:
            self.step(Recalled(report=self.kept))
        self.contact = True
        self.step(Tick())

    @invariant()
    def work_goes_on_only_in_our_turn(self) -> None:
        for uid, going in self.running.items():
            allowed = self.contact and self.active_as_seen(uid)
            assert not going or allowed or uid in self.confirmed

    @invariant()
    def what_was_begun_and_is_canceled_is_undone(self) -> None:
        """By whichever life of the responder: its report tells the next one."""
        for uid in self.owed - set(self.running):
            canceled = self.contact and self.state_as_seen(uid) == "Canceled"
            assert not canceled or self.recorded(uid)

    def recorded(self, uid: str) -> bool:
        """Whether the controller has recorded that it cannot be taken back."""
        seen = self.seen
        assert seen is not None
        return seen.metadata.uid == uid and seen.status.responders[0].point_of_no_return

    @invariant()
    def completion_is_reported_at_most_once(self) -> None:
        assert all(count == 1 for count in self.completions.values())

    @invariant()
    def our_turn_is_not_slept_through(self) -> None:
        """Work that was ended has to leave first, also that for another Eviction of the name."""
        uid = None if self.seen is None else self.seen.metadata.uid
        if uid is not None and self.contact and self.active_as_seen(uid):
            assert self.running or uid in self.returned

    @invariant()
    def what_is_done_in_our_turn_is_reported(self) -> None:
        """In the same step, so that nothing can be lost in between."""
        for uid in self.returned:
            if self.active_as_seen(uid) and self.seen is not None:
                assert uid in self.completions


def test_what_was_undone_out_of_contact_is_undone_again_by_the_next_life() -> None:
    """Its report is all that tells, and nobody could hear that it had gone."""
    play = Play()
    play.an_eviction_is_made()
    play.our_entry_becomes_active()
    play.the_newest_is_delivered()
    play.our_turn_is_ended("Canceled")
    play.the_newest_is_delivered()
    play.contact_is_lost_or_found()
    play.the_work_is_over()
    assert play.kept is not None
    play.the_process_starts_again()
    assert play.undoing
    play.the_work_is_over()
    assert play.kept is None
    play.the_process_starts_again()
    assert not play.running


def made(uid: str, rev: int, state: str, **entry: Any) -> Eviction:
    return Eviction(
        metadata=Metadata(name="pod-1-web", namespace="shop", uid=uid),
        spec=EvictionSpec(target=Target(pod=PodTarget(name="web", uid="life"))),
        status=EvictionStatus(
            target_responders=(TargetResponder(name=NAME, priority=10_000, state=state),),
            responders=(ResponderStatus(name=NAME, start_time=START, **entry),),
        ),
        epoch=1,
        rev=rev,
    )


TestTurn = Play.TestCase
TestTurn.settings = settings(max_examples=300, stateful_step_count=60, deadline=None)
