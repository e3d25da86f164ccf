"""The owned broker on a machine that is short of what it takes to start it, for real."""

import asyncio
import errno
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiomqtt import Client, ProtocolVersion
from tests.waiting import until

from evictd.core.errors import HostError
from evictd.shell import whole_file
from evictd.shell.broker import OwnedBroker


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that every account may pass through, as the system's state folder is."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path / "evictd"


async def takes_logins(broker: OwnedBroker) -> bool:
    """Whether a collector gets in."""
    address = broker.address("collector")
    login = {"username": address.username, "password": address.password}
    async with Client(address.host, address.port, protocol=ProtocolVersion.V5, **login):
        return True


async def test_it_begins_anew_on_a_disk_that_is_full(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is what evictd is there to cure: whatever it needs is there already."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with OwnedBroker(folder) as first:
        port = first.port
    monkeypatch.setattr(whole_file, "replace", full)
    async with OwnedBroker(folder) as second:
        assert second.port == port
        assert await takes_logins(second)
    await asyncio.to_thread((folder / "broker" / "passwd").chmod, 0o644)
    with pytest.raises(HostError, match="cannot be written"):
        async with OwnedBroker(folder):
            pass


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("folder.whole_file.replace", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))),
        ("owned.asyncio.create_subprocess_exec", BlockingIOError(errno.EAGAIN, "no process id")),
        ("owned.asyncio.create_subprocess_exec", RuntimeError("can't start new thread")),
    ],
    ids=["disk", "process id", "thread"],
)
async def test_a_machine_that_is_short_of_something_is_no_reason_to_leave_it_dead(
    folder: Path, monkeypatch: pytest.MonkeyPatch, place: str, error: Exception
) -> None:
    """It is just then that it is needed: a start that fails is tried again."""
    async with OwnedBroker(folder) as broker:
        port, pid = broker.port, broker.pid
        failed: list[Exception] = []

        def fails(*_: object, **__: object) -> None:
            failed.append(error)
            raise error

        with monkeypatch.context() as short:
            short.setattr(f"evictd.shell.broker.{place}", fails)
            os.kill(pid, signal.SIGKILL)
            await until(lambda: failed)
        if broker.pid != pid:
            os.kill(broker.pid, signal.SIGKILL)
        await until(lambda: broker.restarts > 1 and broker.pid != pid)
        assert broker.port == port
