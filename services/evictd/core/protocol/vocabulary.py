"""The words of the protocol, as they travel. [eviction-request-api 2.6] [contract 3]"""

from enum import StrEnum

DEFAULT_RESPONDER = "imperative-eviction.k8s.io/evictor"
"""The responder that every chain ends with."""
DEFAULT_PRIORITY = 100
NODE_PRESSURE = "evictd.io/node-pressure"
"""The evictor as a requester, for a shortage of the node."""
LOCAL_STORAGE = "evictd.io/local-storage"
"""The evictor as a requester, for a limit of the workload's own."""
PRESSURE_REQUESTERS = (NODE_PRESSURE, LOCAL_STORAGE)


class PresenceStatus(StrEnum):
    """The status of a worker or a registration; `LOST` is what a last will says."""

    INIT = "init"
    READY = "ready"
    DISCONNECTED = "disconnected"
    LOST = "lost"


THERE = frozenset({PresenceStatus.INIT, PresenceStatus.READY})
"""Who has such a status can be asked."""


class Intent(StrEnum):
    """What a requester wants now."""

    EVICTION = "Eviction"
    WITHDRAWN = "Withdrawn"


class RequestType(StrEnum):
    """How long a request waits for custom responders; in the order of strictness."""

    SOFT = "Soft"
    SOFT_WITH_DEADLINE = "SoftWithDeadline"
    HARD = "Hard"

    @property
    def strictness(self) -> int:
        """A type may only be exchanged for a stricter one."""
        return tuple(RequestType).index(self)


class SetbackCause(StrEnum):
    """Why the default responder has not ended its target yet."""

    BUDGET = "Budget"
    REFUSED = "Refused"
    """Its runtime, or what it is, does not let it be stopped."""
    FAILED = "Failed"


class State(StrEnum):
    """Where one responder of the chain stands."""

    INACTIVE = "Inactive"
    ACTIVE = "Active"
    INTERRUPTED = "Interrupted"
    CANCELED = "Canceled"
    COMPLETED = "Completed"


FINAL_STATES = frozenset({State.INTERRUPTED, State.CANCELED, State.COMPLETED})


class Role(StrEnum):
    """What a participant is to an Eviction, as the value of its label."""

    REQUESTER = "requester"
    RESPONDER = "responder"
    BOTH = "requester-responder"


class ConditionType(StrEnum):
    """The two conditions that the controller owns, in the order in which it writes them."""

    FAILED = "Failed"
    TARGET_EVICTED = "TargetEvicted"


class Status(StrEnum):
    """The status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Cause(StrEnum):
    """Reasons of the two conditions; `DRY_RUN` is evictd's own."""

    AWAITING = "AwaitingEviction"
    INVALID = "EvictionInvalid"
    CANCELED = "CanceledDueToNoRequesters"
    NO_FURTHER_RESPONDER = "NoFurtherResponder"
    SUCCEEDED = "Succeeded"
    POD_DELETED = "PodDeleted"
    POD_TERMINAL = "PodTerminal"
    EVICTION_FAILED = "EvictionFailed"
    DRY_RUN = "DryRun"


class Interruption(StrEnum):
    """Why an Active entry was interrupted before upstream would have done so, or at a deadline."""

    HARD = "Hard"
    START_DEADLINE = "StartDeadline"
    HEARTBEAT_DEADLINE = "HeartbeatDeadline"
    RESPONDER_LOST = "ResponderLost"
