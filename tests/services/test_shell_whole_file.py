"""Files that are there whole, or as they were."""

import os
from pathlib import Path

import pytest

from evictd.shell import whole_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "file"
    place.write_bytes(b"before")
    return place


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_new_content_takes_the_place_of_the_old_with_its_mode(file: Path, mode: int) -> None:
    """Whatever the umask, and whatever the mode before."""
    before = os.umask(0o077)
    try:
        whole_file.replace(file, b"after", mode)
    finally:
        os.umask(before)
    assert file.read_bytes() == b"after"
    assert file.stat().st_mode & 0o777 == mode
    assert [place.name for place in file.parent.iterdir()] == ["file"]


def test_what_a_killed_writer_left_behind_is_no_hindrance(file: Path) -> None:
    """Nor is it written to: it may be a link to something else."""
    elsewhere = file.with_name("elsewhere")
    elsewhere.write_bytes(b"theirs")
    file.with_name("file.new").symlink_to(elsewhere)
    whole_file.replace(file, b"after")
    assert (file.read_bytes(), elsewhere.read_bytes()) == (b"after", b"theirs")


def test_where_nothing_can_be_written_the_old_content_stays(file: Path) -> None:
    file.with_name("file.new").mkdir()
    with pytest.raises(OSError, match="directory"):
        whole_file.replace(file, b"after")
    assert file.read_bytes() == b"before"
