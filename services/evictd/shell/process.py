"""The life of one process: its workers on one router, one epoch, one link, one status.

It knows what workers need and how they end, and nothing of what they decide. [design, laws 2, 3, 5]
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import anyio
import structlog

from evictd.core.errors import Bug, EvictdError, HostError
from evictd.core.rules import Rules
from evictd.shell.blocking import in_thread
from evictd.shell.bus import Delivery, Router
from evictd.shell.bus.address import Address
from evictd.shell.bus.link import Link
from evictd.shell.bus.marks import Mark
from evictd.shell.bus.presence import Member, Presence, written_by
from evictd.shell.causes import leaves
from evictd.shell.clock import Clock, SystemClock
from evictd.shell.ending import signalled
from evictd.shell.epoch import Epoch, first_epoch
from evictd.shell.garbage import search_less
from evictd.shell.health import Health
from evictd.shell.inbox import Inbox
from evictd.shell.journal import Journal, MemoryJournal
from evictd.shell.journal_sqlite import SqliteJournal
from evictd.shell.reception import Reception
from evictd.shell.serving import Serving
from evictd.shell.supervise import Outside
from evictd.shell.systemd import Notifier
from evictd.shell.vitals import Vitals
from evictd_schemas import topics
from evictd_schemas.topics import ALL, Place, Role

FINISH_SECONDS = 2.0
"""What a worker has for the batch that it is at. With the link's farewell, at worst beside a broker
that takes no login, and the journals' last commit this stays below the 8 s of the whole."""

FIRST_LIST_SECONDS = 2.0
"""Before the machine is looked at, its own last words on the bus are waited for this long.

So those who decide go on where they were. A broker that is not there delays no more than that.
"""

log = structlog.get_logger(__name__)


class Worker(Protocol):
    """One role at work."""

    async def run(self) -> None:
        """Until the inbox is closed or the task is cancelled."""
        ...


@runtime_checkable
class Judge(Protocol):
    """A worker that answers for what is wrong on some topics."""

    reception: Reception


@dataclass(frozen=True, kw_only=True)
class Post:
    """A role to fill.

    With `state` and `effects` it has a journal on disk; `home_only` for those that serve no other
    node. [contract 2]
    """

    role: Role
    build: Callable[[Outside[Any, Any, Any]], Worker]
    state: type[Any] | None = None
    effects: Any = None
    home_only: bool = False


@dataclass(frozen=True, kw_only=True)
class Process:
    """What a process is told. Without an address the router alone is the bus."""

    node: str
    address: Address | None
    rules: Callable[[str], Rules | None]
    state_folder: Path
    runtime_folder: Path | None = None
    serves: tuple[str, ...] = ()
    """Patterns of foreign nodes; none means that nothing of them is even subscribed to."""
    machine: str = ""
    version: str = ""

    def scope(self, post: Post) -> str:
        """The node level of a worker's filters."""
        return self.node if post.home_only or not self.serves else "+"


async def run_workers(
    process: Process,
    posts: Sequence[Post],
    *,
    stopping: asyncio.Event | None = None,
    clock: Clock | None = None,
) -> None:
    """Run until SIGTERM or SIGINT, or until `stopping` is set where that is given.

    Raises `Replaced` (exit code 9), `NodeTaken` (3), `HostError` for a journal that cannot be used,
    and `Bug` when a worker crashed: a process does not live on with half of its workers.
    """
    search_less()
    async with AsyncExitStack() as stack:
        journals: dict[Role, SqliteJournal[Any, Any]] = {
            post.role: await stack.enter_async_context(
                SqliteJournal(
                    process.state_folder / f"{post.role}.journal", post.state, post.effects
                )
            )
            for post in posts
            if post.state is not None
        }
        await _Life(process, posts, journals, clock or SystemClock()).live(stopping)


class _Life:
    """Everything of one process that lives as long as it does."""

    def __init__(
        self,
        process: Process,
        posts: Sequence[Post],
        journals: Mapping[Role, SqliteJournal[Any, Any]],
        clock: Clock,
    ) -> None:
        self._process = process
        self._posts = posts
        self._journals = journals
        self._clock = clock
        self._router = Router()
        former = [journal.former_epoch for journal in journals.values()]
        self._epoch = Epoch(first_epoch(time.time_ns() // 1_000_000, *former))
        self._serving = Serving(process.node, process.rules)
        self._inboxes = {post.role.value: Inbox[Any](clock) for post in posts}
        self._vitals = Vitals(process.runtime_folder, self._inboxes, clock)
        self._notifier = Notifier()
        self._presence = Presence(self._member(), self._epoch)
        self._link = self._make_link()
        self._workers = {post.role: post.build(self._outside(post)) for post in posts}
        self._health = Health(
            vitals=self._vitals,
            journals=journals,
            inboxes=self._inboxes,
            workers=self._workers,
            link=self._link,
        )
        self._stop = asyncio.Event()
        self._epoch.on_raise(self._note_epoch)
        self._note_epoch()

    async def live(self, stopping: asyncio.Event | None) -> None:
        """Cancelling the link at the end lets it say its farewell."""
        if self._served:
            self._router.attach(self._serving)
        try:
            async with anyio.create_task_group() as beside:
                beside.start_soon(self._await_stop, stopping)
                beside.start_soon(self._beat)
                if self._link is not None:
                    beside.start_soon(self._link.run)
                await self._work()
                beside.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            plain = _plain(group)
            raise plain from plain.__cause__ or group  # its own says where it happened
        finally:
            with suppress(HostError):  # no thread is to be had; whoever looks finds the files old
                await in_thread(self._vitals.close)

    async def _work(self) -> None:
        async with anyio.create_task_group() as working:
            for role, worker in self._workers.items():
                working.start_soon(self._guard, role, worker)
            await self._stop.wait()
            log.info("stopping")
            for inbox in self._inboxes.values():
                inbox.close()
            working.cancel_scope.deadline = anyio.current_time() + FINISH_SECONDS

    async def _guard(self, role: Role, worker: Worker) -> None:
        """A worker that ends before it was asked to ends the process."""
        try:
            if role is Role.COLLECTOR:
                await self._first_list()
            await worker.run()
        except Exception as error:
            self._presence.message = f"{role} crashed: {error!r}"
            log.error("worker crashed", role=role.value, error=repr(error))  # noqa: TRY400 - its trace is told at the end
            raise _plain(error) from error
        if not self._stop.is_set():
            raise Bug(f"the {role} ended by itself; please report it")

    async def _first_list(self) -> None:
        if self._link is not None:
            with anyio.move_on_after(FIRST_LIST_SECONDS):
                await self._link.connected.wait()

    async def _await_stop(self, stopping: asyncio.Event | None) -> None:
        if stopping is not None:
            await stopping.wait()
        else:
            await signalled()
        self._stop.set()

    async def _beat(self) -> None:
        self._notifier.tell(READY="1")
        while True:
            alive = await self._vitals.beat()
            self._note_marks()
            self._presence.lag = self._health.figures()
            self._tell(self._health.problems())
            if len(alive) == len(self._inboxes):
                self._notifier.tell(WATCHDOG="1")
            else:
                log.error("a worker is stuck", alive=alive)

    def _tell(self, message: str) -> None:
        if message == self._presence.message:
            return
        self._presence.message = message
        self._notifier.tell(STATUS=message or "everything is well")
        if self._link is not None:
            self._link.restate()

    def _member(self) -> Member:
        roles = tuple(post.role for post in self._posts)
        return Member(
            node=self._process.node,
            worker=roles[0].value if len(roles) == 1 else ALL,
            roles=roles,
            start_time=datetime.now(UTC),
            machine=self._process.machine,
            version=self._process.version,
            serves=(self._process.node, *self._served),
        )

    @property
    def _served(self) -> Sequence[str]:
        """Patterns of foreign nodes for which somebody here decides."""
        decides = any(self._process.scope(post) == "+" for post in self._posts)
        return self._process.serves if decides else ()

    def _make_link(self) -> Link | None:
        if self._process.address is None:
            return None
        known: dict[str, Mark] = {}
        for journal in self._journals.values():
            known.update(journal.known)
        return Link(
            self._router,
            self._process.address,
            self._presence,
            filters=[name for post in self._posts for name in self._written(post)],
            known=known,
            outranked=self._outranked,
            judged=self._judged,
        )

    def _outside(self, post: Post) -> Outside[Any, Any, Any]:
        journal: Journal[Any, Any] | None = self._journals.get(post.role)
        return Outside(
            node=self._process.node,
            scope=self._process.scope(post),
            bus=self._router,
            epoch=self._epoch,
            inbox=self._inboxes[post.role.value],
            clock=self._clock,
            journal=MemoryJournal() if journal is None else journal,
            run_blocking=in_thread,
            rules=self._serving.rules_of(post.role),
        )

    def _written(self, post: Post) -> Sequence[str]:
        return written_by(post.role, self._process.scope(post))

    def _outranked(self, place: Place[Any], mark: Mark) -> bool:
        """A greater pair on a topic of ours: at home we go above it, elsewhere we leave.

        [contract 1, Order]
        """
        if place.node == self._process.node:
            self._epoch.raise_above(mark.epoch)
            return True
        log.warning("another writer is ahead of us; leaving the node to it", other=place.node)
        self._serving.leave(place.node)
        for topic in tuple(self._router.own):
            own_place = topics.place(topic)
            if own_place is not None and own_place.node == place.node:
                self._router.disown(topic)
        return False

    def _judged(self, delivery: Delivery) -> None:
        """What others write on a topic of ours reaches no worker, except for the answer."""
        place = topics.place(delivery.topic)
        if place is None or place.kind.judge is None:
            return
        judge = self._workers.get(place.kind.judge)
        if isinstance(judge, Judge):
            judge.reception.open(delivery)

    def _note_epoch(self) -> None:
        for journal in self._journals.values():
            journal.note({}, self._epoch.epoch)

    def _note_marks(self) -> None:
        """Each journal keeps what the broker has of its own worker's topics."""
        changes = {} if self._link is None else self._link.ledger.take_changes()
        for post in self._posts:
            journal, filters = self._journals.get(post.role), self._written(post)
            if journal is not None:
                marks = {
                    topic: mark
                    for topic, mark in changes.items()
                    if any(topics.matches(wanted, topic) for wanted in filters)
                }
                journal.note(marks)


def _plain(error: BaseException) -> EvictdError:
    """The one cause that says who has to do something; everything else is a bug of ours."""
    causes = leaves(error)
    for leaf in causes:
        if isinstance(leaf, EvictdError):
            return leaf
    return Bug(f"{'; '.join(repr(leaf) for leaf in causes)}; please report it")
