"""`systemctl` as a child process: arguments in, exit code and text out, bounded in time and size.

No shell is put between, nothing is asked of a person, and the words do not depend on the machine's
language or clock. It knows no unit.
"""

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from subprocess import DEVNULL, PIPE

import anyio
from anyio.abc import ByteReceiveStream, Process
from msgspec import Struct

from evictd.core.errors import HostError, PeerError

ANSWER_SECONDS = 5.0
"""For whatever only asks or tells; systemd answers in milliseconds unless it is stuck."""
OUTPUT_BYTES_MAX = 4 << 20
"""Of one answer: about 2 KiB for each unit. More is nothing that we have asked for."""
COMPLAINT_CHARACTERS_MAX = 300
"""Of what it says about a failure; it names the unit first and the cause after it."""

KEPT = ("PATH", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS")
SAID = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "SYSTEMD_COLORS": "0",
    "SYSTEMD_PAGER": "",
    # In a mount name space of its own systemctl may take itself for one in a chroot, and then does
    # nothing and calls that a success.
    "SYSTEMD_IGNORE_CHROOT": "1",
}


class Answer(Struct, frozen=True, kw_only=True):
    """What one call came to. `complaint` is one line for people, empty when nothing was said."""

    code: int
    output: str = ""
    complaint: str = ""


class Systemctl:
    """The program and whose systemd it speaks to: the machine's, or that of our own user."""

    def __init__(self, program: str = "systemctl", *, of_user: bool = False) -> None:
        self._program = program
        self._options = ("--user",) if of_user else ()

    async def run(
        self, verb: str, *arguments: str, seconds: float | None = ANSWER_SECONDS
    ) -> Answer:
        """One call. When it is cancelled or takes too long the child is killed.

        What systemd was told to do it does all the same: the child only waits for it.

        Raises `HostError` when there is no such program, `PeerError` when it does not answer in
        time or without end.

        """
        command = (self._program, *self._options, "--no-pager", "--no-ask-password", verb)
        process = await _opened((*command, *arguments))
        try:
            with anyio.fail_after(seconds):
                return await _answer(process)
        except TimeoutError as error:
            raise PeerError(f"systemctl {verb}: no answer within {seconds:g} s") from error
        finally:
            with anyio.CancelScope(shield=True):
                await _ended(process)


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """Of ours only what finds program and bus."""
    return {name: own[name] for name in KEPT if name in own} | SAID


async def _opened(command: tuple[str, ...]) -> Process:
    try:
        return await anyio.open_process(
            command,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env=environment(os.environ),
            start_new_session=True,
        )
    except OSError as error:
        raise HostError(f"{command[0]}: cannot be run: {error.strerror}") from error
    except (ValueError, RuntimeError) as error:  # an argument that none can be; no thread to wait
        raise HostError(f"{command[0]}: cannot be run: {error}") from error


async def _answer(process: Process) -> Answer:
    """Both pipes are read to their end, so that the child never waits for us."""
    texts = {"output": b"", "complaint": b""}

    async def read(name: str, stream: ByteReceiveStream | None) -> None:
        assert stream is not None  # noqa: S101 - it was opened with a pipe
        async for piece in stream:
            texts[name] += piece
            if len(texts[name]) > OUTPUT_BYTES_MAX:
                tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, "output", process.stdout)
        tasks.start_soon(read, "complaint", process.stderr)
        code = await process.wait()
    if tasks.cancel_scope.cancelled_caught:
        raise PeerError(f"systemctl says more than {OUTPUT_BYTES_MAX} bytes")
    return Answer(
        code=code,
        output=texts["output"].decode(errors="replace"),
        complaint=_complaint(texts["complaint"].decode(errors="replace")),
    )


def _complaint(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return "; ".join(line for line in lines if line)[:COMPLAINT_CHARACTERS_MAX]


async def _ended(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):  # it has ended in this moment
            os.killpg(process.pid, signal.SIGKILL)
    await process.aclose()
