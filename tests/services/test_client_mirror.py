"""The typed mirror over a router in memory. [contract 1, Order]"""

import asyncio

import msgspec
import pytest

from evictd.client import Mirror, mirror
from evictd.shell.bus import Router
from evictd_schemas import EvictionRequest, Wish, WorkerStatus, topics

NODE = "edge-7"
WISH = topics.WISH.at(NODE, domain="acme.io", key="person", name="hold")
STATUS = topics.WORKER.at(NODE, worker="all")
PRESSURE = topics.PRESSURE.at(NODE)
REQUEST = {"domain": "acme.io", "key": "mover", "namespace": "shop", "name": "move-web"}


@pytest.fixture
def bus() -> Router:
    return Router()


@pytest.fixture
def attached(bus: Router) -> Mirror:
    reader = Mirror(bus)
    bus.attach(reader)
    return reader


def pressure(epoch: int, rev: int, sequence: int = 1) -> bytes:
    return (
        b'{"node":"edge-7","epoch":%d,"rev":%d,"time":"2026-01-01T00:00:00Z","sequence":%d,'
        b'"conditions":[],"thresholds":[]}' % (epoch, rev, sequence)
    )


def test_objects_are_found_by_kind_and_by_name(bus: Router, attached: Mirror) -> None:
    bus.publish(WISH, b'{"verb":"Hold"}', retain=True)
    bus.publish(
        topics.WISH.at("other", domain="a.io", key="b", name="c"),
        b'{"verb":"Restore"}',
        retain=True,
    )
    assert [found.message.verb for found in attached.objects(topics.WISH)] == ["Hold", "Restore"]
    assert [found.topic for found in attached.objects(topics.WISH, NODE)] == [WISH]
    assert attached.get(topics.WISH, NODE, domain="acme.io", key="person", name="hold") == Wish(
        verb="Hold"
    )
    assert attached.get(topics.PRESSURE, NODE) is None


def test_what_is_cleared_is_gone(bus: Router, attached: Mirror) -> None:
    bus.publish(WISH, b'{"verb":"Hold"}', retain=True)
    bus.publish(WISH, b"", retain=True)
    assert attached.objects(topics.WISH) == []


def test_only_a_greater_pair_counts_until_the_topic_is_cleared(
    bus: Router, attached: Mirror
) -> None:
    for epoch, rev, sequence in ((2, 5, 1), (2, 4, 2), (1, 9, 3), (2, 5, 4)):
        bus.publish(PRESSURE, pressure(epoch, rev, sequence), retain=True)
    found = attached.get(topics.PRESSURE, NODE)
    assert found is not None
    assert found.sequence == 1
    bus.publish(PRESSURE, b"", retain=True)
    bus.publish(PRESSURE, pressure(1, 1, 7), retain=True)
    again = attached.get(topics.PRESSURE, NODE)
    assert again is not None
    assert again.sequence == 7


def test_a_status_may_change_under_the_same_pair_and_a_late_will_counts_for_nothing(
    bus: Router, attached: Mirror
) -> None:
    for status, connection in (("ready", 2), ("lost", 1), ("disconnected", 2)):
        message = WorkerStatus(worker="all", status=status, epoch=1, connection=connection)
        bus.publish(STATUS, msgspec.json.encode(message), retain=True)
        held = attached.get(topics.WORKER, NODE, worker="all")
        assert held is not None
        assert held.status == ("disconnected" if status == "disconnected" else "ready")


@pytest.mark.parametrize("payload", [b"{", b"\xff", b"[" * 200_000, b'{"verb":1}', b"null"])
def test_what_cannot_be_read_is_kept_apart_with_the_reason(
    bus: Router, attached: Mirror, payload: bytes
) -> None:
    bus.publish(WISH, payload, retain=True)
    assert attached.objects(topics.WISH) == []
    assert attached.unreadable[WISH].reason
    bus.publish(WISH, b'{"verb":"Hold"}', retain=True)
    assert attached.unreadable == {}


def test_a_node_may_be_read_alone(bus: Router) -> None:
    reader = Mirror(bus, NODE)
    bus.attach(reader)
    bus.publish(WISH, b'{"verb":"Hold"}', retain=True)
    bus.publish(topics.PRESSURE.at("other"), pressure(1, 1), retain=True)
    assert [found.place.node for found in reader.objects(topics.WISH)] == [NODE]
    assert reader.objects(topics.PRESSURE) == []


def test_asking_and_taking_back_is_publishing_and_clearing(bus: Router, attached: Mirror) -> None:
    attached.publish(topics.REQUEST, EvictionRequest(), NODE, **REQUEST)
    assert topics.REQUEST.at(NODE, **REQUEST) in bus.retained
    attached.clear(topics.REQUEST, NODE, **REQUEST)
    assert bus.retained == {}


@pytest.mark.looptime
async def test_changes_come_in_order_events_too(bus: Router, attached: Mirror) -> None:
    event = topics.EVENT.at(NODE, worker="controller", reason="Evicted")
    text = (
        b'{"id":"1","source":"s","type":"evictd.Evicted.v1","time":"2026-01-01T00:00:00Z",'
        b'"data":{}}'
    )
    seen: list[tuple[str, bool]] = []

    async def read() -> None:
        async for change in attached.watch(topics.WISH, topics.EVENT):
            kind, gone = change.place.kind, change.found is None
            seen.append((kind.path, gone))

    task = asyncio.create_task(read())
    await asyncio.sleep(0)
    bus.publish(PRESSURE, pressure(1, 1), retain=True)
    bus.publish(WISH, b'{"verb":"Hold"}', retain=True)
    bus.publish(WISH, b'{"verb":"Hold"}', retain=True)
    bus.publish(event, text, retain=False)
    bus.publish(event, text, retain=False)
    bus.publish(WISH, b"", retain=True)
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.wait([task])
    events = [(topics.EVENT.path, False)] * 2
    assert seen == [(topics.WISH.path, False), *events, (topics.WISH.path, True)]
    assert attached.objects(topics.EVENT) == []


@pytest.mark.looptime
async def test_a_reader_that_is_too_slow_loses_the_oldest_and_it_is_counted(
    bus: Router, attached: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "CHANGES_MAX", 2)
    changes = attached.watch()
    first = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0)
    for verb in (b"Hold", b"Restore", b"Forget", b"Hold"):
        bus.publish(WISH, b'{"verb":"%s"}' % verb, retain=True)
    await first
    assert attached.missed == 2
    await changes.aclose()
