"""The client against a real broker. It may not write, so that its list ends when it gets quiet."""

import asyncio
from typing import Any

import pytest
from aiomqtt import Client, ProtocolVersion

from evictd.client import connect
from evictd.core.errors import PeerError
from evictd_schemas import Wish, topics

WISH = {"domain": "acme.io", "key": "person", "name": "hold"}


async def test_after_connecting_the_list_is_complete(broker: Any) -> None:
    async with Client("127.0.0.1", broker.port, protocol=ProtocolVersion.V5) as someone:
        for number in range(500):
            topic = topics.WISH.at("edge-7", domain="acme.io", key="person", name=f"w{number}")
            await someone.publish(topic, b'{"verb":"Hold"}', qos=1, retain=True)
    async with connect(broker.url) as mirror:
        assert len(mirror.objects(topics.WISH)) == 500
        assert mirror.authoritative


async def test_the_list_gets_complete_however_much_others_say_meanwhile(broker: Any) -> None:
    """Near a line a node observes ten times a second: just then somebody looks."""
    topic = topics.WISH.at("edge-7", **WISH)

    async def talk(someone: Client) -> None:
        while True:
            await someone.publish(topic, b'{"verb":"Hold"}', qos=1, retain=True)
            await asyncio.sleep(0.05)

    async with Client("127.0.0.1", broker.port, protocol=ProtocolVersion.V5) as someone:
        talking = asyncio.ensure_future(talk(someone))
        async with connect(broker.url, seconds=5) as mirror:
            assert mirror.get(topics.WISH, "edge-7", **WISH) == Wish(verb="Hold")
        talking.cancel()
        await asyncio.wait([talking])


async def test_what_was_published_inside_is_there_after_the_end(broker: Any) -> None:
    async with connect(broker.url) as mirror:
        mirror.publish(topics.WISH, Wish(verb="Hold"), "edge-7", **WISH)
    async with connect(broker.url, "edge-7") as mirror:
        assert mirror.get(topics.WISH, "edge-7", **WISH) == Wish(verb="Hold")


async def test_changes_of_others_come_while_it_is_open(broker: Any) -> None:
    async with connect(broker.url) as reader:
        changes = reader.watch(topics.WISH)
        coming = asyncio.ensure_future(anext(changes))
        async with connect(broker.url) as writer:
            writer.publish(topics.WISH, Wish(verb="Hold"), "edge-7", **WISH)
        change = await asyncio.wait_for(coming, 10)
        await changes.aclose()
    assert change.found is not None
    assert (change.found.message, change.listed) == (Wish(verb="Hold"), False)


async def test_without_a_broker_the_error_names_where_it_was_looked_for() -> None:
    with pytest.raises(PeerError, match=r"no broker at mqtt://127.0.0.1:9: .*refused"):
        async with connect("mqtt://127.0.0.1:9", seconds=0.5):
            pass
