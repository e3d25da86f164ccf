"""One connection to a broker through aiomqtt, with the settings of every link in one place.

[mqtt 5, 14] [mqtt 6: 3, 6, 10, 21]
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import copy_context
from typing import Any
from uuid import uuid4

import anyio
import structlog
from aiomqtt import Client, MqttError, ProtocolVersion, Will
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from evictd.shell.bus.address import Address
from evictd.shell.bus.presence import Member
from evictd.shell.ending import cancelled
from evictd_schemas import WorkerStatus

KEEPALIVE_SECONDS = 15
"""Above the longest stall of a broker that saves its store; the watch of the link is quicker."""
CONNECT_SECONDS = 5.0
RECEIVE_MAX = 200_000
"""Received messages that wait for the pump: far above any list, so that a full queue is a fault."""
WINDOW = 20
"""Publishes in flight: fastest there, and slower again above 100."""
QUIET_SECONDS = 0.3
"""Nothing more came in this time: the list is taken as complete where no marker can be sent."""
REFUSALS_MAX = 20
"""Topics of one connection on which a refusal is told; it stands for many more then."""
LOGGER = logging.getLogger("evictd.mqtt")
NO_DELAY = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)

log = structlog.get_logger(__name__)


class _Client(Client):
    """aiomqtt's, which takes a refusal for an acknowledgement.

    To say it again would change nothing, but whoever runs the broker has to know.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._refused: dict[str, None] = {}
        self._context = copy_context()
        """Who we are, for the log: paho calls back without it."""

    def _on_publish(
        self, client: Any, userdata: Any, mid: int, reason_code: ReasonCode, properties: Any
    ) -> None:
        if reason_code.is_failure:
            topic = client._out_messages[mid].topic  # noqa: SLF001 - paho tells the number alone
            self._context.run(self._tell, topic, str(reason_code))
        super()._on_publish(client, userdata, mid, reason_code, properties)

    def _tell(self, topic: str, reason: str) -> None:
        if topic in self._refused or len(self._refused) >= REFUSALS_MAX:
            return
        self._refused[topic] = None
        log.error(
            "the broker refuses what is said: look at its access list", topic=topic, reason=reason
        )


@asynccontextmanager
async def connect(
    address: Address, client_id: str, will: Will | None = None
) -> AsyncIterator[Client]:
    """A new client for each connection; raises `MqttError`.

    A client that connected again would later send what it had reported as failed.
    """
    client = _Client(
        address.host,
        address.port,
        username=address.username,
        password=address.password,
        identifier=client_id,
        protocol=ProtocolVersion.V5,
        clean_start=True,
        will=will,
        keepalive=KEEPALIVE_SECONDS,
        timeout=CONNECT_SECONDS,
        max_queued_incoming_messages=RECEIVE_MAX,
        socket_options=NO_DELAY,
        tls_context=ssl.create_default_context() if address.tls else None,
        logger=LOGGER,
    )
    client.pending_calls_threshold = 2 * WINDOW
    try:
        await client.__aenter__()
    except MqttError:
        client._client.disconnect()  # noqa: SLF001 - aiomqtt leaves the socket open and its task running
        raise
    try:
        yield client
    finally:
        ended = client._disconnected  # noqa: SLF001 - aiomqtt does not read why a broker left at our end
        if ended.done() and not ended.cancelled():
            ended.exception()  # or asyncio logs an error that nobody made
        await client.__aexit__(None, None, None)


async def subscribe(
    client: Client, filters: Sequence[str], *, no_local: bool, listing: bool = True
) -> None:
    """QoS 1. `listing`: with the retained messages."""
    options = SubscribeOptions(
        qos=1,
        noLocal=no_local,
        retainHandling=SubscribeOptions.RETAIN_SEND_ON_SUBSCRIBE
        if listing
        else SubscribeOptions.RETAIN_DO_NOT_SEND,
    )
    await client.subscribe([(name, options) for name in filters])


async def quiet(last_seconds: Callable[[], float]) -> None:
    """Wait until nothing has come for `QUIET_SECONDS`; `last_seconds`: when something came last."""
    began_seconds = anyio.current_time()
    while True:
        heard_seconds = max(began_seconds, last_seconds())
        rest_seconds = heard_seconds + QUIET_SECONDS - anyio.current_time()
        if rest_seconds <= 0:
            return
        await anyio.sleep(rest_seconds)


async def survey(address: Address, member: Member) -> list[WorkerStatus]:
    """The retained statuses of this process's role on its node, read under a name of its own.

    The fixed one would end the connection of a live holder, whose will would then hide it.
    """
    statuses = []

    async def read(client: Client) -> None:
        async for message in client.messages:
            if isinstance(message.payload, bytes | bytearray):
                status = member.read(bytes(message.payload))
                statuses.extend([] if status is None else [status])

    async with connect(address, f"{member.client_id}-{uuid4().hex[:8]}") as client:
        await subscribe(client, member.rivals, no_local=True)
        reading = asyncio.ensure_future(read(client))
        await anyio.sleep(QUIET_SECONDS)
        await cancelled(reading)
    return statuses
