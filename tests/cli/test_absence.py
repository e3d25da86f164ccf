"""When what is down comes back, in words, and the hold file as the command line keeps it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evictd.cli import absence, hold_file
from evictd.core.errors import HostError
from evictd_schemas import AbsentPod, PodReference, Stopped, Wish

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
UID = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
SOON, LATER = NOW + timedelta(seconds=60), NOW + timedelta(seconds=90)


def stopped(**fields: Any) -> Stopped:
    return Stopped(**{"uid": UID, "time": NOW, "signal": "memory.available", **fields})


def said(why: str = "", *, uid: str = UID, **fields: Any) -> AbsentPod:
    return AbsentPod(pod=PodReference(namespace="shop", name="web", uid=uid), why=why, **fields)


@pytest.mark.parametrize(
    ("record", "told", "text"),
    [
        (stopped(), None, "when there is room again"),
        (stopped(), said(), "at once"),
        (stopped(), said("shop/db comes first"), "when it can: shop/db comes first"),
        (stopped(), said("shop/db comes first", uid="earlier"), "when there is room again"),
        (stopped(restore="never"), said("whatever"), "when somebody starts it"),
        (stopped(signal="nodefs.available"), said("whatever"), "when somebody starts it"),
        (stopped(next_try_time=SOON), said(next_try_time=LATER), "in 90s at the earliest"),
        (stopped(next_try_time=SOON), None, "in 60s at the earliest"),
        (stopped(), said(next_try_time=SOON, falls=3), "in 60s at the earliest, after 3 evictions"),
        (stopped(next_try_time=NOW), said(falls=2), "at once, after 2 evictions"),
    ],
)
def test_when_it_comes_back_is_the_evictors_word_where_that_is_about_this_life(
    record: Stopped, told: AbsentPod | None, text: str
) -> None:
    assert absence.return_text(record, told, NOW) == text


def hold(target: str | None, until: datetime = LATER) -> Wish:
    return Wish(verb="Hold", target=target, until=until)


def test_holds_of_the_file_are_added_replaced_and_ended(tmp_path: Path) -> None:
    """Those that are over go with the next change; with the last one the file goes."""
    path = tmp_path / "hold"
    hold_file.add(path, hold("shop/web"), NOW)
    hold_file.add(path, hold(None, SOON), NOW)
    hold_file.add(path, hold("shop/web", SOON), NOW)
    assert hold_file.holds(path, NOW) == (hold(None, SOON), hold("shop/web", SOON))
    assert hold_file.end(path, "shop/web", NOW) == (hold("shop/web", SOON),)
    assert hold_file.holds(path, NOW) == (hold(None, SOON),)
    assert hold_file.holds(path, SOON) == ()
    assert hold_file.end(path, None, SOON) == ()
    assert not path.exists()


def test_a_hold_file_belongs_where_a_responder_has_its_state(tmp_path: Path) -> None:
    assert hold_file.place(tmp_path) is None
    assert list(absence.file_holds(tmp_path, NOW)) == []
    (tmp_path / "responder.journal").touch()
    assert hold_file.place(tmp_path) == tmp_path / "hold"
    hold_file.add(tmp_path / "hold", hold("shop/web"), NOW)
    (text,) = absence.file_holds(tmp_path, NOW)
    assert text == (
        "shop/web is left alone until 2026-01-01T12:01:30Z, but for hard evictions, "
        f"by the file {tmp_path / 'hold'}"
    )


def test_a_hold_file_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    """A folder has its name."""
    (tmp_path / "responder.journal").touch()
    (tmp_path / "hold").mkdir()
    with pytest.raises(HostError, match="cannot be read"):
        hold_file.add(tmp_path / "hold", hold(None), NOW)
    assert list(absence.file_holds(tmp_path, NOW)) == []
