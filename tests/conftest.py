"""What holds for every test: parts that tests share are imported by their place in the tree, a loop
for the session, no blocking call in a loop, nothing real on virtual time."""

import asyncio
import os
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import HealthCheck, settings

if (root := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.insert(0, root)

# What the machine of whoever runs the tests says of its evictd and its engines is nothing to them.
for name in tuple(os.environ):
    if name.startswith(("EVICTD_", "XDG_")) or name in {
        "DOCKER_HOST",
        "CONTAINER_HOST",
        "NOTIFY_SOCKET",
        "RUNTIME_DIRECTORY",
    }:
        del os.environ[name]

# Machines are shared and noisy: no example has a time limit. A run that decides about a change
# looks at the same examples each time; a person's run looks at new ones.
settings.register_profile(
    "evictd",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("evictd")

REAL = frozenset(
    {
        "socket.connect",
        "socket.bind",
        "subprocess.Popen",
        "os.posix_spawn",
        "os.fork",
    }
)
"""What the interpreter audits that takes real time, and so never ends while virtual time runs.
Threads are not audited by every version, so that their start is replaced."""


class Guard:
    """Refuses what is real while a test runs on virtual time. An audit hook cannot be taken back,
    so that there is one for the session, switched on and off."""

    def __init__(self) -> None:
        self.on = False
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event in REAL:
            raise AssertionError(f"{event} under looptime: {arguments!r}")


GUARD = Guard()


@pytest.fixture(scope="session", autouse=True)
def session_loop() -> Iterator[None]:
    """A loop is set for tests that have none, and closed: an unclosed one would be a warning."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(autouse=True)
def nothing_blocks() -> Iterator[None]:
    """A blocking call inside a running loop fails the test."""
    with blockbuster_ctx():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """No socket, thread or process in a test that is marked `looptime`."""
    if item.get_closest_marker("looptime") is None:
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", _refuse_thread)
        patch.setattr(GUARD, "on", True)
        return (yield)


def _refuse_thread(thread: threading.Thread) -> None:
    raise AssertionError(f"a thread under looptime: {thread.name}")
