"""A journal as people read it: beside its worker or after it, without a broker. Blocking.

It opens the file for reading only and leaves nothing behind that the worker would mind.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from evictd.core.errors import HostError
from evictd.shell.causes import UNREADABLE
from evictd.shell.journal_store import BUSY_SECONDS, HISTORY_MAX, KEPT, check_format
from evictd_schemas import Event, Eviction

S = TypeVar("S")


def ended(path: Path) -> list[Eviction]:
    """The Evictions that are over, newest first; none where the journal is older than that.

    Raises `HostError` for a file that cannot be read.
    """
    statement = "SELECT message FROM history ORDER BY seconds DESC, uid LIMIT ?"
    texts = [text for (text,) in _selected(path, "history", statement, (HISTORY_MAX,))]
    return [_decoded(path, text, Eviction) for text in texts]


def states(path: Path, state: type[S]) -> dict[str, S]:
    """What the worker holds now, by key. Raises `HostError`."""
    statement = "SELECT key, state FROM rows WHERE state IS NOT NULL ORDER BY key"
    return {key: _decoded(path, text, state) for key, text in _selected(path, "rows", statement)}


def events(path: Path) -> list[Event]:
    """Those of each key's last steps, oldest first; raises `HostError`."""
    statement = "SELECT effects FROM rows ORDER BY number, key"
    effects = [
        effect
        for (text,) in _selected(path, "rows", statement)
        for effect in _decoded(path, text, list[_Told])
    ]
    told = {effect.event.id: effect.event for effect in effects if effect.event is not None}
    return sorted(told.values(), key=lambda event: event.time)


def problem(path: Path, state: type[Any]) -> str | None:
    """Why its worker would not start with it, as far as its states tell; None where it would."""
    try:
        states(path, state)
    except HostError as error:
        return str(error).removesuffix(f". {KEPT}")
    return None


class _Told(Struct, frozen=True, kw_only=True):
    """An effect of a row, as far as it is an event."""

    event: Event | None = None


def _selected(
    path: Path, table: str, statement: str, values: Sequence[object] = ()
) -> list[tuple[Any, ...]]:
    known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    try:
        connecting = sqlite3.connect(_address(path), timeout=BUSY_SECONDS, uri=True)
        with closing(connecting) as connection:
            check_format(path, connection.execute("PRAGMA user_version").fetchone()[0])
            if connection.execute(known, (table,)).fetchone() is None:
                return []
            return connection.execute(statement, values).fetchall()
    except sqlite3.Error as error:
        raise HostError(f"the journal {path} cannot be read: {error}. {KEPT}") from error


def _address(path: Path) -> str:
    """A journal that was closed has no log beside it.

    It is read as it lies, because a reader would make the log's files anew, and they would be the
    reader's.
    """
    closed = not path.with_name(f"{path.name}-wal").exists()
    return f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if closed else ''}"


def _decoded(path: Path, text: bytes, kind: type[S]) -> S:
    try:
        return msgspec.json.decode(text, type=kind)
    except UNREADABLE as error:
        raise HostError(
            f"the journal {path} is damaged or of another version of evictd: {error}. {KEPT}"
        ) from error
