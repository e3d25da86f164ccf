"""One source of a collector.

At most one read at a time, with its own deadline, duration and success.

A look waits a moment for its probes and goes on without those that are slow; what they read is
taken by a later look. A read that hangs in the kernel cannot be cancelled, so that it is left alone
and not started again.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from evictd.core.errors import EvictdError
from evictd.core.moments import Now
from evictd.shell.clock import Clock

T = TypeVar("T")

DEADLINE_SECONDS = 5.0
"""A source that has not answered by then has failed: local files and sockets take milliseconds."""


def nobody_waits(_name: str) -> None:
    """For a source that is never urgent: what it says late is taken by the next look."""


class Probe(Generic[T]):
    """What a source said last, and how it is. `answered` is called after a read that was late."""

    def __init__(
        self,
        name: str,
        read: Callable[[], Awaitable[T]],
        clock: Clock,
        answered: Callable[[str], None] = nobody_waits,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        self.name = name
        self.value: T | None = None
        self.taken: Now | None = None
        """When the read that gave `value` was begun."""
        self.failure: str | None = None
        """Why there is no value; None while the source answers."""
        self.duration_seconds = 0.0
        self.failures = 0
        self.unseen = False
        """`value` or `failure` is newer than the last look that used it."""
        self._read = read
        self._clock = clock
        self._answered = answered
        self._deadline_seconds = deadline_seconds
        self._begun: Now | None = None
        self._late = False
        self._done = anyio.Event()

    @property
    def waiting_seconds(self) -> float:
        """How long the read that runs now has been running; 0 where none runs."""
        begun = self._begun
        return 0.0 if begun is None else self._clock.now().boot_seconds - begun.boot_seconds

    def start(self, tasks: TaskGroup) -> None:
        """Begin to read, unless a read still runs or an answer waits to be used."""
        if self._begun is None and not self.unseen:
            self._begun = self._clock.now()
            self._done = anyio.Event()
            self._late = False
            tasks.start_soon(self._run, self._begun)

    async def settled(self) -> None:
        """Wait for the read that this look began; one that was already late is not waited for."""
        if self._begun is not None and not self._late:
            await self._done.wait()

    def use(self) -> bool:
        """A look takes what is there. Returns whether it is an answer that no look had before.

        A read that still runs is late from now on; after the deadline the source has failed.
        """
        if self._begun is not None:
            self._late = True
            if self.waiting_seconds > self._deadline_seconds and self.failure is None:
                self._fail(f"no answer within {self._deadline_seconds:g} s")
        fresh, self.unseen = self.unseen, False
        return fresh and self.failure is None

    async def _run(self, begun: Now) -> None:
        try:
            value = await self._read()
        except (EvictdError, OSError) as error:
            self._fail(str(error) or type(error).__name__)
        else:
            self.value, self.taken, self.failure = value, begun, None
        self.duration_seconds = self._clock.now().boot_seconds - begun.boot_seconds
        self._begun = None
        self.unseen = True
        self._done.set()
        if self._late:
            self._answered(self.name)

    def _fail(self, reason: str) -> None:
        self.failure = reason
        self.value = None
        self.failures += 1
