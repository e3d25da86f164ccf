"""A responder that runs a command: what it prints is progress, its exit is completion.

The command comes from the machine's owner and never from the bus: what a requester wrote reaches it
in the environment alone. [contract 3, Report]
"""

import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from subprocess import DEVNULL, PIPE, STDOUT

import anyio
from anyio.abc import ByteReceiveStream, Process

from evictd.core.errors import HostError
from evictd.responder.author import TIMEOUT_SECONDS, Work

GRACE_SECONDS = 5.0
"""From SIGTERM to SIGKILL, for the command and everything it has started."""
OUTPUT_SECONDS = 1.0
"""After its exit: somebody whom it left behind may keep its output open for ever."""
LINE_BYTES_MAX = 4_000
"""Longer lines are cut: a message has no more room. [eviction-request-api 2.3]"""
AT_ONCE_MAX = 4
"""Commands of one process: they are run where memory is short already."""
SECRETS = "EVICTD_BROKER"
"""Variables that begin so are for us alone: an address may hold a password too."""


class Places:
    """Room for so many commands at once; whoever comes first runs first."""

    def __init__(self, most: int = AT_ONCE_MAX) -> None:
        self._most = most
        self._line: list[object] = []
        self._moved = anyio.Event()

    @asynccontextmanager
    async def taken(self, work: Work) -> AsyncIterator[None]:
        """Wait for a place and keep it; that the line gets shorter is progress."""
        ticket = object()
        self._line.append(ticket)
        try:
            while (ahead := self._line.index(ticket) + 1 - self._most) > 0:
                work.progress(f"waiting for {ahead} of the commands before it; {self._most} run")
                await self._moved.wait()
            yield
        finally:
            self._line.remove(ticket)
            self._moved.set()
            self._moved = anyio.Event()


class Command:
    """One run a turn, in one of the `places`; by default it has its own.

    Work that ends before the command takes its whole process group along; what a command leaves
    behind on purpose, after its exit, is left alone.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        places: Places | None = None,
    ) -> None:
        self._command = tuple(command)
        self._timeout_seconds = timeout_seconds
        self._places = places or Places()

    async def respond(self, work: Work) -> str:
        """Its last line, once it has exited with 0. Its time begins when it is started.

        Raises `HostError` for another exit, for one that cannot be started, and `TimeoutError` when
        it takes too long.
        """
        async with self._places.taken(work):
            return await self._run(work)

    async def _run(self, work: Work) -> str:
        said: deque[str] = deque(["done"], maxlen=1)
        work.progress(
            f"running {self._command[0]}",
            expected_completion=timedelta(seconds=self._timeout_seconds),
        )
        process = await self._start(work)
        try:
            with anyio.fail_after(self._timeout_seconds):
                code = await _exit_code(process, work, said)
        except TimeoutError as error:
            raise TimeoutError(f"not done in {self._timeout_seconds:g} s: {said[0]}") from error
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)
        if code != 0:
            raise HostError(f"{self._command[0]} exited with {code}: {said[0]}")
        return said[0]

    async def restore(self, work: Work) -> None:
        """SIGTERM has told it already."""

    async def _start(self, work: Work) -> Process:
        try:
            return await anyio.open_process(
                self._command,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
                env=environment(work, os.environ),
                start_new_session=True,
            )
        except OSError as error:
            raise HostError(f"{self._command[0]}: cannot be run: {error.strerror}") from error


def environment(work: Work, own: Mapping[str, str]) -> dict[str, str]:
    """What the command is told.

    Ours without secrets, and `EVICTION_...` for the target and why it is to leave. A variable that
    has nothing to say is empty.
    """
    status = work.eviction.status
    told = {
        "NODE": work.node,
        "NAMESPACE": work.pod.namespace,
        "POD": work.pod.name,
        "UID": work.pod.uid,
        "NAME": work.eviction.metadata.name,
        "TYPE": status.type,
        "SIGNAL": work.reason.signal or "",
        "REASON": work.reason.message,
        "REQUESTERS": " ".join(requester.name for requester in status.requesters),
        "DEADLINE": "" if work.deadline is None else work.deadline.isoformat(),
        "DRY_RUN": "true" if work.dry_run else "",
        "RESUMED": "true" if work.resumed else "",
    }
    kept = {name: value for name, value in own.items() if not name.startswith(SECRETS)}
    return kept | {f"EVICTION_{name}": value.replace("\0", "") for name, value in told.items()}


async def _exit_code(process: Process, work: Work, said: deque[str]) -> int:
    """Read until it has exited, and what is left in the pipe then."""
    assert process.stdout is not None  # noqa: S101 - it was opened with a pipe
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process.stdout, work, said)
        code = await process.wait()
        tasks.cancel_scope.deadline = anyio.current_time() + OUTPUT_SECONDS
    return code


async def _read(output: ByteReceiveStream, work: Work, said: deque[str]) -> None:
    """Each line is progress; the last one is the message."""
    rest = b""
    async for piece in output:
        *lines, rest = (rest + piece).split(b"\n")
        rest = rest[:LINE_BYTES_MAX]
        for line in lines:
            _tell(line, work, said)
    _tell(rest, work, said)


def _tell(line: bytes, work: Work, said: deque[str]) -> None:
    text = line[:LINE_BYTES_MAX].decode(errors="replace").strip()
    if text:
        said.append(text)
        work.progress(text)


async def _end(process: Process) -> None:
    """The whole group where it still runs: a shell's children too."""
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        with anyio.move_on_after(GRACE_SECONDS):
            await process.wait()
        _signal(process, signal.SIGKILL)
    await process.aclose()


def _signal(process: Process, number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return  # nobody of it is left
