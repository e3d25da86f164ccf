"""One Eviction as the built-in responder sees it: its state, what it is told, what it asks for."""

from enum import StrEnum
from math import ceil
from typing import TypeAlias

from msgspec import Struct

from evictd.core.duty.budgets import Neighbours
from evictd.core.duty.outcomes import StartOutcome, StopOutcome
from evictd.core.effects import BusEffect, Stop
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER, State
from evictd_schemas import Eviction, Pod, PodReference, Report


class Phase(StrEnum):
    """Where the work on one Eviction stands."""

    IDLE = "idle"
    """Nothing to do, or not ours."""
    LOOKING = "looking"
    """Waiting to hear whether a runtime of this machine has listed the target."""
    STOPPING = "stopping"
    """Past the point of no return: a stop runs, and each step says so again."""
    STARTING = "starting"
    """It has gone and is started again at once, as its owner wants it; each step says so again."""
    PAUSING = "pausing"
    """The last attempt did not end it, or no runtime lists it; tried again after a pause."""
    DONE = "done"
    """Completion is reported."""


class Duty(Struct, frozen=True, kw_only=True):
    """The state of one key, `namespace/name` of an Eviction. Boot times are the responder's own.

    Without an Eviction, but with a pod, it is about one that is restarted since it has lost its
    network.

    `pod` is what the runtime said of the target when it was last listed; `grace_seconds` is that of
    the running stop; `signalled`: an earlier attempt may have reached it; `withheld`: the last look
    found that a budget keeps it; `held`: that a hold does, as long as it is soft; `dismissed`: the
    Eviction was collected while the stop ran; `found_gone`: before any stop of ours the last look
    found nobody; `left_boot_seconds`: since when its end is left to
    its webhook.
    """

    eviction: Eviction | None = None
    phase: Phase = Phase.IDLE
    pod: Pod | None = None
    grace_seconds: int | None = None
    attempts: int = 0
    began_boot_seconds: float = 0.0
    next_boot_seconds: float = 0.0
    heartbeat_boot_seconds: float = 0.0
    signalled: bool = False
    withheld: bool = False
    held: bool = False
    found_gone: bool = False
    left_boot_seconds: float | None = None
    report: Report | None = None
    dismissed: bool = False

    @property
    def target(self) -> PodReference | None:
        """The one life that is to end; None when the Eviction names no pod."""
        if self.eviction is None or (pod := self.eviction.spec.target.pod) is None:
            return None
        return PodReference(namespace=self.eviction.metadata.namespace, name=pod.name, uid=pod.uid)

    @property
    def active(self) -> bool:
        """Whether it is our turn and we have not yet been recorded as complete."""
        if self.eviction is None or self.dismissed:
            return False
        status = self.eviction.status
        ours = any(
            entry.name == DEFAULT_RESPONDER and entry.state == State.ACTIVE
            for entry in status.target_responders
        )
        recorded = any(
            entry.name == DEFAULT_RESPONDER and entry.completion_time is not None
            for entry in status.responders
        )
        return ours and not recorded

    @property
    def is_rejoining(self) -> bool:
        """Whether it is about one that has lost its network."""
        return self.eviction is None and self.pod is not None

    def rest_seconds(self, boot_seconds: float) -> int | None:
        """What is left of the running stop's grace, so that a restart does not give it twice.

        None: the workload's own.
        """
        if self.grace_seconds is None:
            return None
        over_seconds = boot_seconds - self.began_boot_seconds
        # A stop that seems to begin later was begun before the machine was started anew.
        return ceil(max(0.0, self.grace_seconds - max(0.0, over_seconds)))

    @property
    def going(self) -> bool:
        """Whether its workload is being stopped, or was: it is nobody's healthy neighbour."""
        begun = self.signalled or self.phase is Phase.STOPPING
        return self.ended or begun or self.is_rejoining

    @property
    def doubtful(self) -> bool:
        """Whether a stop that failed may still come true, while it is not our turn to try again."""
        runs = self.phase in (Phase.STOPPING, Phase.STARTING)
        over = self.active or self.ended or self.eviction is None
        return self.signalled and not runs and not over

    @property
    def ended(self) -> bool:
        """Whether this life of its workload is known to be over."""
        over = self.phase in (Phase.DONE, Phase.STARTING)
        return over and self.report is not None and self.report.target_gone


class Assigned(Struct, frozen=True, kw_only=True, tag=True):
    """The newest Eviction of the key, None when it is gone."""

    eviction: Eviction | None


class Listed(Struct, frozen=True, kw_only=True, tag=True):
    """The answer to `Look` for a uid.

    The pod as a runtime of this machine lists it, None when none does; `neighbours` where
    `everyone` was asked for; `held`: why a hold of this machine keeps it.
    """

    uid: str
    pod: Pod | None
    neighbours: Neighbours | None = None
    held: str | None = None


class StopEnded(Struct, frozen=True, kw_only=True, tag=True):
    """A stop of this life is over, one way or another."""

    uid: str
    outcome: StopOutcome


class StartEnded(Struct, frozen=True, kw_only=True, tag=True):
    """A start after the end of this life is over, one way or another."""

    uid: str
    outcome: StartOutcome


class Rejoin(Struct, frozen=True, kw_only=True, tag=True):
    """It shares the network of one that lives anew, and has lost it: it is to be restarted."""

    pod: Pod


class Start(Struct, frozen=True, kw_only=True, tag=True):
    """Begin another life of what has just gone; the outcome comes back as `StartEnded`."""

    pod: PodReference
    runtime_id: str


class Look(Struct, frozen=True, kw_only=True, tag=True):
    """Ask the runtimes whether they list this life; the answer comes back as `Listed`.

    `everyone`: a budget may have to be kept, so each runtime is waited for and all workloads are
    told.
    """

    pod: PodReference
    everyone: bool = False


Given: TypeAlias = Assigned | Listed | StopEnded | StartEnded | Rejoin
Effect: TypeAlias = BusEffect | Stop | Start | Look
