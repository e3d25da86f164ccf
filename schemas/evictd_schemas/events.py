"""Events and worker status. [contract 3, Event, WorkerStatus]"""

from typing import Any

from msgspec import Struct

from evictd_schemas.common import Presence, Timestamp


class Event(Struct, frozen=True, kw_only=True):
    """A CloudEvents 1.0 JSON object.

    Readers drop known ids, so that a repeat after a crash is harmless.
    """

    id: str
    source: str
    type: str
    time: Timestamp
    data: dict[str, Any]
    subject: str | None = None
    sequence: int = 0
    datacontenttype: str = "application/json"
    specversion: str = "1.0"


class WorkerStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """One worker's birth, life and (from its last will) death.

    `epoch` and `connection` order them.
    """

    worker: str
    status: Presence
    epoch: int = 0
    connection: int = 0
    version: str = ""
    machine: str = ""
    start_time: Timestamp | None = None
    serves: tuple[str, ...] = ()
    message: str = ""
    lag: dict[str, float] = {}
