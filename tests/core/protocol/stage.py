"""One target on a clock of its own: the controller's steps are fed, and every timer is heard."""

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from evictd.core.effects import ControllerEffect, Emit, Tick, WakeAt
from evictd.core.moments import Now
from evictd.core.protocol.advance import advance
from evictd.core.protocol.case import Case, Held
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
from evictd.core.protocol.vocabulary import PRESSURE_REQUESTERS
from evictd.core.rules import Mode
from evictd_schemas import (
    DeclaredResponder,
    Eviction,
    EvictionRequest,
    EvictionRequestSpec,
    Moment,
    Pod,
    PodTarget,
    Registration,
    Report,
    ResponderStatus,
    Target,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
UID = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
DRAIN, COPY = "acme.io/drain", "acme.io/copy"
MOVER = "acme.io/mover"
FIRST, SECOND = "pod-1-web", "pod-2-web"
WEB = Pod(
    namespace="shop",
    name="web",
    uid=UID,
    eviction_responders=(
        DeclaredResponder(name=DRAIN, priority=10000),
        DeclaredResponder(name=COPY, priority=5000),
    ),
)


class Stage:
    """A node that acts and has seen the workload. `wall_seconds`: by how much its clock jumped."""

    def __init__(self, pod: Pod | None = WEB) -> None:
        self.case = Case()
        self.rules = ControllerRules(
            node="edge",
            mode=Mode.ACT,
            boot_id="first",
            era="first",
            hard_requesters=PRESSURE_REQUESTERS,
        )
        self.boot_seconds = 1000.0
        self.wall_seconds = 0.0
        self.pod = pod
        self.reasons: list[str] = []
        self._look: float | None = None

    def time(self, seconds: float = 0) -> datetime:
        """So many seconds from now by the wall clock."""
        return START + timedelta(seconds=self.boot_seconds + self.wall_seconds + seconds)

    def feed(self, given: Given) -> tuple[ControllerEffect, ...]:
        now = Now(boot_seconds=self.boot_seconds, utc=self.time())
        self.case, effects = advance(self.rules, self.case, given, now)
        self._look = None
        for effect in effects:
            if isinstance(effect, WakeAt):
                self._look = effect.boot_seconds
            elif isinstance(effect, Emit):
                self.reasons.append(effect.event.data["reason"])
        return effects

    def after(self, seconds: float) -> None:
        """Time passes, and every timer on the way is heard."""
        end = self.boot_seconds + seconds
        while self._look is not None and self._look <= end:
            self.boot_seconds = self._look
            self.feed(Tick())
        self.boot_seconds = end

    def become(self, **rules: Any) -> None:
        """Other rules from now on."""
        self.rules = structs.replace(self.rules, **rules)
        self.feed(Tick())

    def reboot(self) -> None:
        """The machine starts anew; its clock goes on."""
        self.wall_seconds += self.boot_seconds - 50
        self.boot_seconds = 50.0
        self.become(boot_id="second", era="second")

    def request(
        self, name: str = "move", requester: str = MOVER, *, sighted: bool = True, **spec: Any
    ) -> None:
        wish = {"intent": "Eviction", "requester": requester, **spec}
        target = Target(pod=PodTarget(name="web", uid=UID))
        request = EvictionRequest(spec=EvictionRequestSpec(target=target, **wish))
        self.feed(
            Requested(
                requester=requester,
                namespace="shop",
                name=name,
                request=request,
                sighted=self._sighted(live=False) if sighted else None,
            )
        )

    def withdraw(self, name: str = "move", requester: str = MOVER) -> None:
        self.feed(Withdrawn(requester=requester, namespace="shop", name=name))

    def observe(self, pod: Pod | None) -> None:
        """A live and complete observation lists this pod under the target's name."""
        self.pod = pod
        self.feed(self._sighted(live=True))

    def report(self, responder: str = DRAIN, name: str = FIRST, **report: Any) -> None:
        uid = self.eviction(name).metadata.uid
        message = Report(eviction_uid=uid, **report)
        self.feed(Reported(namespace="shop", name=name, responder=responder, report=message))

    def register(self, responder: str, status: str | None, **registration: Any) -> None:
        found = None if status is None else Registration(status=status, **registration)
        self.feed(Registered(responder=responder, registration=found))

    def lose_journal(self, *, sighted: bool = True, **rules: Any) -> None:
        """All that is left is what the controller had published."""
        requests = tuple(self._as_listed(held) for held in self.case.requests)
        recalled = Recalled(
            evictions=self.case.evictions,
            requests=requests,
            sighted=self._sighted(live=False) if sighted else None,
        )
        self.case = Case()
        self.rules = structs.replace(self.rules, **rules)
        self.feed(recalled)

    def eviction(self, name: str = FIRST) -> Eviction:
        found = [item for item in self.case.evictions if item.metadata.name == name]
        assert found, f"no {name}"
        return found[0]

    def states(self, name: str = FIRST) -> tuple[str, ...]:
        """Of drain, copy and the default responder."""
        return tuple(item.state for item in self.eviction(name).status.target_responders)

    def entry(self, responder: str = DRAIN, name: str = FIRST) -> ResponderStatus:
        entries = self.eviction(name).status.responders
        return next(item for item in entries if item.name == responder)

    def ended(self, name: str = FIRST) -> tuple[str, str]:
        """Reason and message of the Eviction's Failed."""
        failed = self.eviction(name).status.conditions[0]
        return failed.reason, failed.message

    def answer(self, name: str = "move") -> tuple[str, str]:
        """Reason and message of the request's Failed."""
        held = next(item for item in self.case.requests if item.topic_levels[2] == name)
        failed = held.status.conditions[0]
        return failed.reason, failed.message

    def _sighted(self, *, live: bool) -> Sighted:
        moment = Moment(
            time=self.time(), boot_id=self.rules.boot_id, uptime_seconds=self.boot_seconds
        )
        return Sighted(pod=self.pod, moment=moment, live=live, complete=True)

    def _as_listed(self, held: Held) -> Requested:
        requester, namespace, name = held.topic_levels
        return Requested(
            requester=requester,
            namespace=namespace,
            name=name,
            request=EvictionRequest(spec=held.request.spec),
            status=held.status,
        )
