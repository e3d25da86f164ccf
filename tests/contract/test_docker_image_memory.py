"""The file in which uses of images outlive evictd: what is trusted, and how time passes."""

import asyncio
from pathlib import Path

import pytest
import structlog
from msgspec import structs
from structlog.testing import capture_logs

from evictd.runtimes.docker.container_folder import FolderMark, mark
from evictd.runtimes.docker.image_memory import (
    BOOT_ID,
    ImageMemory,
    LastEvent,
    Remembered,
)
from evictd.runtimes.docker.image_uses import IMAGES_MAX, ImageUses
from evictd.runtimes.kept_file import FILE_BYTES_MAX
from evictd.shell.blocking import in_thread

REMEMBERED = Remembered(
    unused_seconds={"sha256:old": 500.0, "sha256:new": 0.0},
    last_event=LastEvent(time_nano=7, action="die", container_id="1"),
    folder=FolderMark(inode=3, changed_nanoseconds=9),
)


class Machine:
    """A state folder, a boot and a clock."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "image-uses"
        self.proc = folder / "proc"
        self.seconds = 1000.0
        (self.proc / BOOT_ID).parent.mkdir(parents=True)
        self.boot("first")

    def boot(self, boot_id: str) -> None:
        (self.proc / BOOT_ID).write_text(f"{boot_id}\n")

    @property
    def memory(self) -> ImageMemory:
        return ImageMemory(self.file, self.proc, in_thread, lambda: self.seconds)

    def keep(self, remembered: Remembered) -> None:
        asyncio.run(self.memory.keep(remembered))

    def recalled(self) -> Remembered | None:
        return asyncio.run(self.memory.recalled())

    def ages(self) -> dict[str, float] | None:
        found = self.recalled()
        return None if found is None else found.unused_seconds


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.keep(REMEMBERED)
    return machine


def test_what_was_kept_is_recalled(machine: Machine) -> None:
    assert machine.recalled() == REMEMBERED
    assert machine.file.stat().st_mode & 0o777 == 0o600


def test_nothing_is_recalled_where_nothing_was_kept(tmp_path: Path) -> None:
    assert Machine(tmp_path).recalled() is None
    nowhere = ImageMemory(None, Path("/proc"), in_thread)
    asyncio.run(nowhere.keep(REMEMBERED))
    assert asyncio.run(nowhere.recalled()) is None


@pytest.mark.parametrize(
    ("boot_id", "seconds", "passed"),
    [
        ("first", 1600.0, 600.0),
        ("first", 400.0, 0.0),
        ("second", 90.0, 90.0),
        ("", 90.0, 0.0),
    ],
    ids=["the same boot", "a clock that jumped back", "another boot", "a boot without a name"],
)
def test_an_image_grows_older_by_what_has_passed_for_certain(
    machine: Machine, boot_id: str, seconds: float, passed: float
) -> None:
    """Nobody knows for how long the machine was off."""
    machine.boot(boot_id)
    machine.seconds = seconds
    assert machine.ages() == {"sha256:old": 500.0 + passed, "sha256:new": passed}


def test_where_boots_could_not_be_told_apart_nothing_has_passed(machine: Machine) -> None:
    machine.boot("")
    machine.keep(REMEMBERED)
    machine.boot("first")
    machine.seconds = 5000.0
    assert machine.ages() == REMEMBERED.unused_seconds


def test_a_file_with_one_wrong_byte_or_cut_short_is_as_good_as_none(
    machine: Machine,
) -> None:
    """Wherever it is: one digit more would make an image old."""
    whole = machine.file.read_bytes()
    for place in range(len(whole)):
        machine.file.write_bytes(whole[:place])
        assert machine.ages() is None
        machine.file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert machine.ages() in (None, REMEMBERED.unused_seconds)


@pytest.mark.parametrize("garbage", [b"", b"\0\xff", b"[]", b"{}", b"x" * (FILE_BYTES_MAX + 1)])
def test_garbage_is_as_good_as_none(machine: Machine, garbage: bytes) -> None:
    machine.file.write_bytes(garbage)
    assert machine.ages() is None


def test_a_file_of_another_version_is_as_good_as_none(machine: Machine) -> None:
    text = machine.file.read_text()
    assert '"format":1,' in text
    machine.file.write_text(text.replace('"format":1,', '"format":2,'))
    assert machine.ages() is None


def test_the_most_images_that_are_remembered_fit_the_file(machine: Machine) -> None:
    ages = {f"sha256:{number:064x}": 123456789.123456 for number in range(IMAGES_MAX)}
    machine.keep(structs.replace(REMEMBERED, unused_seconds=ages))
    assert machine.file.stat().st_size < FILE_BYTES_MAX / 2
    assert machine.ages() == ages


def test_a_disk_that_takes_nothing_leaves_what_was_there_and_is_told_once(
    machine: Machine,
) -> None:
    structlog.reset_defaults()  # a command of an earlier test may have silenced the log
    (machine.file.parent / "image-uses.new").mkdir()
    memory = machine.memory
    with capture_logs() as told:
        for _ in range(2):
            asyncio.run(memory.keep(Remembered(unused_seconds={})))
    assert [entry["event"] for entry in told] == ["uses of images are not kept"]
    assert machine.recalled() == REMEMBERED


def test_an_age_below_nothing_is_none() -> None:
    uses = ImageUses(lambda: 10.0)
    uses.recall({"old": 5.0, "odd": -5.0})
    assert uses.ages() == {"old": 5.0, "odd": 0.0}


def test_a_folder_that_has_just_changed_says_nothing_yet(tmp_path: Path) -> None:
    """Another change within the same tick of the clock would leave the same time."""
    (tmp_path / "containers" / "1").mkdir(parents=True)
    assert mark(str(tmp_path), ["1"]) is None
    assert mark("", ["1"]) is None
