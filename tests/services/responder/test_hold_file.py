"""The hold file as it lies on a disk, and the forms in which a person may write it."""

import asyncio
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from evictd.core.holds import FILE_HOLD_SECONDS_MAX, hold_on, written
from evictd.core.moments import after
from evictd.responder import holding
from evictd.responder.holding import HoldFile
from evictd.shell import whole_file
from evictd.shell.blocking import in_thread
from evictd.shell.clock import SystemClock
from evictd_schemas import Wish

T = TypeVar("T")

MADE = datetime(2026, 1, 1, tzinfo=UTC)
DAY = MADE + timedelta(seconds=FILE_HOLD_SECONDS_MAX)


def hold(target: str | None = None, *, until: datetime = DAY, hard: bool = False) -> Wish:
    return Wish(verb="Hold", target=target, until=until, include_hard=hard)


@pytest.mark.parametrize(
    ("text", "wishes"),
    [
        ("", (hold(),)),
        ("\n", (hold(),)),
        ("90m\n", (hold(until=MADE + timedelta(minutes=90)),)),
        ("2026-01-01T18:00:00Z", (hold(until=MADE + timedelta(hours=18)),)),
        ("2026-01-01T18:00:00+02:00", (hold(until=MADE + timedelta(hours=16)),)),
        ("2026-01-01T18:00:00", (hold(until=MADE + timedelta(hours=18)),)),
        ("tonight", (hold(),)),
        ("999999999h", (hold(),)),
        ("{not json", (hold(),)),
        ("[" * 60_000, (hold(),)),
        (
            '{"verb": "Hold", "target": "shop/web", "includeHard": true}',
            (hold("shop/web", hard=True),),
        ),
        (
            '[{"verb": "Hold", "target": "a/b"}, {"verb": "Hold", "target": "a/c"}]',
            (hold("a/b"), hold("a/c")),
        ),
        ('[{"verb": "Forget", "target": "a/b"}]', ()),
        ("[]", ()),
    ],
)
def test_a_person_may_write_it_in_many_ways(text: str, wishes: tuple[Wish, ...]) -> None:
    """What cannot be read was meant to hold something."""
    assert written(text, MADE) == wishes


def test_a_hold_keeps_soft_stops_off_and_hard_ones_where_it_says_so() -> None:
    everything, one = hold(), hold("shop/web", hard=True)
    assert hold_on((everything,), "shop/web", hard=False, utc=MADE) is everything
    assert hold_on((everything,), "shop/web", hard=True, utc=MADE) is None
    assert hold_on((everything, one), "shop/web", hard=True, utc=MADE) is one
    assert hold_on((one,), "shop/db", hard=False, utc=MADE) is None
    assert hold_on((everything,), "shop/web", hard=False, utc=DAY) is None


async def test_it_is_read_anew_each_time(tmp_path: Path) -> None:
    """By its last change, whoever may read it or not."""
    path = tmp_path / "hold"
    file = HoldFile(path, in_thread, SystemClock())
    assert await file.keeps("shop/web", hard=False) is None
    await in_thread(path.touch)
    assert str(path) in (await file.keeps("shop/web", hard=False) or "")
    old = datetime.now(UTC).timestamp() - FILE_HOLD_SECONDS_MAX - 1
    await in_thread(lambda: os.utime(path, (old, old)))
    assert await file.keeps("shop/web", hard=False) is None
    await in_thread(path.unlink)
    await in_thread(path.mkdir)
    assert await file.keeps("shop/web", hard=False) is not None
    assert await file.keeps("shop/web", hard=True) is None


async def test_a_time_of_change_beyond_all_calendars_holds(tmp_path: Path) -> None:
    """As a file system in memory takes it from a clock gone mad."""
    path = tmp_path / "hold"
    await in_thread(path.touch)
    await in_thread(lambda: os.utime(path, ns=(1 << 62, 1 << 62)))
    assert (await in_thread(lambda: whole_file.changed_time(path))).year == 2116
    assert await HoldFile(path, in_thread, SystemClock()).keeps("shop/web", hard=False) is not None
    assert after(whole_file.START, 1e18).year == 9999


async def test_without_a_place_nothing_is_held() -> None:
    assert await HoldFile(None, in_thread, SystemClock()).keeps("a/b", hard=False) is None


async def test_a_disk_that_hangs_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hung(function: Callable[[], T]) -> T:
        await asyncio.Event().wait()
        return function()

    monkeypatch.setattr(holding, "READ_SECONDS", 0.01)
    assert await HoldFile(tmp_path, hung, SystemClock()).keeps("a/b", hard=False) is None
