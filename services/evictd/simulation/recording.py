"""What travelled on a bus, line by line in a file: enough to decide all of it again.

The first line tells what decides (the configuration without logins), each further one a topic, its
payload and when it was received, on the wall clock and on the boot clock. [design, law 4]
"""

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from evictd.core.errors import InputError
from evictd.shell.bus import Delivery, Listing
from evictd.shell.causes import UNREADABLE
from evictd.shell.clock import Clock
from evictd_schemas import topics
from evictd_schemas.common import Timestamp
from evictd_schemas.configuration import Configuration

T = TypeVar("T")

FORMAT = 1
"""A change of the lines is a change of this number."""
CLEARED = Raw(b"null")
"""Stands for the empty payload."""
WAITING_MAX = 100_000
"""Lines that wait to be written; beyond it the newest are dropped and counted."""
SECRETS = ("broker", "broker_user", "broker_password", "state_folder")
"""What is nobody's business and decides nothing."""


class Head(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The first line."""

    recording: int
    version: str
    time: Timestamp
    configuration: Configuration = Configuration()


class Line(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One message. `payload` null: the topic was cleared; `base64`: it was no JSON object."""

    time: Timestamp
    boot_seconds: float
    topic: str
    payload: Raw = CLEARED
    base64: str | None = None
    listed: bool = False

    @property
    def content(self) -> bytes:
        """The payload as it travelled."""
        if self.base64 is not None:
            return b64decode(self.base64)
        return b"" if self.payload == CLEARED else bytes(self.payload)


class Recording(Struct, frozen=True, kw_only=True):
    """A whole file."""

    head: Head
    lines: tuple[Line, ...]


class Recorder:
    """A `Listener` that turns deliveries into lines. It does not write them."""

    def __init__(self, clock: Clock, node: str = "+") -> None:
        self._clock = clock
        self._node = node
        self.waiting: deque[Line] = deque()
        self.dropped = 0
        self.complete = False
        """What was there before has been told."""

    @property
    def filters(self) -> Sequence[str]:
        """Everything of the node, or of every node."""
        return (f"{topics.ROOT}/{self._node}/#",)

    def deliver(self, delivery: Delivery) -> None:
        """Take one message."""
        if len(self.waiting) >= WAITING_MAX:
            self.dropped += 1
            return
        now = self._clock.now()
        self.waiting.append(line_of(delivery, now.utc, now.boot_seconds))

    def listed(self, listing: Listing) -> None:  # noqa: ARG002 - whatever it proves
        """The list is complete."""
        self.complete = True

    def take(self) -> bytes:
        """All that waits, as text of the file."""
        lines = [self.waiting.popleft() for _ in range(len(self.waiting))]
        return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def head_of(configuration: Configuration, version: str, time: datetime) -> bytes:
    """The first line as text of the file."""
    public = msgspec.structs.replace(configuration, **dict.fromkeys(SECRETS))
    head = Head(recording=FORMAT, version=version, time=time, configuration=public)
    return msgspec.json.encode(head) + b"\n"


def line_of(delivery: Delivery, time: datetime, boot_seconds: float) -> Line:
    """One delivery, received then."""
    line = Line(time=time, boot_seconds=boot_seconds, topic=delivery.topic, listed=delivery.listed)
    if not delivery.payload:
        return line
    try:
        is_object = isinstance(msgspec.json.decode(delivery.payload), dict)
    except UNREADABLE:
        is_object = False
    if not is_object:
        return msgspec.structs.replace(line, base64=b64encode(delivery.payload).decode())
    one_line = b" ".join(delivery.payload.splitlines())
    return msgspec.structs.replace(line, payload=Raw(one_line))


def read(file: Path) -> Recording:
    """Raises `InputError` with the line that is none."""
    try:
        with file.open("rb") as stream:
            return recording_of(stream, str(file))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error


def recording_of(lines: Iterable[bytes], source: str) -> Recording:
    """The same of lines at hand."""
    numbered = _numbered(lines)
    number, first = next(numbered, (1, b""))
    head = _decoded(first, Head, source, number)
    if head.recording != FORMAT:
        raise InputError(f"{source}:1: format {head.recording}; this program reads {FORMAT}")
    return Recording(
        head=head,
        lines=tuple(_decoded(text, Line, source, number) for number, text in numbered),
    )


def _numbered(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """A last line that was cut by a crash has no end, and is left out."""
    for number, text in enumerate(lines, start=1):
        if text.endswith(b"\n") and text.strip():
            yield number, text


def _decoded(text: bytes, kind: type[T], source: str, number: int) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except UNREADABLE as error:
        what = "recording" if kind is Head else "line of a recording"
        raise InputError(f"{source}:{number}: is no {what}: {error}") from error
