"""A target that is followed step by step, and what one step may do to it, whoever drives it.

[eviction-request-api 4, 5.1]
"""

from datetime import datetime, timedelta

from hypothesis.stateful import RuleBasedStateMachine
from tests.core.protocol.stage import COPY, DRAIN, START

from evictd.core.effects import Emit, Keep, WakeAt
from evictd.core.moments import Now
from evictd.core.protocol.advance import advance
from evictd.core.protocol.case import Case, dry
from evictd.core.protocol.conditions import eviction_finished
from evictd.core.protocol.inputs import (
    ControllerRules,
    Given,
    Recalled,
    Reported,
)
from evictd.core.protocol.requesters import wants
from evictd.core.protocol.vocabulary import FINAL_STATES
from evictd.core.rules import Mode
from evictd_schemas import (
    DeclaredResponder,
    Eviction,
    Pod,
    Registration,
    Report,
)


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


class Followed(RuleBasedStateMachine):
    """One target, looked at after each step."""

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

    def says(
        self,
        responder: str,
        eviction: Eviction,
        time: datetime | None,
        *,
        completed: bool,
        gone: bool,
        point: bool = False,
        listed: bool = False,
    ) -> None:
        report = Report(
            eviction_uid=eviction.metadata.uid,
            heartbeat_time=time,
            expected_completion_time=time,
            completion_time=self.now.utc if completed else None,
            point_of_no_return=point,
            target_gone=gone,
        )
        self.feed(
            Reported(
                namespace="shop",
                name=eviction.metadata.name,
                responder=responder,
                listed=listed,
                report=report,
            )
        )

    @property
    def running(self) -> set[str]:
        """The uids of Evictions that have not ended."""
        return {
            item.metadata.uid
            for item in self.case.evictions
            if not eviction_finished(item.status.conditions)
        }
