"""The link of a router to a broker: connect, list, mirror both ways, connect again.

It knows topics and bytes; what a message means here is `intake`'s business, and what this process
is on the bus that of `presence`. A stalled or dead broker delays what others see and nothing else.
[design, laws 3 and 5] [mqtt 5 and 6]
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from uuid import uuid4

import anyio
import structlog
from aiomqtt import Client, MqttError, Will

from evictd.core.errors import EvictdError
from evictd.core.protocol.vocabulary import PresenceStatus
from evictd.shell.back_off import BackOff
from evictd.shell.bus.address import Address
from evictd.shell.bus.intake import Intake, Judged, Outranked, nobody_judges
from evictd.shell.bus.link_client import (
    QUIET_SECONDS,
    WINDOW,
    connect,
    quiet,
    subscribe,
    survey,
)
from evictd.shell.bus.marks import Ledger, Mark
from evictd.shell.bus.outbox import Outbox
from evictd.shell.bus.presence import NodeTaken, Presence, Replaced
from evictd.shell.bus.router import Router
from evictd.shell.causes import leaves

PUBLISH_SECONDS = 60.0
"""Above the keepalive, so that it is the keepalive that ends a connection."""
LIST_SECONDS = 30.0
"""Without the marker by then the list cannot be trusted: connect again."""
WATCH_SECONDS = 1.5
STALL_SECONDS = 3.0
"""Asked every `WATCH_SECONDS`; no answer in this time is an alarm: together under 5 s."""
STATUS_SECONDS = 30.0
"""How often the figures of the status are published."""
FAREWELL_SECONDS = 2.0
"""For what still waits and for the last status."""

log = structlog.get_logger(__name__)


class Link:
    """A `Mirror`. Run `run` beside the workers; it ends by `stop`, cancellation, or an error.

    Without a presence it may not write: a reader, whose list is complete when it gets quiet.
    `outranked` decides about a greater pair on a topic of ours, `judged` answers for what was wrong
    on one; `known` is the journal's memory of what the broker confirmed to earlier lives.
    """

    def __init__(
        self,
        router: Router,
        address: Address,
        presence: Presence | None = None,
        *,
        filters: Sequence[str] = (),
        known: Mapping[str, Mark] | None = None,
        outranked: Outranked = lambda _place, _mark: True,
        judged: Judged = nobody_judges,
    ) -> None:
        self._address = address
        self._presence = presence
        self._filters = dict.fromkeys(filters)
        self._relist = asyncio.Event()
        self._stop = asyncio.Event()
        self._surveyed = presence is None
        self._end: EvictdError | None = None
        self.outbox = Outbox()
        self.ledger = Ledger(known)
        self.intake = Intake(router, self.ledger, self.outbox, presence, outranked, judged=judged)
        self.connected = asyncio.Event()
        """The list is complete and everything goes both ways."""
        self.problem = ""
        """Why the last connection ended; empty while one is there."""
        self.stalled = False
        """The broker is connected and does not answer."""
        self.answer_seconds = 0.0
        """The last round trip to the broker."""
        router.mirror(self)

    def outgoing(self, topic: str, payload: bytes, *, retain: bool) -> None:
        self.outbox.put(topic, payload, retain=retain)

    def interested(self, filters: Sequence[str]) -> None:
        self._filters.update(dict.fromkeys(filters))
        self._relist.set()

    def restate(self) -> None:
        """Publish the status again, now."""
        self.intake.contested.set()

    def stop(self) -> None:
        """End orderly: flush, say `disconnected`, close."""
        self._stop.set()

    async def run(self) -> None:
        """Stay connected. Raises `Replaced` or `NodeTaken` when this process has to end."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._stay_connected, group.cancel_scope)
            try:
                await anyio.sleep_forever()
            finally:
                self._stop.set()
        if self._end is not None:
            raise self._end

    async def _stay_connected(self, whole: anyio.CancelScope) -> None:
        """Shielded: a cancelled exit of aiomqtt leaves its loop running, and the status `ready`."""
        with anyio.CancelScope(shield=True):
            back_off = BackOff()
            while not self._stop.is_set():
                started = asyncio.get_running_loop().time()
                try:
                    await self._connect_once()
                except NodeTaken as error:
                    self._end = error
                    break
                lived_seconds = asyncio.get_running_loop().time() - started
                pause_seconds = back_off.pause_seconds(lived_seconds)
                await self._wait(random.SystemRandom().uniform(0, pause_seconds))
        if self.intake.replaced.is_set():
            self._end = Replaced("a newer process of this role serves this node; this one ends")
        whole.cancel()

    async def _wait(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._stop.wait()

    async def _connect_once(self) -> None:
        try:
            if not await self._succeeded():
                await self._live()
        except* MqttError as error:
            reasons = "; ".join(str(reason) for reason in leaves(error))
            self.problem = reasons
            log.warning("no broker", broker=self._address.url, reason=reasons)
        finally:
            self.connected.clear()

    async def _succeeded(self) -> bool:
        """At first come after all others; later tell whether somebody came after us.

        Looked at before anything is said under the fixed name, which would cut off whoever has it.
        """
        if self._presence is None:
            return False
        statuses = await survey(self._address, self._presence.member)
        if not self._surveyed:
            self._presence.take_over(statuses)
            self._surveyed = True
        elif any(status.epoch > self._presence.epoch.epoch for status in statuses):
            self.intake.replaced.set()
            self._stop.set()
        return self.intake.replaced.is_set()

    async def _live(self) -> None:
        self.intake.connect()
        async with connect(self._address, *self._identity()) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._pump, client)
                tasks.start_soon(self._session, client, tasks)
                tasks.start_soon(self._end_when_replaced)
                await self._stop.wait()
                tasks.cancel_scope.cancel()
            if not self.intake.replaced.is_set():
                await self._farewell(client)

    def _identity(self) -> tuple[str, Will | None]:
        if self._presence is None:
            return f"evictd-reader-{uuid4().hex[:12]}", None
        self._presence.connect()
        member = self._presence.member
        return member.client_id, Will(member.topic, self._presence.will(), qos=1, retain=True)

    async def _pump(self, client: Client) -> None:
        """The only reader of the client: another that was cancelled would lose messages."""
        async for message in client.messages:
            payload = message.payload
            if isinstance(payload, bytes | bytearray):
                self.intake.take(message.topic.value, bytes(payload), listed=message.retain)

    async def _end_when_replaced(self) -> None:
        await self.intake.replaced.wait()
        self._stop.set()

    async def _session(self, client: Client, tasks: anyio.abc.TaskGroup) -> None:
        if self._presence is not None:
            await subscribe(client, self._presence.member.rivals[:1], no_local=False)
            await self._look_for_a_successor()
        await self._list(client, PresenceStatus.INIT)
        await self._say(client, PresenceStatus.READY)
        self.connected.set()
        self.problem = ""
        log.info("connected", broker=self._address.url)
        for _ in range(WINDOW):
            tasks.start_soon(self._send, client)
        tasks.start_soon(self._watch, client)
        tasks.start_soon(self._report, client)
        while True:
            await self._relist.wait()
            await self._list(client, PresenceStatus.READY)

    async def _look_for_a_successor(self) -> None:
        """A takeover and a dead broker look the same, except in the status. [mqtt 6: 26]"""
        with anyio.move_on_after(QUIET_SECONDS):
            await self.intake.standing.wait()
        if self.intake.replaced.is_set():
            await anyio.sleep_forever()  # until the connection is ended

    async def _list(self, client: Client, status: str) -> None:
        self._relist.clear()
        rivals = self._presence.member.rivals[1:] if self._presence is not None else ()
        filters = tuple(self._filters)
        if wanted := (*rivals, *filters):
            await subscribe(client, wanted, no_local=True)
        if self._presence is None:
            await quiet(lambda: self.intake.listed_at)
        else:
            await self._await_marker(client, self._presence, status)
        self.intake.finish_list((*rivals, *filters))

    async def _await_marker(self, client: Client, presence: Presence, status: str) -> None:
        self.intake.complete.clear()
        self.intake.marker = presence.marker(status)
        await self._publish_status(client, presence, self.intake.marker)
        with anyio.move_on_after(LIST_SECONDS):
            await self.intake.complete.wait()
            return
        log.error(
            "the own status does not come back: look at the broker's access list",
            topic=presence.member.topic,
        )
        raise MqttError(f"{presence.member.topic} did not come back in {LIST_SECONDS:g} s")

    async def _send(self, client: Client) -> None:
        while True:
            outgoing = await self.outbox.take()
            confirmed = False
            try:
                await client.publish(
                    outgoing.topic,
                    outgoing.payload,
                    qos=1,
                    retain=outgoing.retain,
                    timeout=PUBLISH_SECONDS,
                )
                confirmed = True
            finally:
                if confirmed:
                    self.outbox.confirm()
                else:
                    self.outbox.give_back(outgoing)
            if outgoing.retain:
                self.ledger.confirm(outgoing.topic, outgoing.payload)

    async def _watch(self, client: Client) -> None:
        """Ask again and again: a broker that is stopped keeps its connections open.

        A subscription that exists already is a round trip that nobody else sees.
        """
        loop = asyncio.get_running_loop()
        filters = self._presence.member.rivals[:1] if self._presence else tuple(self._filters)[:1]
        while filters:
            await anyio.sleep(WATCH_SECONDS)
            asked = loop.time()
            alarm = loop.call_later(STALL_SECONDS, self._stalls)
            try:
                await subscribe(client, filters, no_local=self._presence is None, listing=False)
            finally:
                alarm.cancel()
            self.answer_seconds = loop.time() - asked
            if self.stalled:
                self.stalled = False
                log.info("the broker answers again", after_seconds=round(self.answer_seconds, 1))
                self.intake.contested.set()

    def _stalls(self) -> None:
        self.stalled = True
        log.error("the broker does not answer", broker=self._address.url)

    async def _report(self, client: Client) -> None:
        """The status again, with its figures, and at once where somebody overwrote it."""
        while self._presence is not None:
            with anyio.move_on_after(STATUS_SECONDS):
                await self.intake.contested.wait()
            self.intake.contested.clear()
            await self._say(client, PresenceStatus.READY)

    async def _say(self, client: Client, status: str) -> None:
        if self._presence is not None:
            payload = self._presence.say(status)
            await self._publish_status(client, self._presence, payload)
            self.ledger.confirm(self._presence.member.topic, payload)

    async def _publish_status(self, client: Client, presence: Presence, payload: bytes) -> None:
        topic = presence.member.topic
        await client.publish(topic, payload, qos=1, retain=True, timeout=PUBLISH_SECONDS)

    async def _farewell(self, client: Client) -> None:
        """What still waits, then the last word; a clean end sends no will."""
        with anyio.move_on_after(FAREWELL_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._send, client)
                with anyio.move_on_after(FAREWELL_SECONDS / 2):
                    await self.outbox.drained()
                tasks.cancel_scope.cancel()
            # What a broker writes to us after the end it takes for a loss, and sends the will.
            rivals = self._presence.member.rivals if self._presence is not None else ()
            if wanted := [*rivals, *self._filters]:
                await client.unsubscribe(wanted, timeout=PUBLISH_SECONDS)
            await self._say(client, PresenceStatus.DISCONNECTED)
