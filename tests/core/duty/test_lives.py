"""One Eviction after another of one workload, whatever controller, machine, people and crashes do.

[design, laws 5, 8 and 9] [contract 3, Report, Stopped]
"""

import math
from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import structs
from tests.core.duty.stage import ACT, POD, START, eviction, only

from evictd.core.duty import (
    Assigned,
    Duty,
    Effect,
    Given,
    Listed,
    Look,
    Neighbours,
    Phase,
    Start,
    StartEnded,
    StartOutcome,
    StartResult,
    StopEnded,
    StopOutcome,
    StopResult,
    respond,
)
from evictd.core.effects import Publish, Retract, Stop, Tick, WakeAt
from evictd.core.moments import Now
from evictd_schemas import Eviction, PodTarget, Report, Stopped, Target

STANDS_FOR = {
    Phase.LOOKING: Look,
    Phase.STOPPING: Stop,
    Phase.STARTING: Start,
    Phase.PAUSING: WakeAt,
}
LIVE = ("Active", "Inactive")
ACTIONS = ["stop", "stop", "restart", "restart", "webhook"]
GRACES = st.sampled_from([None, 0, 10, 600])
CODEC = msgspec.json.Decoder(Duty)
ROUNDS_MAX = 60


class Site(RuleBasedStateMachine):
    """The workload, its Eviction as the controller has it, and the hands of the responder."""

    def __init__(self) -> None:
        super().__init__()
        self.rules = ACT
        self.seconds = 1000.0
        self.wall_seconds = 0.0
        self.duty, self.last = Duty(), ()
        self.wake: float | None = None
        self.lives, self.evictions = 1, 0
        self.running = True
        self.by_us = False
        self.pod = self.life()
        self.truth: Eviction | None = None
        self.stops: list[tuple[float, Stop]] = []
        self.looks: list[Look] = []
        self.starts: list[Start] = []
        self.late: list[str] = []
        self.reports: dict[str, Report] = {}
        self.record: Stopped | None = None

    def life(self) -> Any:
        return structs.replace(POD, uid=f"life-{self.lives}")

    @property
    def now(self) -> Now:
        utc = START + timedelta(seconds=self.seconds + self.wall_seconds)
        return Now(boot_seconds=self.seconds, utc=utc)

    def feed(self, given: Given | Tick) -> None:
        before = self.duty
        self.duty, self.last = respond(self.rules, before, given, self.now)
        assert CODEC.decode(msgspec.json.encode(self.duty)) == self.duty
        self.resumes()
        for effect in self.last:
            self.obey(effect)

    def resumes(self) -> None:
        """Carrying out the effects of whichever step was the last resumes the work."""
        if self.duty.phase is Phase.PAUSING and not self.duty.active:
            return
        wanted = STANDS_FOR.get(self.duty.phase)
        assert wanted is None or len(only(self.last, wanted)) == 1

    def obey(self, effect: Effect) -> None:
        match effect:
            case Stop():
                self.allows(effect)
                self.begins(effect)
            case Look():
                if effect not in self.looks:
                    self.looks.append(effect)
            case Start():
                assert self.duty.pod is not None
                assert self.duty.pod.action == "restart"
                if effect not in self.starts:
                    self.starts.append(effect)
            case Publish(message=Report() as report):
                self.says(report)
            case Publish(message=Stopped() as record):
                self.record = record
            case Retract():
                self.reports.clear()
            case WakeAt(boot_seconds=boot_seconds):
                self.wake = boot_seconds

    def begins(self, stop: Stop) -> None:
        """Unless one that ends no later runs already."""
        grace = math.inf if stop.grace_seconds is None else stop.grace_seconds
        deadline = self.seconds + grace
        if not any(at <= deadline + 2 for at, other in self.stops if other.pod == stop.pod):
            self.stops.append((deadline, stop))

    def allows(self, stop: Stop) -> None:
        """Nothing but the target, which was listed, and that has been said before."""
        assert self.duty.pod is not None
        assert stop.pod == self.duty.target
        assert not self.duty.pod.protected
        assert stop.grace_seconds is not None
        assert self.duty.report is not None
        assert self.duty.report.point_of_no_return
        assert self.duty.report.completion_time is None

    def says(self, report: Report) -> None:
        assert self.duty.active
        assert self.duty.eviction is not None
        assert report.eviction_uid == self.duty.eviction.metadata.uid
        former = self.reports.get(report.eviction_uid)
        if former is not None and former.completion_time is not None:
            assert report == former or (report.target_gone and not former.target_gone)
        if report.target_gone:
            assert self.duty.target is not None
            assert not self.exists(self.duty.target.uid)
        self.reports[report.eviction_uid] = report

    def exists(self, uid: str) -> bool:
        return self.running and self.pod.uid == uid

    # The controller

    @initialize(action=st.sampled_from(ACTIONS), grace=GRACES)
    def somebody_wants_it_gone(self, action: str, grace: int | None) -> None:
        self.pod = structs.replace(self.pod, action=action)
        self.an_eviction_is_made("Active", "Soft", grace, dry_run=False, delivered=True)

    def write(self, state: str, **status: Any) -> None:
        assert self.truth is not None
        old = self.truth.status
        chain = (structs.replace(old.target_responders[0], state=state),)
        fresh = structs.replace(old, target_responders=chain, **status)
        self.truth = structs.replace(self.truth, status=fresh)

    @property
    def state(self) -> str | None:
        return None if self.truth is None else self.truth.status.target_responders[0].state

    @precondition(lambda self: self.state not in LIVE)
    @rule(
        state=st.sampled_from(["Active", "Active", "Active", "Inactive"]),
        kind=st.sampled_from(["Soft", "Hard"]),
        grace=GRACES,
        dry_run=st.sampled_from([False, False, False, True]),
        delivered=st.sampled_from([True, True, False]),
    )
    def an_eviction_is_made(
        self, state: str, kind: str, grace: int | None, *, dry_run: bool, delivered: bool
    ) -> None:
        self.evictions += 1
        made = eviction(state, grace, kind, dry_run=dry_run)
        target = Target(pod=PodTarget(name="web", uid=self.pod.uid))
        self.truth = structs.replace(
            made,
            metadata=structs.replace(made.metadata, uid=f"eviction-{self.evictions}"),
            spec=structs.replace(made.spec, target=target),
        )
        if delivered:
            self.it_is_delivered()

    @precondition(lambda self: self.state in LIVE)
    @rule(
        state=st.sampled_from(["Active", "Active", "Active", "Canceled", "Interrupted"]),
        kind=st.sampled_from(["Soft", "Hard"]),
        grace=GRACES,
    )
    def the_controller_writes(self, state: str, kind: str, grace: int | None) -> None:
        self.write(state, type=kind, grace_period_seconds=grace)
        self.it_is_delivered()

    @precondition(lambda self: self.state == "Active")
    @rule()
    def the_controller_reads_the_report(self) -> None:
        assert self.truth is not None
        report = self.reports.get(self.truth.metadata.uid)
        if report is None or report.completion_time is None:
            return
        entry = structs.replace(
            self.truth.status.responders[0], completion_time=report.completion_time
        )
        self.write("Completed", responders=(entry,))
        self.it_is_delivered()

    @precondition(lambda self: self.truth is not None and self.state not in LIVE)
    @rule(delivered=st.sampled_from([True, False, False]))
    def the_eviction_is_collected(self, *, delivered: bool) -> None:
        self.truth = None
        if delivered:
            self.it_is_delivered()

    @precondition(lambda self: self.truth is not None)
    @rule()
    def it_is_delivered(self) -> None:
        self.feed(Assigned(eviction=self.truth))

    # The machine

    @precondition(lambda self: self.looks or self.stops or self.starts)
    @rule()
    def the_hands_get_on(self) -> None:
        if self.looks:
            self.a_look_returns(listed=True, held=None)
        elif self.stops:
            self.a_stop_ends(0, "")
        else:
            self.a_start_ends(StartResult.STARTED)

    @precondition(lambda self: self.looks)
    @rule(
        listed=st.sampled_from([True, True, True, False]),
        held=st.sampled_from([None, None, None, "held"]),
    )
    def a_look_returns(self, *, listed: bool, held: str | None) -> None:
        look = self.looks.pop(0)
        pod = self.pod if listed and self.exists(look.pod.uid) else None
        everyone = Neighbours(pods=(self.pod,) if self.running else ())
        neighbours = everyone if look.everyone else None
        self.feed(Listed(uid=look.pod.uid, pod=pod, held=held, neighbours=neighbours))

    @precondition(lambda self: self.stops)
    @rule(
        which=st.integers(0, 3),
        how=st.sampled_from(["", "", StopResult.FAILED, StopResult.REFUSED]),
    )
    def a_stop_ends(self, which: int, how: str) -> None:
        _, stop = self.stops.pop(which % len(self.stops))
        result = StopResult(how) if how else self.stopped(stop)
        if result is StopResult.FAILED:
            self.late.append(stop.pod.uid)
        if self.duty.target is None:
            self.by_us = False  # nobody is left who knows for what it was
        self.feed(StopEnded(uid=stop.pod.uid, outcome=StopOutcome(result=result, why="x")))

    @precondition(lambda self: self.stops and self.state == "Active")
    @rule(collected=st.booleans())
    def it_fails_as_the_turn_ends(self, *, collected: bool) -> None:
        self.a_stop_ends(0, StopResult.FAILED)
        self.write("Interrupted")
        self.it_is_delivered()
        if collected:
            self.the_eviction_is_collected(delivered=True)

    @precondition(lambda self: self.late)
    @rule()
    def a_stop_that_failed_comes_true(self) -> None:
        """Long after its grace nobody waits for it any more."""
        uid, target = self.late.pop(), self.duty.target
        if self.exists(uid):
            known = target is not None and target.uid == uid
            self.running, self.by_us = False, known and self.duty.signalled

    def stopped(self, stop: Stop) -> StopResult:
        if self.exists(stop.pod.uid):
            self.running, self.by_us = False, True
            return StopResult.GONE
        return StopResult.OTHER_UID if self.running else StopResult.NOT_FOUND

    @precondition(lambda self: self.starts)
    @rule(result=st.sampled_from([StartResult.STARTED, StartResult.FAILED, StartResult.UNASKED]))
    def a_start_ends(self, result: StartResult) -> None:
        start = self.starts.pop(0)
        if result is StartResult.STARTED:
            if self.running:
                result = StartResult.RUNNING
            else:
                self.it_begins_anew()
        self.feed(StartEnded(uid=start.pod.uid, outcome=StartOutcome(result=result, why="x")))

    def it_begins_anew(self) -> None:
        self.lives += 1
        self.running, self.by_us, self.record = True, False, None
        self.pod = structs.replace(self.pod, uid=f"life-{self.lives}")

    @precondition(lambda self: self.running)
    @rule()
    def it_ends_by_itself(self) -> None:
        self.running, self.by_us = False, False

    @precondition(lambda self: not self.running)
    @rule()
    def somebody_starts_it(self) -> None:
        self.it_begins_anew()

    @rule(
        action=st.sampled_from(ACTIONS),
        protected=st.sampled_from([False, False, False, False, True]),
    )
    def its_owner_changes_his_mind(self, action: str, *, protected: bool) -> None:
        self.pod = structs.replace(self.pod, action=action, protected=protected)

    @rule(seconds=st.sampled_from([0.5, 5.0, 11.0, 31.0, 200.0, 900.0]))
    def time_passes(self, seconds: float) -> None:
        end = self.seconds + seconds
        for _ in range(ROUNDS_MAX):
            if self.wake is None or self.wake > end:
                break
            self.seconds, self.wake = max(self.seconds, self.wake), None
            self.feed(Tick())
        else:
            raise AssertionError("it looks again and again")
        self.seconds = end

    @rule(seconds=st.sampled_from([-3600.0, 3600.0]))
    def the_clock_is_set(self, seconds: float) -> None:
        self.wall_seconds += seconds

    @rule(told=st.booleans(), booted=st.sampled_from([False, False, False, True]))
    def it_crashes(self, *, told: bool, booted: bool) -> None:
        """The hands are cut off, and what the last step had asked for is asked for again.

        After a boot the time of the machine begins anew, and whatever ran is another life.
        """
        self.stops, self.looks, self.starts, self.wake = [], [], [], None
        if booted:
            self.late = []
            self.wall_seconds += self.seconds
            self.seconds = 1.0
            if self.running:
                self.it_begins_anew()
        for effect in self.last:
            self.obey(effect)
        if told or booted:
            self.it_is_delivered()

    # What holds

    @invariant()
    def the_hands_are_at_what_is_asked_for(self) -> None:
        uid = None if self.duty.target is None else self.duty.target.uid
        if self.duty.phase is Phase.STOPPING:
            assert uid in {stop.pod.uid for _, stop in self.stops}
        elif self.duty.phase is Phase.STARTING:
            assert uid in {start.pod.uid for start in self.starts}
        elif self.duty.phase is Phase.LOOKING and self.duty.active:
            assert uid in {look.pod.uid for look in self.looks}
        elif self.duty.phase is Phase.PAUSING and self.duty.active:
            assert self.wake is not None

    def teardown(self) -> None:
        """Nobody wants anything more, and the machine does what it is told."""
        self.truth = None
        self.it_is_delivered()
        for _ in range(ROUNDS_MAX):
            if not (self.stops or self.looks or self.starts):
                break
            if self.stops:
                self.a_stop_ends(0, "")
            if self.looks:
                self.a_look_returns(listed=True, held=None)
            if self.starts:
                self.a_start_ends(StartResult.FAILED)
        else:
            raise AssertionError("the hands find no rest")
        assert self.running or not self.by_us or self.record is not None


TestSite = Site.TestCase
TestSite.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
