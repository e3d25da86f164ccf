"""The evictor on a bus in memory and on virtual time, behind a real evaluator where it matters."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests import ear as ears

from evictd.core.decision import Plan
from evictd.core.evaluation import Watch
from evictd.core.rules import KUBELET, Candidates, Mode, Rules
from evictd.core.signals.thresholds import Amount, Threshold
from evictd.evaluator import Evaluator
from evictd.evictor import Evictor
from evictd.shell.blocking import inline
from evictd.shell.bus import Router
from evictd.shell.clock import LoopClock
from evictd.shell.epoch import Epoch
from evictd.shell.inbox import Inbox
from evictd.shell.journal import MemoryJournal
from evictd.shell.serving import NODES_MAX
from evictd.shell.supervise import Outside
from evictd_schemas import (
    Condition,
    Decision,
    EvictionRequest,
    Order,
    Pressure,
    RequestStatus,
    ThresholdStatus,
    topics,
)

pytestmark = pytest.mark.looptime

START = datetime(2026, 1, 1, tzinfo=UTC)
GI = 2**30
UID = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
MEMORY = Threshold(signal="memory.available", value=Amount(quantity=GI, text="1Gi"))
DISK = Threshold(signal="nodefs.available", value=Amount(quantity=GI, text="1Gi"))
REQUEST = topics.REQUEST.at(
    "edge", domain="evictd.io", key="node-pressure", namespace="shop", name="web-0d9f6a52"
)


class Ear(ears.Ear):
    """Hears all that is published."""

    def decisions(self, node: str = "edge") -> list[Decision]:
        payloads = self.on(topics.DECISION.at(node))
        return [msgspec.json.decode(payload, type=Decision) for payload in payloads if payload]


def rules_of(node: str) -> Rules | None:
    if node == "nobody":
        return None
    return Rules(
        node=node,
        mode=Mode.ACT,
        profile=KUBELET,
        candidates=Candidates.ALL,
        thresholds=(MEMORY, DISK),
        local_storage_capacity_isolation=False,
    )


def outside_of(router: Router, state: type[Any], scope: str = "+") -> Outside[Any, Any, Any]:
    clock = LoopClock(START)
    return Outside(
        node="edge",
        scope=scope,
        bus=router,
        epoch=Epoch(1),
        inbox=Inbox(clock),
        clock=clock,
        journal=MemoryJournal[state, Any](),
        run_blocking=inline,
        rules=rules_of,
    )


@asynccontextmanager
async def serving(router: Router, *, evaluator: bool = False) -> AsyncIterator[Evictor]:
    """The evictor, behind a real evaluator if wanted, until the block ends."""
    outsides = [outside_of(router, Plan)]
    worker = Evictor(outsides[0])
    tasks = [asyncio.create_task(worker.run())]
    if evaluator:
        outsides.append(outside_of(router, Watch))
        tasks.append(asyncio.create_task(Evaluator(outsides[1]).run()))
    await settle()
    yield worker
    for outside in outsides:
        outside.inbox.close()
    await asyncio.gather(*tasks)


async def settle() -> None:
    """Let everything that is ready happen."""
    await asyncio.sleep(0.01)


def observation(
    sequence: int, memory: float = 4, *, node: str = "edge", disk: float = 9, **fields: Any
) -> bytes:
    return msgspec.json.encode(
        {
            "node": node,
            "time": START + timedelta(seconds=sequence),
            "sequence": sequence,
            "bootId": "one",
            "uptimeSeconds": sequence,
            "signals": {
                "memory.available": {"available": memory * GI, "capacity": 8 * GI},
                "nodefs.available": {"available": disk * GI, "capacity": 80 * GI},
            },
            "pods": [{"namespace": "shop", "name": "web", "uid": UID}],
            **fields,
        }
    )


def pressure(
    sequence: int, *, met: bool = True, node: str = "edge", rev: int | None = None
) -> bytes:
    threshold = ThresholdStatus(
        signal="memory.available",
        operator="LessThan",
        value="1Gi",
        quantity=GI,
        grace_period_seconds=0,
        available=GI // 2,
        capacity=8 * GI,
        observation_time=START + timedelta(seconds=sequence),
        met=met,
        met_with_minimum_reclaim=met,
        due=met,
    )
    return msgspec.json.encode(
        Pressure(
            node=node,
            time=START,
            sequence=sequence,
            conditions=(),
            thresholds=(threshold,),
            epoch=1,
            rev=sequence,
        )
    )


def say(router: Router, topic: str, payload: bytes, *, retain: bool = True) -> None:
    router.publish(topic, payload, retain=retain)


def status(kind: str, reason: str) -> bytes:
    return msgspec.json.encode(
        RequestStatus(
            uid=UID,
            generation=1,
            creation_timestamp=START,
            conditions=(Condition(type=kind, status="True", reason=reason),),
        )
    )


async def test_a_shortage_becomes_a_request_and_its_end_clears_it() -> None:
    router, ear = Router(), Ear()
    router.attach(ear)
    async with serving(router, evaluator=True):
        say(router, topics.OBSERVATION.at("edge"), observation(1, memory=0.5))
        await settle()
        assert ear.decisions()[-1].action == "Evict"
        request = msgspec.json.decode(router.retained[REQUEST], type=EvictionRequest)
        assert request.spec.requester == "evictd.io/node-pressure"
        assert (request.epoch, request.spec.type) == (1, "Hard")
        say(router, f"{REQUEST}/status", status("TargetEvicted", "PodDeleted"))
        await settle()
        assert REQUEST not in router.retained


async def test_a_pressure_waits_for_its_observation() -> None:
    """Two writers, two topics: whichever comes first. [contract 3, Pressure]"""
    router = Router()
    async with serving(router):
        say(router, topics.OBSERVATION.at("edge"), observation(1))
        say(router, topics.PRESSURE.at("edge"), pressure(2))
        await settle()
        assert REQUEST not in router.retained
        say(router, topics.OBSERVATION.at("edge"), observation(2))
        await settle()
        assert REQUEST in router.retained


async def test_a_later_observation_serves_an_earlier_pressure() -> None:
    router = Router()
    async with serving(router):
        say(router, topics.OBSERVATION.at("edge"), observation(5))
        say(router, topics.PRESSURE.at("edge"), pressure(4))
        await settle()
        assert REQUEST in router.retained


async def test_nothing_is_decided_on_the_list() -> None:
    router = Router()
    say(router, topics.OBSERVATION.at("edge"), observation(1))
    say(router, topics.PRESSURE.at("edge"), pressure(1))
    async with serving(router):
        await settle()
        assert REQUEST not in router.retained
        say(router, topics.OBSERVATION.at("edge"), observation(2))
        say(router, topics.PRESSURE.at("edge"), pressure(2))
        await settle()
        assert REQUEST in router.retained


async def test_a_restart_takes_up_its_own_requests() -> None:
    """Rebuilt from retained messages: the same pod is not asked twice, and the answer that came
    meanwhile is heard. [design, law 5]"""
    router, ear = Router(), Ear()
    async with serving(router):
        say(router, topics.OBSERVATION.at("edge"), observation(1))
        say(router, topics.PRESSURE.at("edge"), pressure(1))
        await settle()
    assert REQUEST in router.retained
    router.attach(ear)
    ear.heard.clear()
    async with serving(router):
        say(router, topics.OBSERVATION.at("edge"), observation(2))
        say(router, topics.PRESSURE.at("edge"), pressure(2))
        await settle()
        assert ear.on(REQUEST) == []
        assert ear.decisions()[-1].action == "Wait"
    say(router, f"{REQUEST}/status", status("TargetEvicted", "PodDeleted"))
    async with serving(router):
        await settle()
        assert REQUEST not in router.retained


async def test_a_greater_epoch_of_an_earlier_life_is_outranked() -> None:
    router, ear = Router(), Ear()
    old = Decision(
        node="edge", time=START, sequence=1, mode="act", action="None", reason="", epoch=77
    )
    say(router, topics.DECISION.at("edge"), msgspec.json.encode(old))
    router.attach(ear)
    async with serving(router):
        say(router, topics.OBSERVATION.at("edge"), observation(2))
        say(router, topics.PRESSURE.at("edge"), pressure(2))
        await settle()
        assert ear.decisions()[-1].epoch > 77


async def test_a_reclaim_without_an_answer_ends_at_its_deadline() -> None:
    router, ear = Router(), Ear()
    router.attach(ear)
    async with serving(router, evaluator=True):
        say(router, topics.OBSERVATION.at("edge"), observation(1, disk=0.5))
        await settle()
        topic = topics.ORDER.at("edge", name="reclaim")
        order = msgspec.json.decode(router.retained[topic], type=Order)
        assert order.steps == ("containers", "images")
        assert REQUEST not in router.retained
        await asyncio.sleep(61)
        assert topic not in router.retained
        assert REQUEST in router.retained


async def test_each_node_is_decided_for_on_its_own() -> None:
    router, ear = Router(), Ear()
    router.attach(ear)
    async with serving(router, evaluator=True) as worker:
        say(router, topics.OBSERVATION.at("demo-1"), observation(1, memory=0.5, node="demo-1"))
        say(router, topics.OBSERVATION.at("edge"), observation(1))
        say(router, topics.OBSERVATION.at("nobody"), observation(1, memory=0.5, node="nobody"))
        await settle()
        assert ear.decisions("demo-1")[-1].action == "Evict"
        assert ear.decisions("edge")[-1].action == "None"
        assert set(worker.plans) == {"demo-1", "edge"}


async def test_a_foreign_node_that_the_evaluator_forgot_is_forgotten_here() -> None:
    router = Router()
    async with serving(router) as worker:
        say(router, topics.OBSERVATION.at("demo-1"), observation(1, node="demo-1"))
        say(router, topics.PRESSURE.at("demo-1"), pressure(1, node="demo-1"))
        await settle()
        say(router, topics.PRESSURE.at("demo-1"), b"")
        await settle()
        assert "demo-1" not in worker.plans
        assert not [topic for topic in router.retained if "/decision" in topic]
        assert not [topic for topic in router.retained if "/evictionrequests/" in topic]


async def test_nodes_beyond_the_bound_are_refused_and_counted() -> None:
    router = Router()
    async with serving(router) as worker:
        for number in range(NODES_MAX + 3):
            node = f"demo-{number}"
            say(router, topics.OBSERVATION.at(node), observation(1, node=node))
        await settle()
        assert worker.served.refused == 3


@pytest.mark.parametrize(
    ("topic", "payload", "field"),
    [
        (topics.PRESSURE.at("edge"), pressure(1, node="other"), "node"),
        (topics.PRESSURE.at("edge"), b'{"node":', "$"),
        (
            topics.ORDER_STATUS.at("edge", name="reclaim"),
            b'{"orderUid":"a","state":"Odd"}',
            "state",
        ),
        (
            topics.STOPPED.at("edge", namespace="shop", name="web"),
            b'{"uid":"x","time":"2026-01-01T00:00:00Z"}',
            "uid",
        ),
        (topics.WISH.at("edge", domain="acme.io", key="me", name="a"), b'{"verb":"Stop"}', "verb"),
        (
            topics.WISH.at("edge", domain="acme.io", key="me", name="a"),
            b'{"verb":"Hold","target":"web"}',
            "target",
        ),
    ],
)
async def test_the_evictor_answers_for_what_it_judges(
    topic: str, payload: bytes, field: str
) -> None:
    """Once for the same payload. [contract 1, Rejection]"""
    router, ear = Router(), Ear()
    router.attach(ear)
    async with serving(router):
        for _ in range(2):
            say(router, topic, payload)
        await settle()
        (event,) = ear.events("evictor/MessageRejected")
        assert (event.data["topic"], event.data["field"]) == (topic, field)


async def test_what_others_judge_is_only_counted() -> None:
    router, ear = Router(), Ear()
    router.attach(ear)
    async with serving(router) as worker:
        say(router, topics.OBSERVATION.at("edge"), observation(1, node="other"))
        say(router, topics.EVICTION.at("edge", namespace="shop", name="pod-1-web"), b"[]")
        await settle()
        assert ear.events("evictor/MessageRejected") == []
        assert worker.reception.rejected == 2


async def test_repeated_and_reordered_messages_make_one_request() -> None:
    router, ear = Router(), Ear()
    router.attach(ear)
    async with serving(router):
        for sequence in (2, 1, 2, 2):
            say(router, topics.OBSERVATION.at("edge"), observation(sequence))
            say(router, topics.PRESSURE.at("edge"), pressure(sequence))
            await settle()
        assert len(ear.on(REQUEST)) == 1
        assert len(ear.decisions()) == 1
