"""The SQLite file of one journal: tables, statements, and what may be wrong with the file.

Blocking; each connection is used by one thread at a time. Synchronous NORMAL in WAL mode loses
nothing when a process is killed and at most the last moments when the power is cut. [design, law 5]
"""

import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evictd.core.errors import HostError
from evictd.shell.bus.marks import Mark

FORMAT = 1
"""Of the tables. A greater one was written by a newer version of evictd."""
BUSY_SECONDS = 5.0
"""While a former process of this worker ends."""
HISTORY_MAX = 2_000
"""Past things that are kept, some kilobytes each; the oldest go first."""
HISTORY_SECONDS = 90 * 86_400.0
"""Nothing is kept for longer."""
KEPT = (
    "Nothing in it was changed: make room, go on with the version that wrote it, or repair it; if "
    "it is lost, move it away: what is on the bus is then taken up again from there"
)
"""What to do about a journal that one cannot read."""
TABLES = """
CREATE TABLE IF NOT EXISTS rows (
    key TEXT PRIMARY KEY, state BLOB, effects BLOB NOT NULL, number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS marks (
    topic TEXT PRIMARY KEY, epoch INTEGER NOT NULL, rev INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
    topic TEXT PRIMARY KEY, message BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history (
    uid TEXT PRIMARY KEY, seconds REAL NOT NULL, message BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS history_by_age ON history (seconds);
"""

Text = tuple[str, bytes | None, bytes]
"""Key, state and effects of a row."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """Something that is over, under its uid; `seconds`: when it was written down, since 1970."""

    uid: str
    seconds: float
    message: bytes


class Store:
    """One file, with the connection that writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._number = 0

    def open(self) -> None:
        """Raises `HostError` for a file that cannot be used; it is never taken as empty."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = self._connect()
            self._check(self._connection)
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error

    def rows(self) -> list[Text]:
        """In the order of their last commit."""
        return self._all("SELECT key, state, effects FROM rows ORDER BY number, key")

    def records(self) -> dict[str, bytes]:
        """What this worker has on the bus and nobody else could say again, by topic."""
        return dict(self._all("SELECT topic, message FROM records"))

    def marks(self) -> dict[str, Mark]:
        """What the broker had confirmed of this worker's topics."""
        found = self._all("SELECT topic, epoch, rev FROM marks")
        return {topic: Mark(epoch=epoch, rev=rev) for topic, epoch, rev in found}

    def epoch(self) -> int:
        """The last one of an earlier life; 0 where there was none."""
        found = self._all("SELECT value FROM facts WHERE name = 'epoch'")
        return int(found[0][0]) if found else 0

    def write(
        self,
        rows: Iterable[Text],
        marks: Mapping[str, Mark | None],
        epoch: int | None,
        history: Iterable[Past] = (),
        records: Mapping[str, bytes | None] | None = None,
    ) -> None:
        """One transaction. Raises `sqlite3.Error`; then nothing of it was written."""
        connection = self._live()
        self._number += 1
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT OR REPLACE INTO rows (key, state, effects, number) VALUES (?, ?, ?, ?)",
                [(*row, self._number) for row in rows],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO marks (topic, epoch, rev) VALUES (?, ?, ?)",
                [(topic, mark.epoch, mark.rev) for topic, mark in marks.items() if mark],
            )
            connection.executemany(
                "DELETE FROM marks WHERE topic = ?",
                [(topic,) for topic, mark in marks.items() if mark is None],
            )
            if epoch is not None:
                connection.execute("INSERT OR REPLACE INTO facts VALUES ('epoch', ?)", (epoch,))
            for past in history:
                _keep(connection, past)
            for topic, message in (records or {}).items():
                _record(connection, topic, message)

    def forget(self, keys: Iterable[str]) -> None:
        """Delete these rows, as far as they have ended."""
        with self._live() as connection:
            connection.executemany(
                "DELETE FROM rows WHERE key = ? AND state IS NULL", [(key,) for key in keys]
            )

    def checkpoint(self) -> None:
        """Move the log into the file, over a connection of its own: a write never waits for it."""
        connection = self._connect()
        try:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        finally:
            connection.close()

    def close(self) -> None:
        """The last connection also moves the log into the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        problems = connection.execute("PRAGMA quick_check(1)").fetchall()
        if problems != [("ok",)]:
            raise self._unusable(str(problems[0][0]))
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        check_format(self.path, version)
        connection.executescript(TABLES)
        if version != FORMAT:  # on a full disk a journal that is not changed can be opened
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        self._number = connection.execute("SELECT max(number) FROM rows").fetchone()[0] or 0

    def _all(self, statement: str) -> list[Any]:
        try:
            return self._live().execute(statement).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _live(self) -> sqlite3.Connection:
        if self._connection is None:
            raise HostError(f"the journal {self.path} is not open")
        return self._connection

    def _unusable(self, cause: object) -> HostError:
        return HostError(f"the journal {self.path} cannot be used: {cause}. {KEPT}")


def check_format(path: Path, version: int) -> None:
    """Raises `HostError` for tables that this version does not know."""
    if version > FORMAT:
        raise HostError(
            f"the journal {path} was written by a newer version of evictd (format {version}, this "
            f"one knows {FORMAT}). {KEPT}"
        )


def _record(connection: sqlite3.Connection, topic: str, message: bytes | None) -> None:
    if message is None:
        connection.execute("DELETE FROM records WHERE topic = ?", (topic,))
    else:
        connection.execute("INSERT OR REPLACE INTO records VALUES (?, ?)", (topic, message))


def _keep(connection: sqlite3.Connection, past: Past) -> None:
    """What was kept before under the same uid stays as it was; what is too much or too old goes."""
    connection.execute(
        "INSERT OR IGNORE INTO history (uid, seconds, message) VALUES (?, ?, ?)",
        (past.uid, past.seconds, past.message),
    )
    connection.execute(
        "DELETE FROM history WHERE seconds < ? OR uid IN "
        "(SELECT uid FROM history ORDER BY seconds DESC LIMIT -1 OFFSET ?)",
        (time.time() - HISTORY_SECONDS, HISTORY_MAX),
    )
