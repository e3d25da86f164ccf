"""One connection on trial: what a broker gives, keeps back and carries, and nothing is left behind.

It judges nothing. What it says goes to a topic of no contract, is not retained, and is read by
nobody else. [mqtt 6: 7, 9]
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import anyio
from aiomqtt import Client, MqttError
from msgspec import Struct

from evictd.shell.bus.address import Address
from evictd.shell.bus.link_client import connect, quiet, subscribe
from evictd.shell.bus.presence import read_status
from evictd.shell.ending import cancelled
from evictd_schemas import topics
from evictd_schemas.topics import ROOT, TOPICS, WORKER

TRIAL_SECONDS = 12.0
"""Of everything together; a broker that is well needs well under one."""
LISTED_MANY = 900
"""A list near the thousand that a stock broker keeps for one reader is read again in parts."""
RETAINED = tuple(kind for kind in TOPICS if kind.retained)


class Heard(Struct, frozen=True, kw_only=True):
    """A worker's status on the bus."""

    node: str
    worker: str
    status: str
    machine: str


class Trial(Struct, frozen=True, kw_only=True):
    """How it went. `failure`: why there was no connection.

    `listed`: retained messages that came at once. `listed_in_parts`: those that came when they were
    asked for a few at a time, None where that was not needed. `came_back`: what was said here was
    heard here.
    """

    failure: str | None = None
    seconds: float = 0.0
    listed: int = 0
    listed_in_parts: int | None = None
    came_back: bool = False
    workers: tuple[Heard, ...] = ()


@dataclass(kw_only=True)
class _Ear:
    """What has come so far."""

    own: str
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    last_seconds: float = 0.0
    retained: set[str] = field(default_factory=set)
    workers: dict[str, Heard] = field(default_factory=dict)

    async def listen(self, client: Client) -> None:
        async for message in client.messages:
            self.last_seconds = anyio.current_time()
            topic = str(message.topic)
            if topic == self.own:
                self.heard.set()
            elif message.retain and isinstance(message.payload, bytes | bytearray):
                self.retained.add(topic)
                self._note(topic, bytes(message.payload))

    def _note(self, topic: str, payload: bytes) -> None:
        place = topics.place(topic)
        if place is None or place.kind is not WORKER:
            return
        status = read_status(payload)
        if status is not None:
            self.workers[topic] = Heard(
                node=place.node, worker=status.worker, status=status.status, machine=status.machine
            )

    async def listed(self) -> None:
        """Everything that was asked for is here."""
        await quiet(lambda: self.last_seconds)


async def trial(address: Address) -> Trial:
    """Connect, list, speak, hear, leave. Never raises for what a broker can do."""
    name = f"doctor-{uuid4().hex[:8]}"
    ear = _Ear(own=f"{ROOT}/{name}/trial")
    began_seconds = anyio.current_time()
    try:
        with anyio.fail_after(TRIAL_SECONDS):
            async with connect(address, f"evictd-{name}") as client, _listening(ear, client):
                took_seconds = anyio.current_time() - began_seconds
                return await _tried(client, ear, took_seconds)
    except TimeoutError:
        return Trial(failure=f"no answer within {TRIAL_SECONDS:g} s")
    except (MqttError, OSError) as error:
        return Trial(failure=str(error) or type(error).__name__)


async def _tried(client: Client, ear: _Ear, took_seconds: float) -> Trial:
    await subscribe(client, (f"{ROOT}/#",), no_local=False)
    await client.publish(ear.own, b"?", qos=1, retain=False)
    await ear.listed()
    listed, parts = len(ear.retained), None
    if listed >= LISTED_MANY:
        for kind in RETAINED:
            await subscribe(client, (kind.everywhere(),), no_local=False)
            await ear.listed()
        parts = len(ear.retained)
    return Trial(
        seconds=round(took_seconds, 3),
        listed=listed,
        listed_in_parts=parts,
        came_back=ear.heard.is_set(),
        workers=tuple(ear.workers.values()),
    )


@asynccontextmanager
async def _listening(ear: _Ear, client: Client) -> AsyncIterator[None]:
    reading = asyncio.ensure_future(ear.listen(client))
    try:
        yield
    finally:
        await cancelled(reading)
