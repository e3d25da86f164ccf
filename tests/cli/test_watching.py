"""`evictd watch`: what is there, and then what comes."""

import asyncio

from tests.cli.bus import (
    EVICTED,
    NODE,
    Stage,
    ago,
)

from evictd.cli import watch
from evictd_schemas import topics

OTHER = "5b0e3a56-9a51-4c7e-8f2b-0f3f6f7d2b10"


def test_a_collected_eviction_is_told_as_such_to_who_watches() -> None:
    stage = Stage()
    stage.evict()
    (item,) = watch.present(stage.mirror)
    assert watch.text(item, "evictions", "name") == "shop/pod-1-web"
    assert watch.text(item, "evictions", "json").startswith('{"node":"edge-7","topic":"evictd/v1/')


async def test_who_watches_sees_what_is_there_and_then_what_comes() -> None:
    stage = Stage()
    stage.evict()
    items = watch.items(stage.mirror, "evictions")
    assert (await anext(items)).cells[4] == "Running"
    coming = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    stage.evict(conditions=EVICTED)
    assert (await coming).cells[4] == "Evicted"
    coming = asyncio.ensure_future(anext(items))
    stage.say(topics.EVICTION, None, namespace="shop", name="pod-1-web")
    assert (await coming).cells[4] == "Collected"


async def test_who_watches_requests_sees_each_answer_and_no_mere_passing_of_time() -> None:
    stage = Stage()
    place = {"domain": "acme.io", "key": "mover", "namespace": "shop", "name": "move"}
    spec = {"target": {"pod": {"name": "web", "uid": OTHER}}, "requester": "acme.io/mover"}
    stage.say(topics.REQUEST, {"spec": {**spec, "intent": "Eviction"}}, **place)
    items = watch.items(stage.mirror, "requests")
    assert (await anext(items)).cells[5] == "no answer yet"
    coming = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    stage.evict()
    status = {"uid": OTHER, "generation": 1, "creationTimestamp": ago(0), "conditions": []}
    stage.say(topics.REQUEST_STATUS, status, **place)
    found = await coming
    assert found.cells[5] == "Awaiting"
    assert watch.text(found, "requests", "yaml").startswith("---\n")
    coming = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    stage.say(topics.REQUEST, None, **place)
    assert (await coming).document["gone"] is True


async def test_who_watches_responders_sees_them_come_work_and_go() -> None:
    stage = Stage()
    items = watch.items(stage.mirror, "responders")
    coming = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    stage.say(topics.REGISTRATION, {"status": "ready"}, domain="acme.io", key="copy")
    assert (await coming).cells[:3] == (NODE, "acme.io/copy", "ready")
    coming = asyncio.ensure_future(anext(items))
    stage.say(topics.REGISTRATION, {"status": "lost"}, domain="acme.io", key="copy")
    assert (await coming).cells[2] == "lost"
    coming = asyncio.ensure_future(anext(items))
    stage.say(topics.REGISTRATION, None, domain="acme.io", key="copy")
    assert (await coming).cells[-1] == "Collected"


async def test_events_come_as_rows() -> None:
    stage = Stage()
    coming = asyncio.ensure_future(anext(watch.items(stage.mirror, "events")))
    await asyncio.sleep(0)
    data = {"reason": "Evicted", "message": "shop/web is gone"}
    event = {"id": "1", "source": "s", "type": "t", "time": ago(0), "data": data}
    stage.say(topics.EVENT, event, worker="controller", reason="Evicted")
    assert (await coming).cells == (
        "2026-11-30T08:10:00Z",
        NODE,
        "controller",
        "Evicted",
        "shop/web is gone",
    )
