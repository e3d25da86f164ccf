"""What an evictor that is started anew finds of its own on the bus: who went how often.

[design, law 5]
"""

import msgspec
import pytest
from tests.services.test_evictor import (
    Ear,
    observation,
    pressure,
    say,
    serving,
    settle,
    status,
)

from evictd.shell.bus import Router
from evictd_schemas import EvictionRequest, RequestStatus, topics

pytestmark = pytest.mark.looptime

UIDS = tuple(f"0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a1{life}" for life in range(3))


def evicted(life: int) -> bytes:
    """The controller's last word about the request for one life."""
    told = msgspec.json.decode(status("TargetEvicted", "PodDeleted"), type=RequestStatus)
    return msgspec.json.encode(msgspec.structs.replace(told, uid=UIDS[life]))


async def test_a_loop_is_told_though_each_eviction_was_counted_by_another_process() -> None:
    """One process for each life of the workload, and the third says it."""
    router, ear = Router(), Ear()
    router.attach(ear)
    for life, uid in enumerate(UIDS):
        async with serving(router):
            pods = [{"namespace": "shop", "name": "web", "uid": uid}]
            say(router, topics.OBSERVATION.at("edge"), observation(10 * life + 1, pods=pods))
            say(router, topics.PRESSURE.at("edge"), pressure(10 * life + 1))
            await settle()
            (asked,) = (
                topic
                for topic, payload in router.retained.items()
                if "/evictionrequests/" in topic
                and msgspec.json.decode(payload, type=EvictionRequest).spec.intent == "Eviction"
            )
            say(router, f"{asked}/status", evicted(life), retain=False)
            say(router, topics.OBSERVATION.at("edge"), observation(10 * life + 2, pods=[]))
            say(router, topics.PRESSURE.at("edge"), pressure(10 * life + 2, met=False))
            await settle()
    told = [heard.topic for heard in ear.heard if heard.topic.endswith("/EvictionLoop")]
    assert len(told) == 1
    assert [len(one.times) for one in ear.decisions()[-1].evictions] == [3]
