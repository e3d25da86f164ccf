"""A Mosquitto of our own: found, configured, started, started again when it dies, ended with us.

It ends with evictd even on SIGKILL, because the kernel sends it SIGTERM when its parent dies.
[mqtt 0 and 3]
"""

import asyncio
import fcntl
import os
import shutil
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from pwd import struct_passwd
from typing import Self

import structlog

from evictd.core.errors import EvictdError, HostError, InputError, PeerError
from evictd.shell.back_off import BackOff
from evictd.shell.blocking import in_thread
from evictd.shell.broker import processes
from evictd.shell.broker.access import Asking
from evictd.shell.broker.folder import Folder, free_port
from evictd.shell.bus.address import Address
from evictd.shell.ending import cancelled

START_SECONDS = 10.0
STOP_SECONDS = 5.0
"""SIGTERM saves the database; then SIGKILL."""
SHORTAGES = (EvictdError, OSError, RuntimeError)
"""What a start may end with on a machine that has no room, no process id or no thread to give."""
TOO_LONG = b"(a line that is too long to be shown)"
LINES_MAX = 20
"""Last lines of the broker's own log, for the error that tells why it did not start."""
PROGRAM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/sbin")
"""Not on everybody's PATH, and where packages put it."""
MISSING = (
    "no broker: {program} is not installed here. Install the package {package} (for example "
    "`apt install {package}`), or run `docker compose up`, which brings one"
)

log = structlog.get_logger(__name__)


class OwnedBroker:
    """An asynchronous context: inside it the broker takes connections on the loopback interface.

    `port` None takes the port of the last time where it is free, else any. `askings`: whose
    workloads are asked on topics of theirs.
    """

    def __init__(
        self, state_folder: Path, port: int | None = None, askings: Sequence[Asking] = ()
    ) -> None:
        self._state_folder = state_folder
        self._folder = Folder(state_folder)
        self._wanted_port = port
        self._askings = tuple(askings)
        self._lock: int | None = None
        self._logins: dict[str, str] = {}
        self._command: tuple[str, ...] = ()
        self._process: Process | None = None
        self._guard: asyncio.Task[None] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._lines: deque[str] = deque(maxlen=LINES_MAX)
        self.port = 0
        self.restarts = 0
        """How often it died and was started again."""

    @property
    def url(self) -> str:
        """Without a login."""
        return f"mqtt://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Of the broker's process."""
        return 0 if self._process is None else self._process.pid

    def address(self, user: str) -> Address:
        """The broker with the login of a role, `all`, `operator`, `viewer` or `health`."""
        return Address(host="127.0.0.1", port=self.port, username=user, password=self._logins[user])

    async def __aenter__(self) -> Self:
        """Start it, and keep it alive from then on.

        Raises `PeerError` where Mosquitto is missing or does not start, `HostError` where the state
        folder cannot be used or another evictd uses it.
        """
        try:
            await in_thread(self._prepare)
            await self._start()
        except BaseException:
            await self._end()
            raise
        self._guard = asyncio.create_task(self._keep_alive())
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancelled(self._guard)
        await self._end()

    def _prepare(self) -> None:
        program, setpriv = _program("mosquitto", "mosquitto"), _program("setpriv", "util-linux")
        self._take_lock()
        record = self._folder.record()
        if record.get("pid"):  # left by a life that could not end it
            processes.end(record["pid"], record.get("started", 0), STOP_SECONDS)
        self.port = self._wanted_port or free_port(record.get("port"))
        self._logins = self._folder.write(self.port, self._askings)
        self._command = (
            setpriv,
            "--pdeathsig=TERM",
            *_identity(self._folder.account()),
            program,
            "-c",
            str(self._folder.configuration),
        )

    def _take_lock(self) -> None:
        """Held until the process ends, however it ends."""
        try:
            self._state_folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._state_folder / "broker-lock", os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise HostError(
                f"another evictd runs with the state folder {self._state_folder}; end it, or give "
                "this one a folder of its own"
            ) from error
        except OSError as error:
            raise HostError(f"{self._state_folder} cannot be used: {error}") from error

    async def _start(self) -> None:
        """From the loop's own thread: the kernel counts that as the parent whose death ends it."""
        self._lines.clear()
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True
        )
        self._reader = asyncio.create_task(self._read(self._process))
        await self._await_listening(self._process)
        await in_thread(self._keep_record)
        log.info("broker started", broker=self.url, pid=self.pid)

    def _keep_record(self) -> None:
        """For the next life, which does without it: the kernel ends the broker with us, too."""
        started = processes.start_time(self.pid) or 0
        try:
            self._folder.keep_record(port=self.port, pid=self.pid, started=started)
        except OSError as error:
            log.warning("the broker's process is not written down", reason=str(error))

    async def _await_listening(self, process: Process) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_SECONDS
        while process.returncode is None and loop.time() < deadline:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                await writer.wait_closed()
                await asyncio.sleep(0.05)  # somebody else's answer would be followed by its end
                if process.returncode is None:
                    return
            await asyncio.sleep(0.02)
        if self._reader is not None:
            await asyncio.wait([self._reader], timeout=1)
        reason = "; ".join(self._lines) or f"it ended with {process.returncode}"
        raise PeerError(f"the broker did not start on port {self.port}: {reason}")

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None  # noqa: S101 - it was asked for as a pipe
        while line := await _line(process.stdout):
            text = line.decode(errors="replace").rstrip()
            self._lines.append(text)
            log.warning("broker says", text=text)

    async def _keep_alive(self) -> None:
        back_off = BackOff()
        loop = asyncio.get_running_loop()
        while self._process is not None:
            began = loop.time()
            code = await self._process.wait()
            self.restarts += 1
            log.error("broker died", code=code, broker=self.url)
            await asyncio.sleep(back_off.pause_seconds(loop.time() - began))
            try:
                await self._start()
            except SHORTAGES as error:
                log.error("broker does not start", reason=str(error))  # noqa: TRY400 - it is tried again

    async def _end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
        if self._reader is not None:
            await asyncio.wait([self._reader])
        self._process = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def owned_address(state_folder: Path, user: str) -> Address:
    """The owned broker of another process of this machine, with a login.

    Blocking; raises `InputError` where none has run with this folder.
    """
    folder = Folder(state_folder)
    port, password = folder.record().get("port"), folder.logins().get(user)
    if port is None or not folder.logins():
        raise InputError(f"no broker of evictd's own has run with {state_folder} yet")
    if password is None:
        raise InputError(f"the broker of {state_folder} has no login {user}")
    return Address(host="127.0.0.1", port=port, username=user, password=password)


async def _line(output: asyncio.StreamReader) -> bytes:
    """The next one, empty at the end. A client's name may make one too long to be kept."""
    try:
        return await output.readline()
    except ValueError:
        return TOO_LONG


def _identity(account: struct_passwd | None) -> tuple[str, ...]:
    if account is None:
        return ()
    return (f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups")


def _program(name: str, package: str) -> str:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *PROGRAM_FOLDERS))
    found = shutil.which(name, path=path)
    if found is None:
        raise PeerError(MISSING.format(program=name, package=package))
    return found
