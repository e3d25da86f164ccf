"""What the author of a responder writes, and what the work is given.

    async def drain(work: Work) -> str:
        for step in range(1, 4):
            await save_a_part(work.pod)
            work.progress(f"saved {step} of 3 parts")
        return "everything is saved"

    run(Responder(name="acme.io/drain", respond=drain), "mqtt://127.0.0.1:1883", "edge-7")

It knows nothing of the bus: turns, reports and connections are kept elsewhere.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from evictd.core.admission.messages import registration_problems
from evictd.core.errors import InputError
from evictd.core.turn_state import Ending
from evictd.shell.bus.foreign import Foreign, Heard, filter_problem
from evictd_schemas import Eviction, LabelSelector, PodReference, Reason, Registration

HEARTBEAT_SECONDS = 180.0
"""How often work is expected to show that it gets on. [eviction-request-api 8]"""
TIMEOUT_SECONDS = 600.0
"""For one turn of a command, a URL or a question: half of what a silent responder has at all, so
that the end is ours to tell."""
PAUSE_SECONDS = 20.0
"""Signs of life are reported no oftener, so that a busy responder floods nobody.
[eviction-request-api 8]"""
NAMED_ONLY: Mapping[str, str] = {"evictd.io/named-only": "true"}
"""A selector that no workload meets: the responder works where a workload names it."""

Expected: TypeAlias = datetime | timedelta | None
"""When work is expected to be complete: a moment with a time zone, or how long from now."""


class Work:
    """One turn of a responder: one Eviction, while our entry in its chain is Active."""

    def __init__(
        self,
        node: str,
        eviction: Eviction,
        *,
        resumed: bool,
        tell: Callable[[str, Expected], None],
        commit: Callable[[], Awaitable[None]],
        foreign: Foreign,
    ) -> None:
        self.node = node
        self.eviction = eviction
        """As it was when the turn began, or newer."""
        self.resumed = resumed
        """An earlier attempt was cut short: by a crash, a restart or a lost connection."""
        self.ending: Ending | None = None
        """Why the work is being ended; None while it may go on."""
        self._tell = tell
        self._commit = commit
        self._foreign = foreign

    @property
    def pod(self) -> PodReference:
        """The one life that is to leave: check its uid before you touch anything."""
        target = self.eviction.spec.target.pod
        assert target is not None  # noqa: S101 - an Eviction without a pod begins no work
        namespace = self.eviction.metadata.namespace
        return PodReference(namespace=namespace, name=target.name, uid=target.uid)

    @property
    def reason(self) -> Reason:
        """Why it is to leave, as its requester says."""
        return self.eviction.status.reason or Reason()

    @property
    def dry_run(self) -> bool:
        """Say what you would do, and do nothing."""
        return self.eviction.status.dry_run

    @property
    def deadline(self) -> datetime | None:
        """When everything becomes Hard, and this turn is over; None where nobody set one."""
        return self.eviction.status.deadline_time

    def progress(self, message: str, *, expected_completion: Expected = None) -> None:
        """Say that the work got on.

        Heartbeats are sent for this, and for nothing else: work that hangs is handed to the next
        responder at its deadline.

        `expected_completion`: a moment with a time zone, or how long from now; None: what was said
        before stands. Raises `ValueError` for a moment without a zone.

        """
        if isinstance(expected_completion, datetime) and expected_completion.tzinfo is None:
            raise ValueError("expected_completion needs a time zone")
        self._tell(message, expected_completion)

    async def point_of_no_return(self) -> None:
        """Wait until the controller has recorded that this cannot be taken back.

        From then on no withdrawal, deadline or lost connection cancels the work. Until then it can
        be canceled.
        """
        await self._commit()

    def say(self, topic: str, payload: bytes) -> None:
        """Publish on a topic of others, with QoS 1, not retained.

        Raises `ValueError` for a topic below `evictd/`, which have their writers.
        """
        self._foreign.say(topic, payload)

    def hear(self, topic: str) -> AbstractContextManager[Heard]:
        """What others say on a topic that the responder `hears`, from now to the end of the block.

        Nothing that was retained before comes, and None where the broker was away in between.
        """
        return self._foreign.hear(topic)


Respond: TypeAlias = Callable[[Work], Awaitable[str | None]]
"""The work: it ends by itself, which completes the turn, with a last message or None. Cancellation
ends it at its next `await`; then `work.ending` tells why. An exception completes the turn too, as
failed, so that the next responder takes over."""


async def nothing(_work: Work) -> None:
    """What is undone where nothing has to be."""


@dataclass(frozen=True, kw_only=True)
class Responder:
    """A name in the chain, the work, and how it registers.

    Raises `InputError` for what no controller would take. [contract 3, Registration]

    `restore` runs after canceled work has ended, before any other work for the same workload;
    nothing interrupts it. `selector`: labels of the workloads for which it works besides those that
    name it; `{}` means all, None those only that name it. `namespaces`: only there, () anywhere.
    `priority`: greater comes first, None the default of registered responders.
    `heartbeat_seconds`: how often the work shows that it gets on, as readers may expect.
    `supports_dry_run`: it is asked in dry runs as well, with `work.dry_run`. `hears`: filters of
    topics of others on which its work may listen.

    """

    name: str
    respond: Respond
    restore: Callable[[Work], Awaitable[None]] = nothing
    priority: int | None = None
    selector: Mapping[str, str] | None = None
    namespaces: tuple[str, ...] = field(default_factory=tuple)
    start_deadline_seconds: float | None = None
    heartbeat_deadline_seconds: float | None = None
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    supports_dry_run: bool = False
    hears: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problems = tuple(registration_problems(self.name, self.registration("ready")))
        if problems:
            told = "; ".join(f"{problem.field}: {problem.reason}" for problem in problems)
            raise InputError(f"responder {self.name!r}: {told}")
        for wanted in self.hears:
            if (problem := filter_problem(wanted)) is not None:
                raise InputError(f"responder {self.name!r}: hears {wanted!r}: {problem}")

    @property
    def pause_seconds(self) -> float:
        """The least time between two signs of life."""
        return min(PAUSE_SECONDS, self.heartbeat_seconds)

    def registration(self, status: str, *, epoch: int = 0, connection: int = 0) -> Registration:
        """What it says of itself on the bus."""
        labels = NAMED_ONLY if self.selector is None else self.selector
        return Registration(
            status=status,
            epoch=epoch,
            connection=connection,
            priority=self.priority,
            selector=LabelSelector(match_labels=dict(labels)),
            namespaces=self.namespaces,
            start_deadline_seconds=self.start_deadline_seconds,
            heartbeat_deadline_seconds=self.heartbeat_deadline_seconds,
            heartbeat_seconds=self.heartbeat_seconds,
            supports_dry_run=self.supports_dry_run,
        )
