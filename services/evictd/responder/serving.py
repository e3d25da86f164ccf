"""A responder on the bus: one connection a node, since a connection has one last will.

It knows how to connect and to end, and nothing of turns. [contract 3, Registration]
"""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial

import anyio
import structlog

from evictd.core.errors import EvictdError
from evictd.responder.author import Responder
from evictd.responder.registered import Registered, Registrant
from evictd.responder.turns import Turns
from evictd.shell import logs
from evictd.shell.bus import Delivery, Listing, Router
from evictd.shell.bus.address import Address, address
from evictd.shell.bus.link import Link
from evictd.shell.causes import leaves
from evictd.shell.clock import SystemClock
from evictd.shell.epoch import Epoch, first_epoch
from evictd_schemas import topics
from evictd_schemas.topics import Role

EVERY_NODE = "+"
NODES_MAX = 100
"""Nodes served at once, each by a connection of its own; further ones are told in the log."""
CONTACT_SECONDS = 8.0
"""Without the broker for so long work is cancelled: after 10 s the controller hands the turn of a
lost responder to the next. [contract 3, Registration]"""
SUCCESSION_SECONDS = 3.0
"""A former process that still lived hears of us in about one, and cancels its work."""
LOOK_SECONDS = 0.2
"""How often the connection is looked at."""

log = structlog.get_logger(__name__)


def run(responder: Responder, broker: str | Address, node: str = EVERY_NODE) -> None:
    """`serve` until SIGTERM or SIGINT, as a program of its own with a log on stderr.

    An error ends the program with its own exit code: 9 where a newer process has taken over.
    """
    try:
        anyio.run(until_signal, (responder,), broker, node)
    except EvictdError as error:
        sys.stderr.write(f"{responder.name}: {error}\n")
        sys.exit(error.exit_code)


async def serve(responder: Responder, broker: str | Address, node: str = EVERY_NODE) -> None:
    """Register, and work whenever it is this responder's turn, until cancelled.

    On one node or (`+`) on every one that shows itself; it connects again through every loss of the
    broker.

    Raises `InputError` for an address that is none, and `Replaced` when a newer process has
    registered under the same name.
    """
    where = address(broker) if isinstance(broker, str) else broker
    with _plainly():
        if node == EVERY_NODE:
            await _serve_every(responder, where)
        else:
            await _serve_one(responder, where, node)


async def until_signal(
    responders: Sequence[Responder], broker: str | Address, node: str = EVERY_NODE
) -> None:
    """`serve` each until SIGTERM or SIGINT. Raises what it raises."""
    logs.configure(worker=" ".join(responder.name for responder in responders), node=node)
    with _plainly():
        async with anyio.create_task_group() as tasks:
            for responder in responders:
                tasks.start_soon(serve, responder, broker, node)
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    tasks.cancel_scope.cancel()
                    return


async def _serve_one(responder: Responder, where: Address, node: str) -> None:
    router, clock = Router(), SystemClock()
    epoch = Epoch(first_epoch(int(time.time() * 1000)))
    turns = Turns(responder, node, router, clock, epoch, linked=True)
    registrant = Registrant(
        node=node,
        worker=Role.ANY_RESPONDER.value,
        roles=(),
        start_time=datetime.now(UTC),
        responder=responder,
    )
    presence = Registered(registrant, epoch)
    link = Link(router, where, presence, filters=turns.filters)
    async with anyio.create_task_group() as tasks:
        await tasks.start(turns.run)
        tasks.start_soon(_keep_in_touch, link, presence, turns)
        tasks.start_soon(link.run)


async def _keep_in_touch(link: Link, presence: Registered, turns: Turns) -> None:
    """Tell the turns that the broker has been away for too long, and that it is there again.

    The first time only when a former process has had the time to end its work.
    """
    await link.connected.wait()
    if presence.succeeds_living:
        await anyio.sleep(SUCCESSION_SECONDS)
    heard_seconds = anyio.current_time()
    while True:
        now_seconds = anyio.current_time()
        if link.connected.is_set() and not link.stalled:
            heard_seconds = now_seconds
            turns.contact(present=True)
        elif now_seconds - heard_seconds > CONTACT_SECONDS:
            turns.contact(present=False)
        await anyio.sleep(LOOK_SECONDS)


async def _serve_every(responder: Responder, where: Address) -> None:
    router = Router()
    nodes = _Nodes()
    link = Link(router, where, filters=nodes.filters)
    router.attach(nodes)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(link.run)
        async for node in nodes.found():
            tasks.start_soon(partial(_serve_one, responder, where, node))


class _Nodes:
    """A listener for which every message is a sign that its node is there."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._new: asyncio.Queue[str] = asyncio.Queue(NODES_MAX)

    @property
    def filters(self) -> Sequence[str]:
        """Small retained messages, one of which every node has."""
        return tuple(
            kind.everywhere() for kind in (topics.WORKER, topics.PRESSURE, topics.EVICTION)
        )

    def deliver(self, delivery: Delivery) -> None:
        """Note the node."""
        place = topics.place(delivery.topic)
        if place is None or place.node in self._known or not delivery.payload:
            return
        if len(self._known) >= NODES_MAX:
            log.warning("too many nodes; this one is not served", node=place.node)
            return
        self._known.add(place.node)
        self._new.put_nowait(place.node)

    def listed(self, listing: Listing) -> None:
        """A list says nothing that its messages did not."""

    async def found(self) -> AsyncIterator[str]:
        """Each node, once."""
        while True:
            yield await self._new.get()


@contextmanager
def _plainly() -> Iterator[None]:
    """An error of the family as it is, without the task groups that it came through."""
    try:
        yield
    except BaseExceptionGroup as group:
        known = (leaf for leaf in leaves(group) if isinstance(leaf, EvictdError))
        if (first := next(known, None)) is not None:
            raise first from None
        raise
