"""What the journal keeps of Evictions that are over, and reading it beside its worker."""

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from evictd.core.effects import Keep
from evictd.core.errors import HostError
from evictd.shell import journal_sqlite, journal_store
from evictd.shell.journal import Row
from evictd.shell.journal_reading import ended, states
from evictd.shell.journal_sqlite import SqliteJournal
from evictd_schemas import Eviction, EvictionStatus, Metadata


class Count(Struct, frozen=True, kw_only=True):
    """A state."""

    number: int


def keep(uid: str, node: str = "edge-7") -> Keep:
    """An Eviction of that uid has ended."""
    status = EvictionStatus(node=node)
    return Keep(eviction=Eviction(metadata=Metadata(name=uid, uid=uid), status=status))


def gone(key: str, *effects: Keep) -> Row[Count, Keep]:
    """The target is forgotten; only its last effects are there."""
    return Row(key=key, state=None, effects=effects)


def opened(folder: Path) -> SqliteJournal[Count, Keep]:
    return SqliteJournal(folder / "journal", Count, Keep)


async def uids(path: Path) -> list[str]:
    """Of what is kept, newest first; read by another thread, as another process would."""
    found = await asyncio.to_thread(ended, path)
    return [eviction.metadata.uid for eviction in found]


async def test_an_ended_eviction_outlives_its_target(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await journal.commit([gone("a", keep("1"))])
        assert await uids(tmp_path / "journal") == ["1"]
        await journal.commit([gone("b", keep("2"))])
    assert await uids(tmp_path / "journal") == ["2", "1"]


async def test_it_is_no_effect_of_the_row_and_not_carried_out_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await journal.commit([Row(key="a", state=Count(number=1), effects=[keep("1")])])
        (row,) = await journal.rows()
    assert row == Row(key="a", state=Count(number=1), effects=())


async def test_told_twice_it_is_one_and_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await journal.commit([gone("a", keep("1"))])
        await journal.commit([gone("a", keep("1", node="elsewhere"))])
    (only,) = await asyncio.to_thread(ended, tmp_path / "journal")
    assert only.status.node == "edge-7"


async def test_it_waits_while_the_disk_is_full_though_its_row_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_sqlite, "RETRY_SECONDS", 0.01)
    full = threading.Event()
    full.set()
    write = journal_store.Store.write

    def refuse(store: journal_store.Store, *values: Any) -> None:
        if full.is_set():
            raise sqlite3.OperationalError("database or disk is full")
        write(store, *values)

    monkeypatch.setattr(journal_store.Store, "write", refuse)
    async with opened(tmp_path) as journal:
        await journal.commit([gone("a", keep("1"))])
        await journal.commit([gone("a", keep("2"))])
        await journal.commit([Row(key="a", state=Count(number=7), effects=())])
        full.clear()
    assert sorted(await uids(tmp_path / "journal")) == ["1", "2"]
    assert await asyncio.to_thread(states, tmp_path / "journal", Count) == {"a": Count(number=7)}


async def test_the_oldest_go_when_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_store, "HISTORY_MAX", 3)
    async with opened(tmp_path) as journal:
        for number in range(5):
            await journal.commit([gone("a", keep(str(number)))])
    assert await uids(tmp_path / "journal") == ["4", "3", "2"]


async def test_nothing_is_kept_for_longer_than_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as journal:
        await journal.commit([gone("a", keep("1"))])
        monkeypatch.setattr(journal_store, "HISTORY_SECONDS", -60.0)
        await journal.commit([gone("a", keep("2"))])
    assert await uids(tmp_path / "journal") == []


def test_a_journal_of_an_earlier_version_has_no_history(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "journal").close()
    assert ended(tmp_path / "journal") == []
    assert states(tmp_path / "journal", Count) == {}


def test_what_cannot_be_read_is_told_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"absent cannot be read"):
        ended(tmp_path / "absent")
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(HostError, match=r"text cannot be read: .* move it away"):
        ended(tmp_path / "text")


def test_reading_leaves_nothing_behind(tmp_path: Path) -> None:
    store = journal_store.Store(tmp_path / "journal")
    store.open()
    store.write([("a", b'{"number": 1}', b"[]")], {}, None)
    store.close()
    before = sorted(path.name for path in tmp_path.iterdir())
    assert states(tmp_path / "journal", Count) == {"a": Count(number=1)}
    assert sorted(path.name for path in tmp_path.iterdir()) == before
