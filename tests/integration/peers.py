"""Both sides of a bus under test: an evictor as far as the bus can tell, and anybody else."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
from aiomqtt import Client, ProtocolVersion
from tests import ear

from evictd.shell.bus import Router
from evictd.shell.bus.address import address
from evictd.shell.bus.link import Link
from evictd.shell.bus.marks import Mark
from evictd.shell.bus.presence import Member, Presence, written_by
from evictd.shell.epoch import Epoch
from evictd_schemas import WorkerStatus, topics
from evictd_schemas.topics import Place, Role

NODE = "edge-7"
DECISION = topics.DECISION.at(NODE)
STATUS = topics.WORKER.at(NODE, worker="evictor")
WISHES = topics.WISH.everywhere(NODE)


def wish(name: str) -> str:
    return topics.WISH.at(NODE, domain="acme.io", key="person", name=name)


@dataclass(eq=False)
class Ear(ear.Ear):
    filters: Sequence[str] = (WISHES,)


class Process:
    """One evictor as far as the bus can tell."""

    def __init__(
        self, url: str, *, epoch: int = 100, machine: str = "", known: dict[str, Mark] | None = None
    ) -> None:
        self.router = Router()
        self.epoch = Epoch(epoch)
        self.ear = Ear()
        self.outranked: list[Mark] = []
        member = Member(
            node=NODE,
            worker="evictor",
            roles=(Role.EVICTOR,),
            start_time=datetime.now(UTC),
            machine=machine,
        )
        self.link = Link(
            self.router,
            address(url),
            Presence(member, self.epoch),
            filters=written_by(Role.EVICTOR, NODE),
            known=known,
            outranked=self._outranked,
        )
        self.router.attach(self.ear)

    def _outranked(self, _place: Place[Any], mark: Mark) -> bool:
        self.outranked.append(mark)
        self.epoch.raise_above(mark.epoch)
        return True

    def publish(self, topic: str, payload: bytes) -> None:
        self.router.publish(topic, payload, retain=True, publisher=self.ear)


@asynccontextmanager
async def running(process: Process) -> AsyncIterator[Process]:
    task = asyncio.create_task(process.link.run())
    try:
        await asyncio.wait_for(process.link.connected.wait(), 10)
        yield process
    finally:
        process.link.stop()
        await task


class Outsider:
    """Whatever else speaks MQTT; it sees everything below the node."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.seen: dict[str, bytes] = {}
        self.history: list[tuple[str, bytes]] = []

    async def read(self) -> None:
        async for message in self._client.messages:
            self.seen[message.topic.value] = message.payload
            self.history.append((message.topic.value, message.payload))

    async def publish(self, topic: str, payload: bytes) -> None:
        await self._client.publish(topic, payload, qos=1, retain=True)

    def status(self) -> WorkerStatus | None:
        payload = self.seen.get(STATUS)
        return msgspec.json.decode(payload, type=WorkerStatus) if payload else None


@asynccontextmanager
async def outsider(broker: Any) -> AsyncIterator[Outsider]:
    async with Client("127.0.0.1", broker.port, protocol=ProtocolVersion.V5) as client:
        await client.subscribe("evictd/#", qos=1)
        someone = Outsider(client)
        reading = asyncio.create_task(someone.read())
        yield someone
        reading.cancel()
        await asyncio.wait([reading])


def status(**fields: Any) -> bytes:
    return msgspec.json.encode(WorkerStatus(worker="evictor", **fields))
