"""What a responder's turn is made of: its rules, its state, what it is told and what it asks for.

It decides nothing, `turn` does.
"""

from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from evictd.core.duty.state import Assigned
from evictd.core.effects import BusEffect
from evictd_schemas import Eviction, Report


class Ending(StrEnum):
    """Why work is ended before it is done."""

    CANCELED = "canceled"
    """Nobody wants the workload to leave any more: stop, and undo what was done."""
    INTERRUPTED = "interrupted"
    """The turn is over: stop everything, somebody else may be at work."""
    GONE = "gone"
    """The Eviction is no longer there."""
    OUT_OF_CONTACT = "out of contact"
    """The broker has not been heard for so long that the turn may be over without our knowing."""
    STOPPING = "stopping"
    """This process ends; the next one is given the work again."""


class Phase(StrEnum):
    """Where the work on one Eviction stands."""

    IDLE = "idle"
    WORKING = "working"
    LEAVING = "leaving"
    """Ended by us, and not yet back."""
    DONE = "done"
    """Completion is reported; the work never runs again for this Eviction."""


class TurnRules(Struct, frozen=True, kw_only=True):
    """Who the responder is, and whether it hears the bus now.

    `pause_seconds`: signs of life are reported no oftener.
    """

    node: str
    name: str
    supports_dry_run: bool = False
    pause_seconds: float = 20.0
    in_contact: bool = True


class Turn(Struct, frozen=True, kw_only=True):
    """The state of one key, `namespace/name` of an Eviction. Boot times are the responder's own.

    `report` is ours for this Eviction, the part that is `unsaid` included; `undone`: what was begun
    has been undone, or is being; `following` another Eviction of the same name, which waits until
    the work on this one has ended.
    """

    eviction: Eviction | None = None
    phase: Phase = Phase.IDLE
    report: Report | None = None
    unsaid: bool = False
    undone: bool = False
    said_boot_seconds: float = 0.0
    gone_boot_seconds: float | None = None
    following: Eviction | None = None


class Recalled(Struct, frozen=True, kw_only=True, tag=True):
    """What an earlier life of this responder had reported under this name."""

    report: Report


class Progressed(Struct, frozen=True, kw_only=True, tag=True):
    """The work got on. `uid` is the Eviction's."""

    uid: str
    message: str
    expected_completion_time: datetime | None = None


class Committing(Struct, frozen=True, kw_only=True, tag=True):
    """From here on the work cannot be taken back, if the controller agrees."""

    uid: str


class Left(Struct, frozen=True, kw_only=True, tag=True):
    """The work is over. `message` None: what it said last stands."""

    uid: str
    message: str | None = None


class Begin(Struct, frozen=True, kw_only=True, tag=True):
    """Start the work; its end comes back as `Left`. `resumed`: an earlier attempt was cut short."""

    eviction: Eviction
    resumed: bool


class Undo(Struct, frozen=True, kw_only=True, tag=True):
    """Undo what an earlier attempt has begun: it was cut short, and then canceled without anybody
    at work. The end comes back as `Left`."""

    eviction: Eviction


class Confirm(Struct, frozen=True, kw_only=True, tag=True):
    """The controller has recorded the point of no return: nothing ends the work any more."""

    uid: str


class End(Struct, frozen=True, kw_only=True, tag=True):
    """Cancel the work."""

    uid: str
    ending: Ending


Given: TypeAlias = Assigned | Recalled | Progressed | Committing | Left
Effect: TypeAlias = BusEffect | Begin | Undo | Confirm | End
