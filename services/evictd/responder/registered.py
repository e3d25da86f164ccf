"""A responder's registration as its presence on one connection.

Birth, life, and the last will that hands over from a dead one. [contract 3, Registration]

It decides and encodes; the link connects.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from evictd.core.protocol.vocabulary import THERE
from evictd.responder.author import Responder
from evictd.shell.bus.presence import Member, Presence
from evictd.shell.causes import UNREADABLE
from evictd.shell.epoch import Epoch
from evictd_schemas import Registration, WorkerStatus, topics


class Numbered(Registration, frozen=True, kw_only=True, rename="camel"):
    """A registration that no other equals, so that its return ends the list.

    Readers pass over the number. [contract 1]
    """

    lists: int = 0


@dataclass(frozen=True, kw_only=True)
class Registrant(Member):
    """Who this process is: one responder on one node.

    Of two processes of one name the older ends.
    """

    responder: Responder

    @property
    def topic(self) -> str:
        return topics.REGISTRATION.at(self.node, **topics.levels(self.responder.name))

    @property
    def client_id(self) -> str:
        return f"evictd-{self.node}-{self.responder.name}"

    @property
    def rivals(self) -> tuple[str, ...]:
        return (self.topic,)

    def read(self, payload: bytes) -> WorkerStatus | None:
        """Of a registration what orders it among others."""
        try:
            found = msgspec.json.decode(payload, type=Registration)
        except UNREADABLE:
            return None
        return WorkerStatus(
            worker=self.responder.name,
            status=found.status,
            epoch=found.epoch,
            connection=found.connection,
        )


class Registered(Presence):
    """The registration over all connections of this process."""

    def __init__(self, registrant: Registrant, epoch: Epoch) -> None:
        super().__init__(registrant, epoch)
        self._responder = registrant.responder
        self.succeeds_living = False
        """A process of the same name was at work when this one came, and is ending now."""

    def take_over(self, statuses: Iterable[WorkerStatus]) -> None:
        """Come after former processes."""
        found = tuple(statuses)
        self.succeeds_living = any(status.status in THERE for status in found)
        super().take_over(found)

    def _encode(self, status: str) -> bytes:
        said = self._responder.registration(
            status, epoch=self.epoch.epoch, connection=self.connection
        )
        fields = msgspec.structs.asdict(said)
        return msgspec.json.encode(Numbered(**fields, lists=self._lists))
