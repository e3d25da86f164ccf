"""What is over, from this machine's own journal: it needs no broker and no worker."""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from evictd.cli.broker import state_folder_of
from evictd.cli.eviction_texts import end_time, state_text, target_text
from evictd.cli.situation import NotFoundError
from evictd.core.duty import Duty
from evictd.core.errors import HostError
from evictd.core.orders import Restore
from evictd.core.protocol.announcement import last_started
from evictd.core.protocol.case import Case
from evictd.core.protocol.vocabulary import Intent
from evictd.shell.journal_reading import ended, events, states
from evictd_schemas import Event, Eviction, Pod
from evictd_schemas.configuration import Configuration
from evictd_schemas.topics import Role


def journal_of(configuration: Configuration) -> Path:
    """Where this machine's controller has its journal, whether or not it is there."""
    return state_folder_of(configuration) / f"{Role.CONTROLLER}.journal"


def readable(journal: Path) -> bool:
    """Whether there is one that this user may read."""
    return os.access(journal, os.R_OK)


def history(journal: Path) -> list[Eviction]:
    """What has ended, oldest first.

    Raises `NotFoundError` where nothing was ever written, and `HostError` where that is not for
    this user to read.
    """
    try:
        journal.stat()
    except FileNotFoundError:
        raise NotFoundError(f"no history yet: {journal} is not there") from None
    except OSError as error:
        raise HostError(f"{journal} cannot be read: {error.strerror}; try it with sudo") from error
    return ended(journal)[::-1]


def running(journal: Path) -> Iterator[Eviction]:
    """What the controller was at when it wrote last."""
    for case in states(journal, Case).values():
        yield from (item for item in case.evictions if end_time(item.status) is None)


def left_down(journal: Path) -> Iterator[Pod]:
    """What the responder beside this controller stopped and nobody but a person starts again."""
    beside = journal.with_name(f"{Role.RESPONDER}.journal")
    if readable(beside):
        for duty in states(beside, Duty).values():
            if duty.pod is not None and duty.pod.restore != Restore.AUTO:
                yield duty.pod


def told_events(journal: Path, name: str, node: str) -> list[Event]:
    """The events of an Eviction that the journal still has; none without a journal."""
    if not readable(journal):
        return []
    return [
        event
        for event in events(journal)
        if (event.data.get("eviction"), event.data.get("node")) == (name, node)
    ]


def target(eviction: Eviction) -> str:
    """Whom it was about."""
    return target_text(eviction.metadata.namespace, eviction)


def outcome(eviction: Eviction) -> str:
    """How it ended."""
    return state_text(eviction.status.conditions, dry_run=eviction.status.dry_run)


def requesters(eviction: Eviction) -> tuple[str, ...]:
    """Who wanted it in the end; who had withdrawn where nobody did."""
    wanting = tuple(
        item.name for item in eviction.status.requesters if item.intent == Intent.EVICTION
    )
    return wanting or tuple(item.name for item in eviction.status.requesters)


def responder(eviction: Eviction) -> str | None:
    """Who had the last turn."""
    return last_started(eviction)


def why(eviction: Eviction) -> str:
    """The signal and the sentence of the requester, as far as it gave any."""
    reason = eviction.status.reason
    if reason is None:
        return ""
    return reason.message.strip() or reason.signal or ""


def took_seconds(eviction: Eviction) -> float | None:
    """From its making to its end."""
    made, over = eviction.metadata.creation_timestamp, end_time(eviction.status)
    return None if made is None or over is None else max(0.0, (over - made).total_seconds())


def ended_since(evictions: list[Eviction], since: datetime) -> list[Eviction]:
    """Those that ended after a moment."""
    return [
        item for item in evictions if (time := end_time(item.status)) is not None and time >= since
    ]
