"""What a real file system says that it has left."""

from pathlib import Path

from evictd.responder.room import Disks, measured


async def test_the_file_system_of_the_signal_is_asked(tmp_path: Path) -> None:
    disks = Disks({"nodefs": str(tmp_path), "imagefs": str(tmp_path / "nowhere")})
    room = await disks.room("nodefs.inodesFree")
    assert room is not None
    assert room.bytes > 0
    assert room.inodes >= 0
    assert await disks.room("imagefs.available") is None, "it is not there"
    assert await disks.room("memory.available") is None


def test_what_is_there_and_what_is_enough_are_in_the_unit_of_the_signal(tmp_path: Path) -> None:
    room = measured(str(tmp_path))
    assert room is not None
    assert room.of("nodefs.available") == room.bytes
    assert room.of("nodefs.inodesFree") == room.inodes
    assert room.holds("nodefs.available", room.bytes)
    assert not room.holds("nodefs.available", room.bytes + 1)
    assert not room.holds("nodefs.available", None)
