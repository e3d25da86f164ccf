"""Whatever requesters, responders, observers and the clock do: what never happens to a target."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from tests.core.protocol.followed import Followed, pod_of
from tests.core.protocol.stage import COPY, DRAIN, UID

from evictd.core.effects import Tick
from evictd.core.moments import FIRST, LAST
from evictd.core.protocol.case import Case
from evictd.core.protocol.conditions import eviction_finished, request_finished
from evictd.core.protocol.inputs import (
    Recalled,
    Registered,
    Requested,
    Sighted,
    Withdrawn,
)
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER, State
from evictd.core.rules import Mode
from evictd_schemas import (
    EvictionRequest,
    EvictionRequestSpec,
    Metadata,
    Moment,
    PodTarget,
    Registration,
    Target,
)

RESPONDERS = (DRAIN, COPY, DEFAULT_RESPONDER)
REQUESTERS = ("acme.io/mover", "acme.io/second", "evictd.io/node-pressure")
TARGET = Target(pod=PodTarget(name="web", uid=UID))
PATIENCE_SECONDS = 3 * 2 * 1200.0 + 60
"""For each responder of the chain as long as it may take to begin and then be silent, and for the
last look at the machine."""
CODEC = msgspec.json.Decoder(Case)


class Target_(Followed):
    """One target, driven at random."""

    @initialize()
    def it_is_there_and_somebody_wants_it_gone(self) -> None:
        self.it_is_seen(running=True)
        self.it_is_wanted(REQUESTERS[0])

    @rule(requester=st.sampled_from(REQUESTERS))
    def it_is_wanted(self, requester: str) -> None:
        self.request(requester, "Eviction", "Soft", dry_run=False, grace=None, deleted=False)

    @rule(running=st.sampled_from([True, True, False]))
    def it_is_seen(self, *, running: bool) -> None:
        """By a live and complete look."""
        pod = pod_of(UID, protected=False, phase="Running", group=None, mark=None)
        moment = Moment(time=self.now.utc)
        seen = pod if running else None
        self.feed(Sighted(pod=seen, moment=moment, live=True, complete=True))

    @precondition(lambda self: self.running)
    @rule(completed=st.sampled_from([True, True, False]), gone=st.booleans())
    def whose_turn_it_is_reports(self, *, completed: bool, gone: bool) -> None:
        for eviction in self.case.evictions:
            for item in eviction.status.target_responders:
                if item.state == State.ACTIVE:
                    self.says(item.name, eviction, self.now.utc, completed=completed, gone=gone)

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
        self.says(
            responder, eviction, time, completed=completed, gone=gone, point=point, listed=listed
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

    @rule(mode=st.sampled_from([*Mode, Mode.ACT, Mode.ACT]))
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


TestTarget = Target_.TestCase
TestTarget.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
