"""The journal on disk: commits are waited for a moment, never longer. [design, law 5]

Rows that wait coalesce by key, so that a slow disk costs freshness of the journal and nothing else;
being behind is visible.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import msgspec
import structlog

from evictd.core.effects import Emit, Keep, Owned, unstamped
from evictd.core.errors import HostError
from evictd.shell.bus.marks import Mark
from evictd.shell.ending import cancelled
from evictd.shell.garbage import building_states
from evictd.shell.journal import Row, parted
from evictd.shell.journal_codec import READING_ERRORS, Codec, read_message
from evictd.shell.journal_store import HISTORY_MAX, KEPT, Past, Store

S = TypeVar("S")
E = TypeVar("E")
T = TypeVar("T")

COMMIT_SECONDS = 0.05
"""A commit is waited for so long; then its effects go first."""
RETRY_SECONDS = 1.0
"""After a commit that failed: a full disk is what evictd is there to cure."""
KEEP_SECONDS = 5.0
"""How often the log is moved into the file and ended keys are deleted."""
DELIVERED_SECONDS = 30.0
"""After it the effects of a step are taken as carried out: the broker answers sooner or is an
alarm."""
EVENTS_MAX = 20
"""Events of a key's earlier steps that are held with its last one."""
CLOSE_SECONDS = 2.0

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class _Batch(Generic[S, E]):
    """What is written in one transaction."""

    rows: dict[str, Row[S, E]] = field(default_factory=dict)
    marks: dict[str, Mark | None] = field(default_factory=dict)
    records: dict[str, bytes | None] = field(default_factory=dict)
    history: dict[str, Past] = field(default_factory=dict)
    epoch: int | None = None

    def __bool__(self) -> bool:
        parts = (self.rows, self.marks, self.records, self.history)
        return any(parts) or self.epoch is not None

    def under(self, newer: "_Batch[S, E]") -> "_Batch[S, E]":
        """The two as one; of each key the newer counts."""
        return _Batch(
            rows=self.rows | newer.rows,
            marks=self.marks | newer.marks,
            records=self.records | newer.records,
            history=self.history | newer.history,
            epoch=self.epoch if newer.epoch is None else newer.epoch,
        )


class SqliteJournal(Generic[S, E]):
    """A `Journal`; an asynchronous context that opens and closes the file.

    Events of earlier steps stay with the row until they must have been delivered, because a next
    step may be committed before the broker has the event of the one before.
    """

    def __init__(self, path: Path, state: type[S], effects: Any) -> None:
        self._store = Store(path)
        self._codec: Codec[S, E] = Codec(state, effects)
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")
        self._keeper = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._waiting: _Batch[S, E] = _Batch()
        self._events: dict[str, list[tuple[float, E]]] = {}
        self._ended: dict[str, float] = {}
        self._writing: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._behind_since: float | None = None
        self.problem = ""
        """Why the last commit failed; empty when it did not."""
        self.former_epoch = 0
        self.known: Mapping[str, Mark] = {}
        """What the broker had confirmed to earlier lives."""

    @property
    def behind_seconds(self) -> float:
        """How long something has been waiting to be written; 0 when nothing is."""
        since = self._behind_since
        return 0.0 if since is None else time.monotonic() - since

    async def __aenter__(self) -> Self:
        """Raises `HostError` for a file that cannot be used."""
        await self._in_thread(self._store.open)
        self.former_epoch = await self._in_thread(self._store.epoch)
        self.known = await self._in_thread(self._store.marks)
        # Its thread is there from now on: later a machine may have no process id for it.
        await self._in_thread(lambda: None, self._keeper)
        self._keeping = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancelled(self._keeping)
        await self._end_writing()
        await self._in_thread(self._store.close)
        self._threads.shutdown(wait=False)
        self._keeper.shutdown(wait=False)

    async def _end_writing(self) -> None:
        if self._waiting:
            await self._written()
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=CLOSE_SECONDS)
            await cancelled(self._writing)

    async def rows(self) -> Sequence[Row[S, E]]:
        texts = await self._in_thread(self._store.rows)
        with building_states(len(texts)):
            rows = [self._read(*text) for text in texts]
        for row in rows:
            if row.state is None:
                self._ended.setdefault(row.key, time.monotonic())
        return rows

    def _read(self, key: str, state: bytes | None, effects: bytes) -> Row[S, E]:
        try:
            row_state, row_effects = self._codec.read(state, effects)
        except READING_ERRORS as error:
            raise self._damaged(key, error) from error
        return Row(key=key, state=row_state, effects=row_effects)

    def _damaged(self, place: str, error: Exception) -> HostError:
        return HostError(
            f"the journal {self._store.path} is damaged or of another version of evictd, at "
            f"{place!r}: {error}. {KEPT}"
        )

    async def records(self) -> Mapping[str, Owned]:
        texts = await self._in_thread(self._store.records)
        return {topic: self._read_record(topic, text) for topic, text in texts.items()}

    def _read_record(self, topic: str, text: bytes) -> Owned:
        try:
            message: Owned = read_message(topic, text)
        except READING_ERRORS as error:
            raise self._damaged(topic, error) from error
        return message

    async def commit(self, rows: Sequence[Row[S, E]]) -> None:
        for whole in rows:
            row, records = parted(whole)
            self._waiting.rows[row.key] = self._with_events(self._told(row))
            self._waiting.records |= {
                topic: msgspec.json.encode(message) for topic, message in records.items()
            }
        for row in rows:
            self._ended.pop(row.key, None)
            if row.state is None:
                self._ended[row.key] = time.monotonic()
        await self._written()

    def note(self, marks: Mapping[str, Mark | None], epoch: int | None = None) -> None:
        """Write this too, without being waited for: what the broker has confirmed, our epoch."""
        self._waiting.marks.update(marks)
        if epoch is not None:
            self._waiting.epoch = epoch
        if self._waiting:
            self._set_writing()

    def hold(self, topic: str, message: Owned | None) -> None:
        text = None if message is None else msgspec.json.encode(unstamped(message))
        self._waiting.records[topic] = text
        self._set_writing()

    def _set_writing(self) -> asyncio.Task[None]:
        if self._behind_since is None:
            self._behind_since = time.monotonic()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return self._writing

    async def _written(self) -> None:
        """Wait for what waits now, a moment."""
        writing = self._set_writing()
        await asyncio.wait([writing], timeout=COMMIT_SECONDS)
        if writing.done():
            writing.result()  # what is not the disk's fault is a bug of ours and is raised

    async def _write(self) -> None:
        """Until nothing waits. What could not be written waits again, under what is newer."""
        while self._waiting:
            batch, self._waiting = self._waiting, _Batch()
            try:
                await self._in_thread(partial(self._write_batch, batch))
            except sqlite3.Error as error:
                self._waiting = batch.under(self._waiting)
                self._fails(str(error))
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self.problem = ""
        self._behind_since = None

    def _write_batch(self, batch: _Batch[S, E]) -> None:
        """Blocks."""
        self._store.write(
            [(key, *self._codec.write(row.state, row.effects)) for key, row in batch.rows.items()],
            batch.marks,
            batch.epoch,
            batch.history.values(),
            batch.records,
        )

    def _fails(self, reason: str) -> None:
        if reason != self.problem:
            log.error("journal behind", reason=reason, waiting=len(self._waiting.rows))
        self.problem = reason

    def _told(self, row: Row[S, E]) -> Row[S, E]:
        """The row without what belongs into the history, which is written with it."""
        history = self._waiting.history
        for effect in row.effects:
            if isinstance(effect, Keep):
                uid = effect.eviction.metadata.uid
                text = msgspec.json.encode(effect.eviction)
                history[uid] = Past(uid=uid, seconds=time.time(), message=text)
        while len(history) > HISTORY_MAX:
            del history[next(iter(history))]
        lasting = tuple(effect for effect in row.effects if not isinstance(effect, Keep))
        return row if len(lasting) == len(row.effects) else replace(row, effects=lasting)

    def _with_events(self, row: Row[S, E]) -> Row[S, E]:
        now = time.monotonic()
        earlier = [
            (at, event)
            for at, event in self._events.pop(row.key, ())
            if now - at < DELIVERED_SECONDS
        ]
        fresh = [(now, effect) for effect in row.effects if isinstance(effect, Emit)]
        if held := [*earlier, *fresh][-EVENTS_MAX:]:
            self._events[row.key] = held
        return Row(
            key=row.key,
            state=row.state,
            effects=(*(event for _, event in earlier), *row.effects),
        )

    async def _keep(self) -> None:
        """Housekeeping. A failure here is one of the disk's, which the next commit tells of."""
        while True:
            await asyncio.sleep(KEEP_SECONDS)
            now = time.monotonic()
            ended = [key for key, at in self._ended.items() if now - at > DELIVERED_SECONDS]
            self._events = {
                key: held
                for key, held in self._events.items()
                if now - held[-1][0] < DELIVERED_SECONDS
            }
            with suppress(sqlite3.Error):
                await self._in_thread(lambda: self._store.forget(ended))  # noqa: B023 - awaited in this turn
                await self._in_thread(self._store.checkpoint, self._keeper)
                for key in ended:
                    self._ended.pop(key, None)

    async def _in_thread(
        self, function: Callable[[], T], threads: ThreadPoolExecutor | None = None
    ) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads or self._threads, function)
