"""This process on the bus.

Its status, its order among those of its role, and what a status that is seen means for it.

It decides and encodes; the link connects. [contract 3, WorkerStatus] [contract 1, Order]
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec

from evictd.core.errors import EvictdError, InputError
from evictd.core.protocol.vocabulary import THERE, PresenceStatus
from evictd.shell.causes import UNREADABLE
from evictd.shell.epoch import EPOCH_MAX, Epoch
from evictd_schemas import WorkerStatus, topics
from evictd_schemas.topics import ALL, WORKER, Role

ECHOES_MAX = 100
"""Own statuses remembered to know them when they come back: one returns before a few follow."""


class Replaced(EvictdError):
    """A newer process of the same role is there; this one ends and must not be restarted."""

    exit_code = 9


class NodeTaken(InputError):
    """Another machine serves under this node's name; the text names both."""


class Verdict(StrEnum):
    """What to do about a status on one of the topics that concern this process."""

    ECHO = "echo"  # our own, come back
    REPLACED = "replaced"
    OVERWRITE = "overwrite"  # ours is right: a late will, an older life, rubbish
    OTHER = "other"  # somebody else's business


@dataclass(frozen=True, kw_only=True)
class Member:
    """Who this process is. `worker` is its one role or `all`."""

    node: str
    worker: str
    roles: tuple[Role, ...]
    start_time: datetime
    machine: str = ""
    version: str = ""
    serves: tuple[str, ...] = ()

    @property
    def topic(self) -> str:
        """Where its status is."""
        return WORKER.at(self.node, worker=self.worker)

    @property
    def client_id(self) -> str:
        """Fixed, so that the broker allows one of a role on a node. [mqtt 5, 13]"""
        return f"evictd-{self.node}-{self.worker}"

    @property
    def rivals(self) -> tuple[str, ...]:
        """Status topics on which a greater epoch replaces this process; its own is the first."""
        names = dict.fromkeys((self.worker, *(role.value for role in self.roles), ALL))
        return tuple(WORKER.at(self.node, worker=name) for name in names)

    def read(self, payload: bytes) -> WorkerStatus | None:
        """A status on one of `rivals`, None where it cannot be read."""
        return read_status(payload)


class Presence:
    """The status of this process over all its connections."""

    def __init__(self, member: Member, epoch: Epoch) -> None:
        self.member = member
        self.epoch = epoch
        self.connection = 0
        self.lag: Mapping[str, float] = {}
        """Figures of how far behind this process is, by name."""
        self.message = ""
        """One sentence where something is not as it should be."""
        self._lists = 0
        self._echoes: deque[bytes] = deque(maxlen=ECHOES_MAX)

    def connect(self) -> None:
        """One more connection begins."""
        self.connection += 1
        self._lists = 0

    def take_over(self, statuses: Iterable[WorkerStatus]) -> None:
        """What former processes left on `member.rivals`: come after them.

        Raises `NodeTaken` where one lives on another machine.
        """
        for status in statuses:
            if status.status in THERE and self._is_elsewhere(status.machine):
                raise NodeTaken(
                    f"node {self.member.node!r} is served by {status.worker} on machine "
                    f"{status.machine}, and this is machine {self.member.machine}: give one of "
                    f"them another node name, or clear {self.member.topic} if that one is no more"
                )
            self.epoch.raise_above(status.epoch)

    def will(self) -> bytes:
        """What the broker says when this connection is lost."""
        return self._encode(PresenceStatus.LOST)

    def say(self, status: str) -> bytes:
        """The status to publish now."""
        payload = self._encode(status)
        self._echoes.append(payload)
        return payload

    def marker(self, status: str) -> bytes:
        """A status that no other equals: when exactly it returns, the list is complete."""
        self._lists += 1
        return self.say(status)

    def judge(self, topic: str, payload: bytes) -> Verdict:
        """What a status on one of `member.rivals` means."""
        ours = topic == self.member.topic
        if ours and payload in self._echoes:
            return Verdict.ECHO
        status = self.member.read(payload)
        if status is not None and status.epoch > self.epoch.epoch:
            return Verdict.REPLACED
        return Verdict.OVERWRITE if ours else Verdict.OTHER

    def is_ours(self, payload: bytes) -> bool:
        """Whether a status is of this very life, the last will of an earlier connection too."""
        status = self.member.read(payload)
        return status is not None and status.epoch == self.epoch.epoch

    def _is_elsewhere(self, machine: str) -> bool:
        return bool(machine and self.member.machine) and machine != self.member.machine

    def _encode(self, status: str) -> bytes:
        return msgspec.json.encode(
            WorkerStatus(
                worker=self.member.worker,
                status=status,
                epoch=self.epoch.epoch,
                connection=self.connection,
                version=self.member.version,
                machine=self.member.machine,
                start_time=self.member.start_time,
                serves=self.member.serves,
                message=self.message,
                lag={**self.lag, "lists": self._lists},
            )
        )


def read_status(payload: bytes) -> WorkerStatus | None:
    """A status that can be read, or None."""
    try:
        status = msgspec.json.decode(payload, type=WorkerStatus)
    except UNREADABLE:
        return None
    return status if 0 <= status.epoch <= EPOCH_MAX else None


def written_by(role: Role, scope: str) -> tuple[str, ...]:
    """Filters for what this role of ours writes as state, so that its list shows what it had."""
    kinds = (kind for kind in topics.TOPICS if kind.retained and kind.writer is role)
    by_name = {
        Role.EVICTOR: (topics.REQUEST.everywhere(scope, domain="evictd.io"),),
        Role.RESPONDER: (topics.REPORT.everywhere(scope),),
        Role.GATEWAY: (
            topics.REQUEST.everywhere(scope, domain="evictd.io", key="gateway"),
            topics.WISH.everywhere(scope, domain="evictd.io", key="gateway"),
        ),
    }
    return (*(kind.everywhere(scope) for kind in kinds), *by_name.get(role, ()))
