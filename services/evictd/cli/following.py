"""Following one request from its publication to its end: what is told, and how it ended.

It knows the answers that a controller gives, and nothing of how they are printed.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evictd.cli.changes import Changes, rejects
from evictd.cli.tables import age, ago, due
from evictd.client import Mirror
from evictd.core.protocol.chain import active_entry
from evictd.core.protocol.conditions import cause_of, find, holds
from evictd.core.protocol.vocabulary import Cause, ConditionType, RequestType
from evictd.core.wording import on_one_line
from evictd_schemas import Condition, Eviction, EvictionStatus, RequestStatus, topics

KINDS = (topics.REQUEST_STATUS, topics.EVICTION, topics.EVENT)


@dataclass(frozen=True, kw_only=True)
class End:
    """How it ended. `final`: the request has had its answer and may be cleared."""

    text: str
    exit_code: int
    final: bool = True


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request of ours and where it is."""

    node: str
    requester: str
    namespace: str
    name: str
    pod: str
    dry_run: bool

    @property
    def levels(self) -> dict[str, str]:
        """The open levels of its topic."""
        names = {"namespace": self.namespace, "name": self.name}
        return {**topics.levels(self.requester), **names}

    @property
    def topic(self) -> str:
        """Where it stands on the bus."""
        return topics.REQUEST.at(self.node, **self.levels)

    def status(self, mirror: Mirror) -> RequestStatus | None:
        """The controller's answer, None before it came."""
        return mirror.get(topics.REQUEST_STATUS, self.node, **self.levels)

    def eviction(self, mirror: Mirror) -> Eviction | None:
        """The Eviction that it led to."""
        status = self.status(mirror)
        if status is None or status.eviction is None:
            return None
        reference = status.eviction
        found = mirror.get(
            topics.EVICTION, self.node, namespace=reference.namespace, name=reference.name
        )
        return found if found is not None and found.metadata.uid == reference.uid else None


class Follower(Changes):
    """The changes that concern one request. Make it before publishing: it misses nothing then."""

    def __init__(self, mirror: Mirror, asked: Asked) -> None:
        super().__init__(mirror, *KINDS)
        self._mirror = mirror
        self._asked = asked
        self._answered = False
        self._rejection: str | None = None

    @property
    def answered(self) -> bool:
        """Whether a controller has said anything."""
        return self._rejection is not None or self._asked.status(self._mirror) is not None

    async def change(self, seconds: float) -> bool:
        """Wait for the next change of anything on the node; False when none came in time."""
        change = await self.following(seconds)
        if change is None:
            return False
        if change.place.kind is topics.EVENT and change.found is not None:
            self._hear(change.found.message.data)
        return True

    def end(self) -> End | None:
        """How it ended; None while it goes on."""
        if self._rejection is not None:
            return End(text=self._rejection, exit_code=1)
        status = self._asked.status(self._mirror)
        if status is None:
            return _WITHDRAWN if self._answered else None
        self._answered = True
        return end_of(self._asked, status, self._asked.eviction(self._mirror))

    def _hear(self, data: dict[str, Any]) -> None:
        if rejects(data, self._asked.topic):
            problems = data.get("problems")
            sentences = [
                f"{item.get('field')}: {item.get('reason')}"
                for item in (problems if isinstance(problems, list) else ())
                if isinstance(item, dict)  # events are written by whoever may write there
            ]
            self._rejection = "rejected: " + ("; ".join(sentences) or str(data.get("message")))


_WITHDRAWN = End(text="it was withdrawn", exit_code=1, final=False)


def end_of(asked: Asked, status: RequestStatus, eviction: Eviction | None) -> End | None:
    """What an answer means to who asked.

    A chain that was used up is followed by a further round, so that it is no end.
    [eviction-request-api 5.2]
    """
    conditions = status.conditions
    if holds(conditions, ConditionType.TARGET_EVICTED):
        return End(text=f"{asked.namespace}/{asked.pod} is gone{_after(eviction)}", exit_code=0)
    cause, message = cause_of(conditions), _message(conditions, ConditionType.FAILED)
    if cause == Cause.INVALID:
        return End(text=f"refused: {message}", exit_code=1)
    if cause == Cause.DRY_RUN:
        return End(text=message, exit_code=0 if asked.dry_run else 1)
    return None


def _after(eviction: Eviction | None) -> str:
    if eviction is None or eviction.metadata.creation_timestamp is None:
        return ""
    over = find(eviction.status.conditions, ConditionType.TARGET_EVICTED)
    if over is None or over.last_transition_time is None:
        return ""
    took = over.last_transition_time - eviction.metadata.creation_timestamp
    return f" after {age(took.total_seconds())}"


def _message(conditions: tuple[Condition, ...], kind: ConditionType) -> str:
    found = find(conditions, kind)
    return "" if found is None else found.message or found.reason


def standing(
    status: RequestStatus | None, eviction: Eviction | None
) -> tuple[str, EvictionStatus | None]:
    """Where it stands, without what changes with the time alone."""
    if status is None:
        return "no controller has answered yet", None
    cause = cause_of(status.conditions)
    if cause == Cause.NO_FURTHER_RESPONDER:
        return "nobody could evict it; a further round follows", None
    if eviction is None:
        found = find(status.conditions, ConditionType.TARGET_EVICTED)
        waiting = f": {found.message}" if found is not None and found.message else ""
        return f"no Eviction yet{waiting}", None
    entry = active_entry(eviction.status)
    if entry is None:
        return "waiting for the end", eviction.status
    report = f": {on_one_line(entry.message)}" if entry.message else ""
    return f"{entry.name} is at work{report}", eviction.status


def progress_text(status: RequestStatus | None, eviction: Eviction | None, now: datetime) -> str:
    """The same with heartbeat and deadline, as of now."""
    text, running = standing(status, eviction)
    entry = None if running is None else active_entry(running)
    if entry is None:
        return text
    parts = [text]
    if entry.heartbeat_time is not None:
        parts.append(f"heartbeat {ago(entry.heartbeat_time, now)} ago")
    if entry.deadline_time is not None:
        parts.append(f"its deadline {due(entry.deadline_time, now)}")
    if running is not None and running.type == RequestType.SOFT_WITH_DEADLINE:
        parts.append(f"stopped at latest {due(running.deadline_time, now)}")
    return "; ".join(parts)
