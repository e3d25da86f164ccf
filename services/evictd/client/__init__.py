"""The bus as typed objects: what the command line, the gateway and outside programs read.

    async with connect("mqtt://127.0.0.1:1883") as mirror:
        await mirror.complete()
        for found in mirror.objects(topics.EVICTION):
            print(found.place.node, found.place.names["name"], found.message.status)
        async for change in mirror.watch():
            ...

It knows the contract and nothing of how workers decide.
"""

from evictd.client.connection import connect
from evictd.client.mirror import Change, Found, Mirror, Unreadable

__all__ = ["Change", "Found", "Mirror", "Unreadable", "connect"]
