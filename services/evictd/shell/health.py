"""How a process is: how far behind, and in a sentence what is not as it should be.

Both go into its status on the bus. [contract 3, WorkerStatus]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from evictd.shell.bus.link import Link
from evictd.shell.inbox import Inbox
from evictd.shell.journal_sqlite import SqliteJournal
from evictd.shell.vitals import Vitals
from evictd_schemas.topics import Role

BEHIND_SECONDS = 1.0
"""A journal that is behind for longer is worth a sentence."""
TROUBLES_MAX = 5
"""Sentences of one worker: the first ones tell what is wrong."""


@runtime_checkable
class Measured(Protocol):
    """A worker with figures of its own for the status."""

    def figures(self) -> Mapping[str, float]:
        """By name, in words."""
        ...


@runtime_checkable
class Troubled(Protocol):
    """A worker that may wait for somebody else."""

    def troubles(self) -> Sequence[str]:
        """For whom, in words that stay the same while it lasts; none where nothing is late."""
        ...


@dataclass(frozen=True, kw_only=True)
class Health:
    """Of one process, asked at each beat."""

    vitals: Vitals
    journals: Mapping[Role, SqliteJournal[Any, Any]]
    inboxes: Mapping[str, Inbox[Any]]
    workers: Mapping[Role, object]
    link: Link | None

    def problems(self) -> str:
        """What is not as it should be, in one line for people."""
        found = [
            f"the {role}'s journal is behind: {journal.problem or 'the disk is slow'}"
            for role, journal in self.journals.items()
            if journal.behind_seconds > BEHIND_SECONDS
        ]
        if self.vitals.problem:
            found.append(self.vitals.problem)
        if self.link is not None and not self.link.connected.is_set():
            found.append("no connection to the broker")
        elif self.link is not None and self.link.stalled:
            found.append("the broker does not answer")
        for worker in self.workers.values():
            if isinstance(worker, Troubled):
                found += worker.troubles()[:TROUBLES_MAX]
        return "; ".join(found)

    def figures(self) -> dict[str, float]:
        """How far behind, in seconds, and what was lost or waits."""
        figures: dict[str, float] = {"loop": round(self.vitals.loop_lag_seconds, 3)}
        for role, journal in self.journals.items():
            figures[f"{role} journal"] = round(journal.behind_seconds, 3)
        if self.link is not None:
            figures["broker"] = round(self.link.answer_seconds, 3)
            figures["waiting"] = len(self.link.outbox)
            figures["events dropped"] = self.link.outbox.dropped
            figures["oversized"] = self.link.outbox.oversized
        for name, inbox in self.inboxes.items():
            figures[f"{name} overflowed"] = inbox.overflowed
        for role, worker in self.workers.items():
            if isinstance(worker, Measured):
                figures |= {f"{role} {name}": value for name, value in worker.figures().items()}
        return figures
