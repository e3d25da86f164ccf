"""What a real file system says that it has left."""

import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from evictd.responder import room
from evictd.responder.room import Disks, Room, measured


async def test_the_file_system_of_the_signal_is_asked(tmp_path: Path) -> None:
    disks = Disks({"nodefs": str(tmp_path), "imagefs": str(tmp_path / "nowhere")})
    found = await disks.room("nodefs.inodesFree")
    assert found is not None
    assert found.bytes > 0
    assert found.inodes >= 0
    assert await disks.room("imagefs.available") is None, "it is not there"
    assert await disks.room("memory.available") is None


async def test_a_file_system_that_hangs_holds_one_thread_however_often_it_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Threads are shared with what must not wait."""
    answer, asked = threading.Event(), []

    def hang(place: str) -> None:
        asked.append(place)
        answer.wait(10)

    monkeypatch.setattr(room, "measured", hang)
    monkeypatch.setattr(room, "MEASURE_SECONDS", 0.1)
    disks = Disks({"nodefs": "/hung"})
    assert [await disks.room("nodefs.available") for _ in range(3)] == [None, None, None]
    assert asked == ["/hung"]
    answer.set()


def test_what_is_there_and_what_is_enough_are_in_the_unit_of_the_signal(tmp_path: Path) -> None:
    found = measured(str(tmp_path))
    assert found is not None
    assert found.of("nodefs.available") == found.bytes
    assert found.of("nodefs.inodesFree") == found.inodes
    assert found.holds("nodefs.available", found.bytes)
    assert not found.holds("nodefs.available", found.bytes + 1)
    assert not found.holds("nodefs.available", None)


def test_a_file_system_that_claims_more_than_there_can_be_tells_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody would take an answer with such figures."""
    claims = SimpleNamespace(f_blocks=2**63, f_frsize=4096, f_bavail=5, f_ffree=5, f_files=9)
    monkeypatch.setattr(os, "statvfs", lambda _: claims)
    assert measured("/") is None
    claims.f_blocks = 7
    assert measured("/") == Room(bytes=5 * 4096, inodes=5)
