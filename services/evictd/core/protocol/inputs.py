"""What the controller's step is given, and the rules it is given with. [contract 3]"""

from typing import TypeAlias

from msgspec import Struct

from evictd.core.effects import Tick
from evictd.core.protocol.policy import EVICTD, Policy
from evictd.core.rules import Mode
from evictd_schemas import (
    Eviction,
    EvictionRequest,
    Moment,
    Pod,
    Registration,
    Report,
    RequestStatus,
)


class ControllerRules(Struct, frozen=True, kw_only=True):
    """Everything that a decision about one target depends on besides its own Case.

    `next_number`: of the next Eviction of this pod name in its namespace, over all targets.
    `lost_boot_seconds`: when those registrations that tell of a loss first did.
    `silence_from_boot_seconds`: nobody is interrupted for silence earlier; None while the list of
    retained messages is not complete. `boot_id`: the boot that `Now.boot_seconds` counts from.
    `era`: between two steps of one era boot time counts on, so that a jump of the wall clock shows.
    """

    node: str
    mode: Mode = Mode.OBSERVE
    policy: Policy = EVICTD
    hard_requesters: tuple[str, ...] = ()
    next_number: int = 1
    registrations: dict[str, Registration] = {}
    lost_boot_seconds: dict[str, float] = {}
    boot_id: str | None = None
    era: str = ""
    silence_from_boot_seconds: float | None = 0.0


class Sighted(Struct, frozen=True, kw_only=True, tag=True):
    """The pod that an observation lists under the target's name, of whatever uid.

    `live`: it did not come with the list on subscribing. `complete`: it proves that what it does
    not list is gone.
    """

    pod: Pod | None
    moment: Moment
    live: bool
    complete: bool


class Requested(Struct, frozen=True, kw_only=True, tag=True):
    """The newest request of one topic, with what is held of its target.

    `status`: where the journal was lost, what this controller had published.
    """

    requester: str
    namespace: str
    name: str
    request: EvictionRequest
    sighted: Sighted | None = None
    status: RequestStatus | None = None


class Withdrawn(Struct, frozen=True, kw_only=True, tag=True):
    """The request's topic is empty: the object is gone."""

    requester: str
    namespace: str
    name: str


class Unconfirmed(Struct, frozen=True, kw_only=True, tag=True):
    """A list that is not authoritative did not name the request.

    It stands until its owner speaks, and no later list ends it. [design, law 5]
    """

    requester: str
    namespace: str
    name: str


class Reported(Struct, frozen=True, kw_only=True, tag=True):
    """What a responder says of its work. `listed`: it came with the list on subscribing."""

    namespace: str
    name: str
    responder: str
    report: Report
    listed: bool = False


class Registered(Struct, frozen=True, kw_only=True, tag=True):
    """A responder's registration changed; None: it is gone."""

    responder: str
    registration: Registration | None


class Forgotten(Struct, frozen=True, kw_only=True, tag=True):
    """A foreign node was silent for so long that nothing is held of it any more. [contract 2]"""


class Recalled(Struct, frozen=True, kw_only=True, tag=True):
    """Evictions that this controller had published and its journal does not know.

    Together with all requests for their target, because an Eviction without requests is canceled
    and a request without an Eviction gets one.
    """

    evictions: tuple[Eviction, ...]
    requests: tuple[Requested, ...] = ()
    sighted: Sighted | None = None


Given: TypeAlias = (
    Requested
    | Withdrawn
    | Unconfirmed
    | Sighted
    | Reported
    | Registered
    | Recalled
    | Forgotten
    | Tick
)
