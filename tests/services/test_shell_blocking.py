"""Work beside the loop on a machine that has no thread to give."""

import threading

import anyio
import pytest

from evictd.core.errors import HostError
from evictd.responder import room
from evictd.responder.room import Disks
from evictd.shell import blocking
from evictd.shell.blocking import in_thread


class Machine:
    """Starts no thread for so many times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, refusals: float) -> None:
        self.refusals = refusals
        truly = threading.Thread.start

        def start(thread: threading.Thread) -> None:
            if self.refusals > 0:
                self.refusals -= 1
                raise RuntimeError("can't start new thread")
            truly(thread)

        monkeypatch.setattr(threading.Thread, "start", start)


async def test_a_thread_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of process ids is what evictd has to live through."""
    machine = Machine(monkeypatch, refusals=3)
    assert await in_thread(threading.get_ident) != threading.get_ident()
    assert machine.refusals == 0


async def test_where_there_is_none_it_is_the_machine_s_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocking, "START_SECONDS", 0.05)
    Machine(monkeypatch, refusals=float("inf"))
    with pytest.raises(HostError, match="no thread can be started: can't start new thread"):
        await in_thread(threading.get_ident)


async def test_who_has_a_deadline_of_his_own_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    Machine(monkeypatch, refusals=float("inf"))
    with anyio.move_on_after(0.05) as scope:
        await in_thread(threading.get_ident)
    assert scope.cancelled_caught


async def test_what_the_work_itself_raises_is_raised_once() -> None:
    calls = []

    def work() -> None:
        calls.append(1)
        raise RuntimeError("of the work")

    with pytest.raises(RuntimeError, match="of the work"):
        await in_thread(work)
    assert calls == [1]


async def test_a_disk_that_nobody_could_ask_is_asked_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room, "MEASURE_SECONDS", 0.05)
    machine = Machine(monkeypatch, refusals=float("inf"))
    disks = Disks({"nodefs": "/"})
    assert await disks.room("nodefs.available") is None
    machine.refusals = 0
    monkeypatch.setattr(room, "MEASURE_SECONDS", 10)
    assert await disks.room("nodefs.available") is not None
