"""What evictd needs of whatever runs workloads: list them, hear of changes, stop and start one.

The collector lists, the responder lists, stops and starts; neither knows which runtime it speaks
to. A runtime decides nothing about pressure: it only refuses, last, what must never be stopped.
[design, law 9]
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from enum import StrEnum
from typing import Protocol, TypeAlias, runtime_checkable
from uuid import UUID, uuid5

from msgspec import Struct

from evictd.core.duty.outcomes import StartOutcome, StopOutcome
from evictd_schemas import MemoryStatistics, Pod, PodReference, StepOutcome

LIVES = UUID("6f1c1f0e-4a0b-5d0e-9d53-0d0c7a2f6b10")
"""The name space of the uids that runtimes make. Changing it makes every workload a stranger."""


class Whereabouts(Struct, frozen=True, kw_only=True):
    """Where a workload can be measured, as absolute directories and files of this machine.

    On a v2 machine the three cgroups are one directory; on hybrid layouts `unified` is the v2 tree
    with PSI and `cgroup.kill` beside the v1 hierarchies. None: not there or not known.
    """

    memory_cgroup: str | None = None
    pids_cgroup: str | None = None
    unified_cgroup: str | None = None
    main_process_id: int | None = None
    writable_layer: str | None = None
    log_file: str | None = None


class Workload(Struct, frozen=True, kw_only=True):
    """One life of one workload: the wire's `Pod` with all the runtime knows, without statistics."""

    pod: Pod
    whereabouts: Whereabouts = Whereabouts()

    @property
    def reference(self) -> PodReference:
        """Its name and this life's uid."""
        return PodReference(namespace=self.pod.namespace, name=self.pod.name, uid=self.pod.uid)


class Listing(Struct, frozen=True, kw_only=True):
    """What runs now. `complete` False: something could not be read, so absence means nothing.

    `problems` are sentences for people: unreadable workloads, unknown labels, a missing controller.
    """

    workloads: tuple[Workload, ...] = ()
    complete: bool = True
    problems: tuple[str, ...] = ()


class ChangeKind(StrEnum):
    """What a hint is about. Several of one second may come in any order."""

    STARTED = "started"
    ENDED = "ended"
    OUT_OF_MEMORY = "out of memory"
    LOST = "lost"
    """The stream was interrupted: anything may have changed; list again."""


class Change(Struct, frozen=True, kw_only=True):
    """A hint that listing again is worth while; nothing may be decided on it alone."""

    kind: ChangeKind
    runtime_id: str = ""


class Runtime(Protocol):
    """One source of workloads. All methods may be called concurrently from one event loop."""

    @property
    def name(self) -> str:
        """What `Pod.runtime` says: `docker`, `cgroup`."""
        ...

    async def list(self) -> Listing:
        """Everything that runs, in the order of namespace and name.

        Never raises for a workload that vanishes meanwhile.

        Raises `PeerError` when the runtime cannot be reached, `HostError` when the machine refuses.

        """
        ...

    def watch(self) -> AsyncIterator[Change]:
        """Hints until closed; reconnects by itself."""
        ...

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        """End this life and confirm it: its own stop signal, then SIGKILL after the grace.

        None means the workload's own grace. Identity and the reasons never to stop are looked at
        again immediately before the first signal. A second call for the same workload while the
        first runs shortens the wait to the smaller grace; both calls then tell the same end. Never
        raises for what a runtime can answer: every end is a value.
        """
        ...

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        """Bring back what was stopped, as it was.

        The same `runtime_id`, which then lives another life under another uid.

        What runs under that name already is left alone. Never raises for what a runtime can answer.

        """
        ...

    async def close(self) -> None:
        """Give back connections; the runtime is not used afterwards."""
        ...


GoOn: TypeAlias = Callable[[], Awaitable[bool]]
"""Asked before each piece of a step: False when it is enough."""


@runtime_checkable
class Reclaimer(Protocol):
    """What a runtime may be able to do besides: give space back without touching any workload.

    `stopped` are the runtime ids of what is down because of evictd, None where that is not known.
    """

    @property
    def reclaim_steps(self) -> frozenset[str]:
        """The steps it knows and its owner has not switched off, by the names that orders use."""
        ...

    async def reclaim(
        self, step: str, *, stopped: Collection[str] | None, go_on: GoOn
    ) -> StepOutcome:
        """Take one of its steps. A failure is in the outcome and never raised.

        The outcome has the runtime's own figures; what came back is measured by whoever asks.
        """
        ...

    async def rehearse(self, step: str, *, stopped: Collection[str] | None) -> StepOutcome:
        """What it would take now, in its own figures; takes nothing, and never raises."""
        ...

    async def attend(self) -> None:
        """Keep up what its steps have to know beforehand, for as long as this is awaited."""
        ...


@runtime_checkable
class Keeper(Protocol):
    """What a runtime may be able to do besides: tell what can still be started."""

    async def keeps(self, namespace: str, name: str, runtime_id: str) -> bool | None:
        """Whether `start` would find it, or something that runs in its place.

        None: it is none of this runtime's, or the runtime cannot tell now. Never raises.
        """
        ...


class Bereft(Struct, frozen=True, kw_only=True):
    """Who has lost its network: those that are to be restarted, and sentences about the others."""

    pods: tuple[Pod, ...] = ()
    problems: tuple[str, ...] = ()


@runtime_checkable
class Lender(Protocol):
    """What a runtime may be able to do besides: let one workload use another one's network."""

    async def bereft(self, namespace: str, name: str, runtime_id: str) -> Bereft:
        """Who runs in its network, and has since before its present life began. Never raises."""
        ...


@runtime_checkable
class Meter(Protocol):
    """What a runtime may be able to tell besides: usage that cannot be measured on this machine."""

    async def usage(self, pods: Sequence[PodReference]) -> dict[str, MemoryStatistics]:
        """Of these lives, by uid, without those of which it knows nothing; takes seconds."""
        ...


def life_uid(runtime_id: str, start: str) -> str:
    """The uid of one life.

    A UUID 5 of the runtime's id and the start as the runtime writes it, so that a restarted
    workload is another pod. [contract 1]
    """
    return str(uuid5(LIVES, f"{runtime_id}|{start}"))
