"""What every journal does. [design, law 5]"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import Struct

from evictd.core.effects import BusEffect, Publish, Retract, WakeAt
from evictd.shell.journal import Journal, MemoryJournal, Row
from evictd.shell.journal_sqlite import SqliteJournal
from evictd_schemas import Decision, Stopped, topics


class Count(Struct, frozen=True, kw_only=True):
    """A state."""

    number: int


DECISION = Publish(
    topic=topics.DECISION.at("edge-7"),
    message=Decision(
        node="edge-7",
        epoch=1,
        rev=2,
        time=datetime(2026, 1, 1, tzinfo=UTC),
        sequence=3,
        mode="act",
        action="Wait",
        reason="",
    ),
)


RECORD = topics.STOPPED.at("edge-7", namespace="shop", name="web")


def down(attempts: int = 0, epoch: int = 0) -> Stopped:
    time = datetime(2026, 1, 1, tzinfo=UTC)
    return Stopped(uid="life", time=time, attempts=attempts, epoch=epoch, rev=epoch)


@pytest.fixture(params=["memory", "sqlite"])
async def journal(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Journal[Count, BusEffect]]:
    if request.param == "memory":
        yield MemoryJournal()
        return
    async with SqliteJournal(tmp_path / "journal", Count, BusEffect) as opened:
        yield opened


async def test_a_new_journal_is_empty(journal: Journal[Count, BusEffect]) -> None:
    assert list(await journal.rows()) == []


async def test_the_last_row_of_a_key_is_read_back_as_it_was(
    journal: Journal[Count, BusEffect],
) -> None:
    await journal.commit([Row(key="a", state=Count(number=1), effects=[WakeAt(boot_seconds=5)])])
    await journal.commit([Row(key="a", state=Count(number=2), effects=[DECISION])])
    rows = await journal.rows()
    assert [(row.key, row.state, list(row.effects)) for row in rows] == [
        ("a", Count(number=2), [DECISION])
    ]


async def test_rows_come_in_the_order_of_their_last_commit(
    journal: Journal[Count, BusEffect],
) -> None:
    """So that of two keys that wrote one topic the later has the last word again."""
    for key in ("a", "b", "a"):
        await journal.commit([Row(key=key, state=Count(number=1), effects=[])])
    assert [row.key for row in await journal.rows()] == ["b", "a"]


async def test_the_last_effects_of_a_forgotten_key_are_kept_to_be_carried_out(
    journal: Journal[Count, BusEffect],
) -> None:
    gone = Retract(topic=topics.DECISION.at("edge-7"))
    await journal.commit([Row(key="a", state=Count(number=1), effects=[])])
    await journal.commit([Row(key="a", state=None, effects=[gone])])
    assert [(row.state, list(row.effects)) for row in await journal.rows()] == [(None, [gone])]


async def test_a_key_may_come_back(journal: Journal[Count, BusEffect]) -> None:
    await journal.commit([Row(key="a", state=None, effects=[WakeAt(boot_seconds=1)])])
    await journal.commit([Row(key="a", state=Count(number=7), effects=[])])
    assert [row.state for row in await journal.rows()] == [Count(number=7)]


async def test_what_is_down_is_kept_for_longer_than_the_step_that_said_so(
    journal: Journal[Count, BusEffect],
) -> None:
    """Of the row it is no effect any more: what has changed since is not said again."""
    says = Publish(topic=RECORD, message=down())
    await journal.commit([Row(key="a", state=Count(number=1), effects=[says, DECISION])])
    assert [list(row.effects) for row in await journal.rows()] == [[DECISION]]
    await journal.commit([Row(key="a", state=None, effects=[])])
    assert await journal.records() == {RECORD: down()}


async def test_a_record_changes_and_ends_without_a_row(journal: Journal[Count, BusEffect]) -> None:
    journal.hold(RECORD, down(attempts=1, epoch=7))
    await journal.commit([])
    assert await journal.records() == {RECORD: down(attempts=1)}
    journal.hold(RECORD, down(attempts=2))
    journal.hold(RECORD, None)
    await journal.commit([])
    assert await journal.records() == {}
    assert list(await journal.rows()) == []
