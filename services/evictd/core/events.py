"""Building events: one place for their ids, topics and shape. [contract 3, Event]"""

from datetime import datetime
from uuid import NAMESPACE_URL, uuid5

from evictd.core.effects import Emit, Figures
from evictd_schemas import Event, topics


def emit(
    *,
    node: str,
    worker: topics.Role,
    reason: str,
    message: str,
    time: datetime,
    about: str,
    transition: str,
    subject: str | None = None,
    figures: Figures | None = None,
) -> Emit:
    """An event that keeps its id when repeated after a crash.

    `about` is the uid of the object (a node's name for a node), `transition` names this occurrence
    of the reason for that object: a uid, a revision or a time that a repeat would find again.
    """
    source = f"{topics.ROOT}/{node}/{worker}"
    event = Event(
        id=str(uuid5(NAMESPACE_URL, f"{source}|{about}|{reason}|{transition}")),
        source=source,
        type=f"evictd.{reason}.v1",
        time=time,
        subject=subject,
        data={"reason": reason, "message": message, **(figures or {})},
    )
    return Emit(topic=topics.EVENT.at(node, worker=worker.value, reason=reason), event=event)
