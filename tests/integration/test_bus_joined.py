"""The contract of the bus, over two routers joined by a real broker: the same tests again."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from aiomqtt import Client, ProtocolVersion
from tests.contract import test_bus as suite

from evictd.shell.bus import Router
from evictd.shell.bus.address import address
from evictd.shell.bus.link import Link
from evictd.shell.bus.presence import Member, Presence
from evictd.shell.epoch import Epoch
from evictd_schemas.topics import Role

globals().update({name: test for name, test in vars(suite).items() if name.startswith("test_")})


@dataclass
class Joined(suite.Pair):
    port: int

    async def retained_by_others(self, topic: str, payload: bytes) -> None:
        async with Client("127.0.0.1", self.port, protocol=ProtocolVersion.V5) as someone:
            await someone.publish(topic, payload, qos=1, retain=True)


@pytest.fixture
async def pair(broker: Any) -> AsyncIterator[Any]:
    """A controller and a responder of one node, each in its own process as far as the bus knows."""
    ends = []
    async with asyncio.TaskGroup() as links:
        for role in (Role.CONTROLLER, Role.RESPONDER):
            member = Member(
                node=suite.NODE,
                worker=role.value,
                roles=(role,),
                start_time=datetime.now(UTC),
            )
            router = Router()
            link = Link(router, address(broker.url), Presence(member, Epoch(1)))
            links.create_task(link.run())
            ends.append((router, link))
        for _, link in ends:
            await asyncio.wait_for(link.connected.wait(), 10)
        yield Joined(*(router for router, _ in ends), broker.port)
        for _, link in ends:
            link.stop()
