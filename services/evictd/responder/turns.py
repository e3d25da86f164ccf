"""The turns of one responder on one node.

Deliveries into the step, its effects into work, reports and the end of work.

It decides nothing, `core.turn` does. It has no journal: its reports on the bus are its memory, and
the work itself has to stand being begun again. [design, laws 1 and 4]
"""

import traceback
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup, TaskStatus

from evictd.core.admission.entries import EXPECTED_MAX
from evictd.core.duty.state import Assigned
from evictd.core.effects import Tick
from evictd.core.turn import take_turn
from evictd.core.turn_state import (
    Begin,
    Committing,
    Confirm,
    Effect,
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
from evictd.core.wording import name_text
from evictd.responder.author import Expected, Responder, Work
from evictd.shell.bus import Bus, Delivery, Listing
from evictd.shell.bus.foreign import Foreign
from evictd.shell.clock import Clock
from evictd.shell.epoch import Epoch
from evictd.shell.inbox import Inbox
from evictd.shell.publisher import Publisher
from evictd.shell.reception import Opened, Reception
from evictd_schemas import Eviction, Report, topics
from evictd_schemas.topics import Role

TURNS_MAX = 10_000
"""Evictions held at once; further ones are counted and wait until they are delivered again."""
PLACES_MAX = 10
"""Lines of a traceback in the log."""

log = structlog.get_logger(__name__)


class _Job:
    """One running work: its scope, and what it waits for."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.scope = anyio.CancelScope()
        self.committed = anyio.Event()
        self.expected: datetime | None = None

    def end(self, ending: Ending) -> None:
        """Cancel it; it may take its time to leave."""
        self.work.ending = ending
        self.scope.cancel()


class Turns:
    """A listener of the bus.

    One key is one Eviction, `namespace/name`. `linked`: there is a broker between, and `contact`
    tells when it is heard; else it is from the first list on.
    """

    def __init__(
        self,
        responder: Responder,
        node: str,
        bus: Bus,
        clock: Clock,
        epoch: Epoch,
        *,
        linked: bool = False,
    ) -> None:
        self._responder = responder
        self._node = node
        self._bus = bus
        self._clock = clock
        self._epoch = epoch
        self._inbox: Inbox[Given] = Inbox(clock)
        self._publisher = Publisher(bus, epoch, self, self._inbox.wake_at)
        self._reception = Reception(Role.ANY_RESPONDER, self._publisher, clock, lambda *_: ())
        self._foreign = Foreign(bus, responder.hears)
        self._jobs: dict[str, _Job] = {}
        self._targets: dict[tuple[str, str], anyio.Lock] = {}
        self._linked = linked
        self._heard = False
        self._in_contact = False
        self._closing = anyio.Event()
        self._tasks: TaskGroup | None = None
        self.turns: dict[str, Turn] = {}
        """State of each Eviction, for whoever shows it."""
        self.refused = 0
        """Evictions beyond `TURNS_MAX`."""

    @property
    def filters(self) -> Sequence[str]:
        """Evictions, and what earlier lives of this responder had reported."""
        return (
            topics.EVICTION.everywhere(self._node),
            topics.REPORT.everywhere(self._node, **topics.levels(self._responder.name)),
        )

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until cancelled.

        Running work is cancelled then and waited for; the next process is given it again.
        """
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._host)
            self._bus.attach(self._foreign)
            self._bus.attach(self)
            task_status.started()
            try:
                async for batch in self._inbox:
                    await self._take(batch)
            finally:
                self._bus.detach(self)
                self._bus.detach(self._foreign)
                for job in self._jobs.values():
                    job.end(Ending.STOPPING)
                self._closing.set()

    async def _host(self, *, task_status: TaskStatus[None]) -> None:
        """Where work runs: shielded, so that each is told why it ends before it is cancelled."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as self._tasks:
                task_status.started()
                await self._closing.wait()
        self._inbox.close()

    def contact(self, *, present: bool) -> None:
        """Whether the bus is heard; without it no work goes on that could not have been ended.

        It counts after everything that was delivered before.
        """
        if present != self._heard:
            self._heard = present
            self._inbox.feed("", Tick())

    async def _take(self, batch: Sequence[tuple[str, Given | Tick]]) -> None:
        for key, given in batch:
            await self._step(key, given)
        if self._heard != self._in_contact:
            self._in_contact = self._heard
            for key in tuple(self.turns):
                await self._step(key, Tick())

    def deliver(self, delivery: Delivery) -> None:
        """Put a message where it belongs. What cannot be read others answer."""
        opened = self._reception.open(delivery)
        if opened is None:
            return
        key = f"{opened.place.names['namespace']}/{opened.place.names['name']}"
        if opened.place.kind is topics.EVICTION:
            self._assign(key, opened)
        elif opened.listed and isinstance(opened.message, Report):
            self._epoch.raise_above(opened.message.epoch)
            self._inbox.feed(key, Recalled(report=opened.message))

    def listed(self, listing: Listing) -> None:  # noqa: ARG002 - all lists say the same here
        """Everything is known that was said before."""
        if not self._linked:
            self.contact(present=True)

    def _assign(self, key: str, opened: Opened) -> None:
        eviction = opened.message
        if isinstance(eviction, Eviction):
            if eviction.spec.target.pod is None or not self._concerns(key, eviction):
                return
            if key not in self.turns and len(self.turns) >= TURNS_MAX:
                self.refused += 1
                return
        self._inbox.feed(key, Assigned(eviction=eviction))

    def _concerns(self, key: str, eviction: Eviction) -> bool:
        chain = eviction.status.target_responders
        return key in self.turns or any(item.name == self._responder.name for item in chain)

    async def _step(self, key: str, given: Given | Tick) -> None:
        before = self.turns.get(key, Turn())
        turn, effects = take_turn(self._rules, before, given, self._clock.now())
        if turn == Turn():
            self.turns.pop(key, None)
        else:
            self.turns[key] = turn
        self._renew(turn)
        for effect in effects:
            await self._perform(key, effect)

    @property
    def _rules(self) -> TurnRules:
        return TurnRules(
            node=self._node,
            name=self._responder.name,
            supports_dry_run=self._responder.supports_dry_run,
            pause_seconds=self._responder.pause_seconds,
            in_contact=self._in_contact,
        )

    def _renew(self, turn: Turn) -> None:
        """Work sees the newest Eviction."""
        if turn.eviction is not None and turn.eviction.metadata.uid in self._jobs:
            self._jobs[turn.eviction.metadata.uid].work.eviction = turn.eviction

    async def _perform(self, key: str, effect: Effect) -> None:
        match effect:
            case Begin(eviction=eviction, resumed=resumed):
                self._begin(key, eviction, resumed=resumed)
            case Undo(eviction=eviction):
                self._begin(key, eviction, resumed=True, ending=Ending.CANCELED)
            case Confirm(uid=uid):
                if uid in self._jobs:  # it may have ended by itself in this moment
                    self._jobs[uid].committed.set()
            case End(uid=uid, ending=ending):
                if uid in self._jobs:
                    self._jobs[uid].end(ending)
            case _:
                await self._publisher.perform(key, effect)

    def _begin(
        self, key: str, eviction: Eviction, *, resumed: bool, ending: Ending | None = None
    ) -> None:
        """`ending`: that of an attempt of which only the end is left to be carried out."""
        uid = eviction.metadata.uid
        work = Work(
            self._node,
            eviction,
            resumed=resumed,
            tell=partial(self._progress, key, uid),
            commit=partial(self._commit, key, uid),
            foreign=self._foreign,
        )
        work.ending = ending
        self._jobs[uid] = _Job(work)
        assert self._tasks is not None  # noqa: S101 - steps are taken only while it runs
        self._tasks.start_soon(self._work, key, uid, self._jobs[uid])

    def _progress(self, key: str, uid: str, message: str, expected: Expected) -> None:
        job = self._jobs.get(uid)
        if job is None:
            return  # it had been handed on to something that outlives the work
        if isinstance(expected, timedelta):
            expected = self._clock.now().utc + expected
        if expected is not None and expected - self._clock.now().utc > EXPECTED_MAX:
            raise ValueError("expected_completion lies more than ten years ahead")
        job.expected = expected or job.expected
        given = Progressed(uid=uid, message=message, expected_completion_time=job.expected)
        self._inbox.feed(key, given)

    async def _commit(self, key: str, uid: str) -> None:
        self._inbox.feed(key, Committing(uid=uid))
        await self._jobs[uid].committed.wait()

    async def _work(self, key: str, uid: str, job: _Job) -> None:
        message: str | None = "failed: the work cancelled itself"
        told = {"pod": name_text(job.work.pod), "eviction": job.work.eviction.metadata.name}
        log.info("a turn begins", **told, dry_run=job.work.dry_run)
        try:
            with job.scope, self._target(job.work) as target:
                async with target:
                    message = await self._carry_out(job.work)
        finally:
            del self._jobs[uid]
            self._inbox.feed(key, Left(uid=uid, message=message))
            log.info("a turn ends", **told, how=job.work.ending or message)

    @contextmanager
    def _target(self, work: Work) -> Iterator[anyio.Lock]:
        """One work at a time for one life of a workload: what one undoes the next must not meet."""
        key = (work.pod.namespace, work.pod.uid)
        lock = self._targets.setdefault(key, anyio.Lock())
        try:
            yield lock
        finally:
            if not lock.locked():
                self._targets.pop(key, None)

    async def _carry_out(self, work: Work) -> str | None:
        """The author's part. What it raises is told and ends the turn as failed."""
        try:
            if work.ending is None:
                return await self._guarded(self._responder.respond, work)
            return None
        finally:
            if work.ending is Ending.CANCELED:
                with anyio.CancelScope(shield=True):
                    await self._guarded(self._responder.restore, work)

    async def _guarded(
        self, part: Callable[[Work], Awaitable[str | None]], work: Work
    ) -> str | None:
        try:
            return await part(work)
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            log.error("a responder failed", pod=work.pod.name, error=what, where=_places(error))  # noqa: TRY400 - a formatted traceback reads source files, which blocks
            return f"failed: {what}"


def _places(error: Exception) -> list[str]:
    """The lines through which it came, the last `PLACES_MAX`."""
    frames = traceback.walk_tb(error.__traceback__)
    places = [f"{frame.f_code.co_filename}:{line} {frame.f_code.co_name}" for frame, line in frames]
    return places[-PLACES_MAX:]
