"""Whatever requesters, responders, observers and the clock do: what never happens to a target."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.core.protocol.stage import COPY, DRAIN, START, UID

from evictd.core.effects import Emit, Keep, Tick, WakeAt
from evictd.core.moments import FIRST, LAST, Now
from evictd.core.protocol.advance import advance
from evictd.core.protocol.case import Case, dry
from evictd.core.protocol.conditions import eviction_finished, request_finished
from evictd.core.protocol.inputs import (
    ControllerRules,
    Given,
    Recalled,
    Registered,
    Reported,
    Requested,
    Sighted,
    Withdrawn,
)
from evictd.core.protocol.requesters import wants
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER, FINAL_STATES, State
from evictd.core.rules import Mode
from evictd_schemas import (
    DeclaredResponder,
    Eviction,
    EvictionRequest,
    EvictionRequestSpec,
    Metadata,
    Moment,
    Pod,
    PodTarget,
    Registration,
    Report,
    Target,
)

RESPONDERS = (DRAIN, COPY, DEFAULT_RESPONDER)
REQUESTERS = ("acme.io/mover", "acme.io/second", "evictd.io/node-pressure")
TARGET = Target(pod=PodTarget(name="web", uid=UID))
PATIENCE_SECONDS = 3 * 2 * 1200.0 + 60
"""For each responder of the chain as long as it may take to begin and then be silent, and for the
last look at the machine."""
CODEC = msgspec.json.Decoder(Case)


def pod_of(
    uid: str, *, protected: bool, phase: str, group: str | None, mark: datetime | None
) -> Pod:
    return Pod(
        namespace="shop",
        name="web",
        uid=uid,
        phase=phase,
        protected=protected,
        scheduling_group=group,
        deletion_time=mark,
        eviction_responders=(
            DeclaredResponder(name=DRAIN, priority=10000, start_deadline_seconds=60),
            DeclaredResponder(name=COPY, priority=5000, heartbeat_deadline_seconds=30),
        ),
    )


class Target_(RuleBasedStateMachine):
    """One target, driven at random."""

    def __init__(self) -> None:
        super().__init__()
        self.case = Case()
        self.seconds = 0.0
        self.wall_seconds = 0.0
        self.boots = 1
        self.registrations = {DRAIN: Registration(status="ready", supports_dry_run=True)}
        self.mode = Mode.ACT
        self.listed = True
        self.look: float | None = None
        self.evicted: set[str] = set()
        self.kept: set[str] = set()
        self.former: dict[str, Eviction] = {}
        self.real_wish = False

    @property
    def now(self) -> Now:
        utc = START + timedelta(seconds=self.seconds + self.wall_seconds)
        return Now(boot_seconds=self.seconds, utc=utc)

    def feed(self, given: Given) -> None:
        """One step, and what holds for every step."""
        rules = ControllerRules(
            node="edge",
            mode=self.mode,
            silence_from_boot_seconds=10.0 if self.listed else None,
            registrations=self.registrations,
            boot_id=f"boot {self.boots}",
            era=f"boot {self.boots}",
        )
        before = self.case
        self.case, effects = advance(rules, before, given, self.now)
        self.look = None
        for effect in effects:
            if isinstance(effect, WakeAt):
                assert effect.boot_seconds > self.seconds
                self.look = effect.boot_seconds
            elif isinstance(effect, Emit) and effect.event.type == "evictd.Evicted.v1":
                assert effect.event.id not in self.evicted
                assert not effect.event.data["dryRun"]
                self.evicted.add(effect.event.id)
            elif isinstance(effect, Keep):
                assert eviction_finished(effect.eviction.status.conditions)
                self.kept.add(effect.eviction.metadata.uid)
        self.remembers()
        self.real_wish = any(
            wants(held.request) and not dry(rules, held.request) for held in self.case.requests
        )
        self.compare(before, given)

    def remembers(self) -> None:
        """Nothing that has ended is missing in the history."""
        for item in self.case.evictions:
            ended = eviction_finished(item.status.conditions)
            assert ended == (item.metadata.uid in self.kept)

    def compare(self, before: Case, given: Given) -> None:
        present = {item.metadata.uid: item for item in self.case.evictions}
        for uid, eviction in present.items():
            former = self.former.get(uid)
            if former is None:
                assert eviction.status.dry_run or self.real_wish
            else:
                self.follows(former, eviction, before, given)
        self.former = present

    def follows(self, former: Eviction, eviction: Eviction, before: Case, given: Given) -> None:
        """What one step may do to an Eviction."""
        states = {item.name: item.state for item in eviction.status.target_responders}
        for item in former.status.target_responders:
            if item.state in FINAL_STATES:
                assert states[item.name] == item.state
        if former.status.target_responders:
            assert states.keys() == {item.name for item in former.status.target_responders}
        if eviction_finished(former.status.conditions):
            assert eviction.status == former.status
        assert eviction.status.dry_run == former.status.dry_run
        if not isinstance(given, Reported | Recalled):
            later = {item.name: item.deadline_time for item in eviction.status.responders}
            for entry in former.status.responders:
                sign = before.run.signs.get(entry.name)
                held_back = sign is not None and sign != entry.heartbeat_time
                if entry.deadline_time is not None and not held_back:
                    assert later[entry.name] in (None, entry.deadline_time)

    @rule(
        requester=st.sampled_from(REQUESTERS),
        intent=st.sampled_from(["Eviction", "Eviction", "Withdrawn"]),
        kind=st.sampled_from(["Soft", "SoftWithDeadline", "Hard"]),
        dry_run=st.booleans(),
        grace=st.sampled_from([None, 5]),
        deleted=st.sampled_from([False, False, False, True]),
    )
    def request(
        self,
        requester: str,
        intent: str,
        kind: str,
        *,
        dry_run: bool,
        grace: int | None,
        deleted: bool,
    ) -> None:
        spec = EvictionRequestSpec(
            target=TARGET,
            requester=requester,
            intent=intent,
            type=kind,
            deadline_seconds=90 if kind == "SoftWithDeadline" else None,
            dry_run=dry_run,
            grace_period_seconds=grace,
        )
        metadata = Metadata(deletion_timestamp=self.now.utc if deleted else None)
        request = EvictionRequest(spec=spec, metadata=metadata)
        self.feed(Requested(requester=requester, namespace="shop", name="move", request=request))

    @rule(requester=st.sampled_from(REQUESTERS))
    def withdraw(self, requester: str) -> None:
        self.feed(Withdrawn(requester=requester, namespace="shop", name="move"))

    @rule(
        uid=st.sampled_from([UID, UID, UID, None, "other"]),
        live=st.booleans(),
        complete=st.booleans(),
        protected=st.sampled_from([False, False, False, True]),
        phase=st.sampled_from(["Running", "Running", "Succeeded"]),
        group=st.sampled_from([None, None, None, None, "g"]),
        mark=st.sampled_from([None, None, FIRST, LAST]),
    )
    def sight(
        self,
        uid: str | None,
        *,
        live: bool,
        complete: bool,
        protected: bool,
        phase: str,
        group: str | None,
        mark: datetime | None,
    ) -> None:
        pod = None
        if uid is not None:
            pod = pod_of(uid, protected=protected, phase=phase, group=group, mark=mark)
        moment = Moment(time=self.now.utc)
        self.feed(Sighted(pod=pod, moment=moment, live=live, complete=complete))

    @precondition(lambda self: self.case.evictions)
    @rule(
        responder=st.sampled_from(RESPONDERS),
        heartbeat=st.sampled_from([None, -100, 0, 20, 40, "first", "last"]),
        completed=st.booleans(),
        gone=st.booleans(),
        point=st.booleans(),
        listed=st.booleans(),
        data=st.data(),
    )
    def report(  # noqa: PLR0917 - hypothesis fills them in by name
        self,
        responder: str,
        heartbeat: int | str | None,
        completed: bool,
        gone: bool,
        point: bool,
        listed: bool,
        data: Any,
    ) -> None:
        eviction = data.draw(st.sampled_from(self.case.evictions))
        now = self.now.utc
        ends = {None: None, "first": FIRST, "last": LAST}
        time = now + timedelta(seconds=heartbeat) if isinstance(heartbeat, int) else ends[heartbeat]
        self.feed(
            Reported(
                namespace="shop",
                name=eviction.metadata.name,
                responder=responder,
                listed=listed,
                report=Report(
                    eviction_uid=eviction.metadata.uid,
                    heartbeat_time=time,
                    expected_completion_time=time,
                    completion_time=now if completed else None,
                    point_of_no_return=point,
                    target_gone=gone,
                ),
            )
        )

    @rule(
        responder=st.sampled_from([DRAIN, COPY, "acme.io/other"]),
        status=st.sampled_from(["init", "ready", "lost", "disconnected", None]),
        rehearses=st.booleans(),
    )
    def register(self, responder: str, status: str | None, *, rehearses: bool) -> None:
        registration = None
        self.registrations.pop(responder, None)
        if status is not None:
            registration = Registration(status=status, supports_dry_run=rehearses)
            self.registrations[responder] = registration
        self.feed(Registered(responder=responder, registration=registration))

    @rule(seconds=st.sampled_from([0.3, 1.0, 5.0, 11.0, 31.0, 61.0, 700.0]))
    def wait(self, seconds: float) -> None:
        """Time passes, and every timer on the way is heard."""
        end = self.seconds + seconds
        for _ in range(200):
            if self.look is None or self.look > end:
                break
            self.seconds = self.look
            self.feed(Tick())
        else:
            raise AssertionError("the target looks again and again")
        self.seconds = end

    @rule(seconds=st.sampled_from([-3600.0, -20.0, 20.0, 3600.0, 56 * 365 * 86_400.0]))
    def jump(self, seconds: float) -> None:
        """The wall clock is set; that nobody hears of it at once makes no difference."""
        self.wall_seconds += seconds

    @rule(mode=st.sampled_from(list(Mode)))
    def switch_mode(self, mode: Mode) -> None:
        self.mode = mode
        self.feed(Tick())

    @rule(listed=st.booleans())
    def restart(self, *, listed: bool) -> None:
        """The case is read back as it was written, and loses nothing by it."""
        read = CODEC.decode(msgspec.json.encode(self.case))
        assert read == self.case
        self.case, self.listed = read, listed
        self.feed(Tick())

    @rule()
    def reboot(self) -> None:
        """Boot time begins anew, on a clock that goes on."""
        self.wall_seconds += self.seconds
        self.seconds = 0.0
        self.boots += 1
        self.feed(Tick())

    @precondition(lambda self: self.case.evictions)
    @rule()
    def lose_journal(self) -> None:
        """What had been published is all that is left, whatever the clock does meanwhile."""
        former, self.case = self.case, Case()
        self.listed = False
        requests = tuple(
            Requested(
                requester=held.request.spec.requester,
                namespace="shop",
                name="move",
                request=held.request,
                status=held.status,
            )
            for held in former.requests
        )
        self.feed(Recalled(evictions=former.evictions, requests=requests))
        self.listed = True

    @invariant()
    def at_most_one_eviction_runs(self) -> None:
        running = [
            item for item in self.case.evictions if not eviction_finished(item.status.conditions)
        ]
        assert len(running) <= 1

    @invariant()
    def at_most_one_responder_is_active(self) -> None:
        for eviction in self.case.evictions:
            states = [item.state for item in eviction.status.target_responders]
            assert states.count(State.ACTIVE) <= 1
            if eviction_finished(eviction.status.conditions):
                assert State.ACTIVE not in states

    @invariant()
    def every_request_is_answered(self) -> None:
        for held in self.case.requests:
            assert len(held.status.conditions) == 2
            assert held.status.observed_generation == held.status.generation
            final = request_finished(held.status.conditions)
            assert final == (held.status.final_time is not None)

    def teardown(self) -> None:
        """Nobody says anything any more: what runs now ends by its own deadlines."""
        running = self.running
        self.listed = True
        self.feed(Tick())
        self.wait(PATIENCE_SECONDS)
        assert not running & self.running

    @property
    def running(self) -> set[str]:
        """The uids of Evictions that have not ended."""
        return {
            item.metadata.uid
            for item in self.case.evictions
            if not eviction_finished(item.status.conditions)
        }


TestTarget = Target_.TestCase
TestTarget.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
