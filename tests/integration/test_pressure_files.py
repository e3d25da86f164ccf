"""Pressure files that take a trigger and never tell of it, as on file systems that only look like
the kernel's."""

from pathlib import Path

import pytest

from evictd.collector.stalls import KernelStalls
from evictd.shell.blocking import in_thread


@pytest.fixture
def plain_file(tmp_path: Path) -> Path:
    place = tmp_path / "memory.pressure"
    place.write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
    return place


async def test_a_pressure_file_that_nobody_can_wait_for_arms_nothing(plain_file: Path) -> None:
    """Looks then come by time. An epoll set takes no plain file."""
    stalls = KernelStalls(in_thread)
    await stalls.arm(plain_file, lambda: None)
    assert not stalls.armed
    stalls.disarm()
