"""A source that hangs, with real threads: it costs one look a moment and then nobody anything."""

import threading
from typing import Any

import anyio
import msgspec
import pytest

from evictd.collector import sight as room
from evictd.collector.faults import NO_STALL_FIGURES
from evictd.collector.sight import Sight
from evictd.collector.sources import filesystems, pressure
from evictd.shell.blocking import in_thread
from evictd.shell.clock import SystemClock
from evictd_schemas import SignalReading
from evictd_schemas.sources import FileSystemSources

PATIENCE_SECONDS = 1.0
"""Of a look with its sources, long enough for those that answer on a machine that is busy."""
MOUNTS = "27 1 254:0 / / rw - ext4 /dev/vda rw\n40 27 0:77 / /images rw - nfs far:/images rw\n"


async def test_a_hung_mount_is_waited_for_once_and_read_by_one_thread_only(
    host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.write("proc/self/mountinfo", MOUNTS)
    released, reads, answered = threading.Event(), [], []
    read = filesystems.read

    def hanging(folder: str, proc: Any) -> filesystems.FileSystem:
        if folder == "/images":
            reads.append(folder)
            released.wait(30)
            return read(str(host.root), proc)
        return read(folder, proc)

    monkeypatch.setattr(filesystems, "read", hanging)
    monkeypatch.setattr(room, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    places = FileSystemSources(nodefs=str(host.root), imagefs="/images")
    clock, told = SystemClock(), anyio.Event()
    sight = Sight(
        sources=msgspec.structs.replace(host.sources(), file_systems=places),
        runtimes=(),
        clock=clock,
        run_blocking=in_thread,
        answered=lambda name: (answered.append(name), told.set()),
    )
    took = []
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            begun = clock.now().boot_seconds
            seen = await sight.look(tasks)
            took.append(clock.now().boot_seconds - begun)
        assert took[0] >= PATIENCE_SECONDS
        assert min(took[1:]) < PATIENCE_SECONDS / 2
        assert reads == ["/images"]
        assert {"memory.available", "nodefs.available"} <= set(seen.look.signals)
        assert "imagefs.available" not in seen.look.signals
        assert seen.look.layout is not None
        assert seen.look.layout.dedicated_image_fs  # the table of mounts knows without asking it
        released.set()
        with anyio.fail_after(20):
            await told.wait()
        seen = await sight.look(tasks)
    assert answered == ["file system /images"]
    assert seen.look.signals["imagefs.available"].time is not None


async def test_stall_figures_that_are_late_are_not_told_to_be_none(
    host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a kernel that has answered can be said to give none."""
    released = threading.Event()

    def slow(*_: Any) -> dict[str, SignalReading]:
        released.wait(30)
        return {}

    monkeypatch.setattr(pressure, "read", slow)
    monkeypatch.setattr(room, "PATIENCE_SECONDS", PATIENCE_SECONDS)
    told = anyio.Event()
    sight = Sight(
        sources=host.sources(),
        runtimes=(),
        clock=SystemClock(),
        run_blocking=in_thread,
        answered=lambda _: told.set(),
    )
    async with anyio.create_task_group() as tasks:
        assert NO_STALL_FIGURES not in (await sight.look(tasks)).problems
        released.set()
        with anyio.fail_after(20):
            await told.wait()
        assert NO_STALL_FIGURES in (await sight.look(tasks)).problems
