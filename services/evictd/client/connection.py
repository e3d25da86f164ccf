"""Connecting a mirror: one reader's link, which goes on through every loss of the broker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from evictd.client.mirror import Mirror
from evictd.core.errors import PeerError
from evictd.shell.bus import Router
from evictd.shell.bus.address import Address, address
from evictd.shell.bus.link import Link

CONNECT_SECONDS = 10.0
"""Until the list is complete; a broker that is there needs well under one."""


@asynccontextmanager
async def connect(
    broker: str | Address, node: str = "+", *, seconds: float = CONNECT_SECONDS
) -> AsyncIterator[Mirror]:
    """A mirror of one node or of all, its list complete.

    What was published inside is sent before the end.

    Raises `InputError` for an address that is none, `PeerError` when the list is not complete in
    that time: the broker is not there, refuses the login, or does not answer.

    """
    where = address(broker) if isinstance(broker, str) else broker
    router = Router()
    link = Link(router, where)
    mirror = Mirror(router, node)
    router.attach(mirror)
    running = asyncio.create_task(link.run())
    try:
        with anyio.move_on_after(seconds):
            await mirror.complete()
        if not link.connected.is_set():
            reason = link.problem or "it does not answer"
            raise PeerError(f"no broker at {where.url}: {reason}")
        yield mirror
    finally:
        link.stop()
        await asyncio.wait([running])
    running.result()
