"""A verb about the evictd that runs here reads the configuration that it runs with."""

from pathlib import Path

import pytest

from evictd.cli.last_configuration import NAME, remember, remembered


def test_the_file_of_the_last_start_is_found_again(tmp_path: Path) -> None:
    file = tmp_path / "evictd.yaml"
    file.write_text("mode: act\n")
    remember(tmp_path, file)
    assert remembered(tmp_path) == file


def test_a_start_without_a_file_forgets_the_former_one(tmp_path: Path) -> None:
    file = tmp_path / "evictd.yaml"
    file.write_text("mode: act\n")
    remember(tmp_path, file)
    remember(tmp_path, None)
    assert remembered(tmp_path) is None


def test_a_file_that_has_gone_is_not_read(tmp_path: Path) -> None:
    remember(tmp_path, tmp_path / "gone.yaml")
    assert remembered(tmp_path) is None


def test_a_machine_where_evictd_never_ran_remembers_nothing(tmp_path: Path) -> None:
    assert remembered(tmp_path / "nowhere") is None


@pytest.mark.parametrize("garbage", [b"\xff\xfe", b"\0", b"", b"\n\n", b"x" * 10_000])
def test_a_record_that_is_garbage_remembers_nothing(garbage: bytes, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(garbage)
    assert remembered(tmp_path) is None
