"""Parts that several messages share: moments, references, conditions.

What travels is defined in this package and nowhere else; `evictd.core` takes and returns these
types. A Struct checks types only. Every rule about values is in `evictd.core.admission`, so that a
bad message gets all its field errors at once.
"""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

Timestamp = Annotated[datetime, Meta(tz=True)]
"""RFC 3339 with a time zone; evictd writes UTC. [contract 1]"""

_WITHIN = r"/+#\s\u0000-\u001f\u007f-\u009f"

Segment = Annotated[
    str,
    Meta(
        extra_json_schema={
            "minLength": 1,
            "maxLength": 253,
            "pattern": f"^[^${_WITHIN}][^{_WITHIN}]*$",
        }
    ),
]
"""A name that is a level of a topic. The limits are checked by `core`, not here. [contract 1]"""

Uid = Annotated[
    str,
    Meta(
        extra_json_schema={
            "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
        }
    ),
]
"""One life of a workload: a lower-case UUID. Checked by `core`, not here. [contract 1]"""


def words(*known: str) -> Meta:
    """The words that there are, for readers of the schema. Checked by `core`, not here."""
    return Meta(extra_json_schema={"enum": list(known)})


Presence = Annotated[str, words("init", "ready", "disconnected", "lost")]
"""The status of a worker or a registration. [contract 3, Registration, WorkerStatus]"""

Number = int | float
"""`available` and `capacity` are numbers; bytes and counts are integers. [contract 1]"""


class Moment(Struct, frozen=True, kw_only=True, rename="camel"):
    """One instant in two readings, so that a duration never depends on a wall clock that jumped.

    `uptime_seconds` is the node's boot time and counts only between moments of one `boot_id`.
    """

    time: Timestamp
    boot_id: str | None = None
    uptime_seconds: float | None = None


class PodReference(Struct, frozen=True, kw_only=True, rename="camel"):
    """One life of one workload: actions are checked by `uid`, memory is kept by the name."""

    namespace: Segment
    name: Segment
    uid: Uid


class ObjectReference(Struct, frozen=True, kw_only=True, rename="camel"):
    """An Eviction, named from the status of a request."""

    namespace: str
    name: str
    uid: str


class PodTarget(Struct, frozen=True, kw_only=True, rename="camel"):
    """The target's pod by name and uid; the namespace is that of the object itself."""

    name: Segment = ""
    uid: Uid = ""


class Target(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A union with one member so far. [eviction-request-api 2.1]"""

    pod: PodTarget | None = None


class Condition(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A Kubernetes condition of a request or an Eviction. Times have whole seconds."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Timestamp | None = None
    observed_generation: int | None = None


class OwnerReference(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One live EvictionRequest of the target. [eviction-request-api 5.6]"""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class Metadata(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What evictd keeps of Kubernetes' ObjectMeta."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
