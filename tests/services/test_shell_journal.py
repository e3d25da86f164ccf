"""The journal on disk: killed, damaged, full, slow. [design, law 5]"""

import asyncio
import json
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from tests.waiting import until

from evictd.core.effects import Emit, Publish, Stop
from evictd.core.errors import HostError
from evictd.core.events import emit
from evictd.shell import journal_sqlite
from evictd.shell.bus.marks import Mark
from evictd.shell.journal import Row
from evictd.shell.journal_sqlite import SqliteJournal
from evictd_schemas import Eviction, PodReference, topics

NODE = "edge-7"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Count(Struct, frozen=True, kw_only=True):
    """A state."""

    number: int


Effects = Publish | Emit | Stop


def counted(number: int, *effects: Publish | Emit | Stop) -> Row[Count, Effects]:
    return Row(key="a", state=Count(number=number), effects=effects)


def opened(folder: Path) -> SqliteJournal[Count, Effects]:
    return SqliteJournal(folder / "journal", Count, Effects)


def event(transition: str) -> Emit:
    return emit(
        node=NODE,
        worker=topics.Role.CONTROLLER,
        reason="Evicted",
        message="gone",
        time=NOW,
        about="uid",
        transition=transition,
    )


async def execute(journal: SqliteJournal[Count, Effects], statement: str) -> list[Any]:
    """Behind the journal's back, in its own thread."""
    return await journal._in_thread(lambda: journal._store._live().execute(statement).fetchall())


async def test_rows_outlive_the_process_with_every_kind_of_effect(tmp_path: Path) -> None:
    publish = Publish(
        topic=topics.EVICTION.at(NODE, namespace="shop", name="web"), message=Eviction()
    )
    stop = Stop(pod=PodReference(namespace="shop", name="web", uid="u"), grace_seconds=None)
    row = counted(3, publish, event("1"), stop)
    async with opened(tmp_path) as journal:
        await journal.commit([row])
    async with opened(tmp_path) as journal:
        assert await journal.rows() == [row]


async def test_an_event_of_an_earlier_step_stays_until_it_must_have_been_delivered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next step may be committed before the broker has it."""
    async with opened(tmp_path) as journal:
        await journal.commit([counted(1, event("1"))])
        await journal.commit([counted(2, event("2"))])
        assert (await journal.rows())[0].effects == (event("1"), event("2"))
        monkeypatch.setattr(journal_sqlite, "DELIVERED_SECONDS", 0)
        await journal.commit([counted(3)])
        assert (await journal.rows())[0].effects == ()


async def test_marks_and_epoch_outlive_the_process(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        assert (journal.former_epoch, journal.known) == (0, {})
        journal.note({"kept": Mark(epoch=1, rev=2), "cleared": Mark(epoch=1, rev=1)}, 17)
        await journal.commit([counted(1)])
        journal.note({"cleared": None})
    async with opened(tmp_path) as journal:
        assert (journal.former_epoch, journal.known) == (17, {"kept": Mark(epoch=1, rev=2)})


async def test_a_commit_is_waited_for_a_moment_and_being_behind_is_visible(
    tmp_path: Path,
) -> None:
    release = threading.Event()
    async with opened(tmp_path) as journal:
        journal._threads.submit(release.wait)
        for number in range(3):
            await journal.commit([counted(number)])
        assert journal.behind_seconds >= 2 * journal_sqlite.COMMIT_SECONDS
        release.set()
        await until(lambda: journal.behind_seconds == 0)
        assert [row.state for row in await journal.rows()] == [Count(number=2)]


async def test_a_full_disk_puts_the_journal_behind_and_nothing_is_lost_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_sqlite, "RETRY_SECONDS", 0.01)
    large = [Row(key=f"k{n}" * 400, state=Count(number=n), effects=()) for n in range(50)]
    async with opened(tmp_path) as journal:
        ((pages,),) = await execute(journal, "PRAGMA page_count")
        await execute(journal, f"PRAGMA max_page_count = {pages}")
        await journal.commit(large)
        assert journal.problem == "database or disk is full"
        assert journal.behind_seconds > 0
        await journal.commit([counted(1)])
        await execute(journal, "PRAGMA max_page_count = 100000")
        await until(lambda: journal.behind_seconds == 0)
        assert journal.problem == ""
        assert len(await journal.rows()) == 51


async def test_a_damaged_file_is_an_error_that_names_it_and_never_an_empty_journal(
    tmp_path: Path,
) -> None:
    await asyncio.to_thread((tmp_path / "journal").write_bytes, b"this is no database" * 1000)
    with pytest.raises(HostError, match=r"journal cannot be used: file is not a database"):
        async with opened(tmp_path):
            pass


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rows SET effects = '['",
        """UPDATE rows SET state = '{"amount":1}'""",
        """UPDATE rows SET effects = '[{"type":"Foretell"}]'""",
    ],
)
async def test_a_row_that_is_damaged_or_of_another_version_is_an_error_and_stays(
    statement: str, tmp_path: Path
) -> None:
    """It is told with its file and what to do, at each start, until somebody has."""
    async with opened(tmp_path) as journal:
        await journal.commit([counted(1)])
        await execute(journal, statement)
        before = await execute(journal, "SELECT * FROM rows")
    for _ in range(2):
        async with opened(tmp_path) as journal:
            with pytest.raises(HostError, match=r"journal is damaged .* at 'a': .* move it away"):
                await journal.rows()
            assert await execute(journal, "SELECT * FROM rows") == before


async def test_a_row_of_a_version_that_knew_less_or_more_is_read(tmp_path: Path) -> None:
    """What an upgrade adds has a default, and what a downgrade does not know is left out."""

    class Later(Count, frozen=True, kw_only=True):
        """A later version's state."""

        word: str = "none"

    later = Row(key="b", state=Later(number=2, word="new"), effects=())
    async with SqliteJournal(tmp_path / "journal", Later, Effects) as journal:
        await journal.commit([later])
    async with opened(tmp_path) as former:
        assert [row.state for row in await former.rows()] == [Count(number=2)]
        await former.commit([counted(1)])
    async with SqliteJournal(tmp_path / "journal", Later, Effects) as journal:
        states = {row.key: row.state for row in await journal.rows()}
    assert states == {"a": Later(number=1), "b": later.state}


async def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await execute(journal, "PRAGMA user_version = 99")
    with pytest.raises(HostError, match="newer version of evictd"):
        async with opened(tmp_path):
            pass


async def test_a_journal_that_was_there_is_opened_without_a_write(tmp_path: Path) -> None:
    """So that a responder that was killed can begin anew on a disk that is full."""
    async with opened(tmp_path) as journal:
        await journal.commit([counted(1)])
    async with opened(tmp_path) as journal:
        assert [row.state for row in await journal.rows()] == [Count(number=1)]
        written = await asyncio.to_thread((tmp_path / "journal-wal").stat)
        assert written.st_size == 0


async def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    await asyncio.to_thread((tmp_path / "file").touch)
    with pytest.raises(HostError, match="cannot be used"):
        async with opened(tmp_path / "file"):
            pass


async def test_ended_keys_are_deleted_once_their_effects_are_delivered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_sqlite, "DELIVERED_SECONDS", 0.02)
    monkeypatch.setattr(journal_sqlite, "KEEP_SECONDS", 0.01)
    async with opened(tmp_path) as journal:
        await journal.commit([Row(key="gone", state=None, effects=(event("1"),)), counted(1)])

        async def one_is_left() -> bool:
            return len(await journal.rows()) == 1

        await until(one_is_left)
        assert [row.key for row in await journal.rows()] == ["a"]


async def test_the_log_is_moved_into_the_file_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_sqlite, "KEEP_SECONDS", 0.01)
    path = tmp_path / "journal"
    async with opened(tmp_path) as journal:
        await journal.commit([counted(1)])
        size = (await asyncio.to_thread(path.stat)).st_size
        await journal.commit(
            [Row(key=f"k{n}" * 400, state=Count(number=n), effects=()) for n in range(50)]
        )

        async def has_grown() -> bool:
            return (await asyncio.to_thread(path.stat)).st_size > size

        await until(has_grown)


KILLED = """
import asyncio, sys
from pathlib import Path
from evictd.core.effects import BusEffect
from evictd.shell.journal import Row
from evictd.shell.journal_sqlite import SqliteJournal
from msgspec import Struct

class Count(Struct, frozen=True, kw_only=True):
    number: int

async def main():
    async with SqliteJournal(Path(sys.argv[1]), Count, BusEffect) as journal:
        for number in range(1_000_000):
            await journal.commit([Row(key="a", state=Count(number=number), effects=[])])
            if journal.behind_seconds == 0:
                print(number, flush=True)

asyncio.run(main())
"""


async def test_nothing_that_was_committed_is_lost_by_kill_minus_nine(tmp_path: Path) -> None:
    def run() -> int:
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, tmp_path / "journal"], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            seen = [json.loads(process.stdout.readline()) for _ in range(200)]
            process.kill()
            rest = [json.loads(line) for line in process.stdout if line.endswith(b"\n")]
        return max([*seen, *rest])

    committed = await asyncio.to_thread(run)
    async with SqliteJournal(tmp_path / "journal", Count, Effects) as journal:
        (row,) = await journal.rows()
        assert row.state is not None
        assert row.state.number >= committed
