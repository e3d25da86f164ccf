"""The evaluator on a bus in memory and on virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests import ear

from evictd.core.effects import BusEffect
from evictd.core.evaluation import Given, Watch
from evictd.core.rules import KUBELET, Rules
from evictd.core.signals.thresholds import Amount, Threshold
from evictd.evaluator import Evaluator
from evictd.shell.blocking import inline
from evictd.shell.bus import Router
from evictd.shell.clock import LoopClock
from evictd.shell.epoch import Epoch
from evictd.shell.inbox import Inbox
from evictd.shell.journal import MemoryJournal
from evictd.shell.serving import NODES_MAX
from evictd.shell.supervise import Outside
from evictd_schemas import Pressure, topics

pytestmark = pytest.mark.looptime

START = datetime(2026, 1, 1, tzinfo=UTC)
GI = 2**30
HARD = Threshold(signal="memory.available", value=Amount(quantity=GI, text="1Gi"))
SOFT = Threshold(
    signal="memory.available", value=Amount(quantity=2 * GI, text="2Gi"), grace_seconds=60
)


class Ear(ear.Ear):
    """Hears all that is published."""

    def pressures(self, node: str = "edge") -> list[Pressure]:
        return [
            msgspec.json.decode(delivery.payload, type=Pressure)
            for delivery in self.heard
            if delivery.topic == topics.PRESSURE.at(node) and delivery.payload
        ]


def observation(
    available: float,
    sequence: int,
    *,
    node: str = "edge",
    interval: float | None = 10,
    **fields: Any,
) -> bytes:
    return msgspec.json.encode(
        {
            "node": node,
            "time": START + timedelta(seconds=sequence),
            "sequence": sequence,
            "bootId": "boot",
            "uptimeSeconds": float(sequence),
            "intervalSeconds": interval,
            "signals": {"memory.available": {"available": available, "capacity": 8 * GI}},
            "pods": [],
        }
        | fields
    )


class Bench:
    """One evaluator, its router and an ear."""

    def __init__(self) -> None:
        self.router = Router()
        self.ear = Ear()
        self.epoch = Epoch(1000)
        self.clock = LoopClock()
        self.elsewhere = {"nobody"}
        """Nodes that another evaluator serves."""

    def rules_of(self, node: str) -> Rules | None:
        if node in self.elsewhere:
            return None
        return Rules(node=node, profile=KUBELET, thresholds=(HARD, SOFT), transition_seconds=60)

    def observe(self, available: float, sequence: int, **fields: Any) -> None:
        node = fields.get("node", "edge")
        payload = observation(available, sequence, **fields)
        self.router.publish(topics.OBSERVATION.at(node), payload, retain=True)

    @asynccontextmanager
    async def evaluator(self) -> AsyncIterator[Evaluator]:
        outside: Outside[Watch, Given, BusEffect] = Outside(
            node="edge",
            scope="+",
            bus=self.router,
            epoch=self.epoch,
            inbox=Inbox(self.clock),
            clock=self.clock,
            journal=MemoryJournal(),
            run_blocking=inline,
            rules=self.rules_of,
        )
        worker = Evaluator(outside)
        task = asyncio.create_task(worker.run())
        self.router.attach(self.ear)
        await asyncio.sleep(0.01)
        yield worker
        outside.inbox.close()
        await task
        self.router.detach(self.ear)


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def settle() -> None:
    await asyncio.sleep(0.01)


async def test_a_live_observation_is_judged_at_once(bench: Bench) -> None:
    async with bench.evaluator():
        bench.observe(GI / 2, 1)
        await settle()
        (pressure,) = bench.ear.pressures()
        assert [condition.status for condition in pressure.conditions] == [
            "True",
            "Unknown",
            "Unknown",
        ]
        assert [status.due for status in pressure.thresholds] == [True, False]
        assert (pressure.epoch, pressure.rev) == (1000, 1)
        assert [event.data["reason"] for event in bench.ear.events()] == [
            "NodeHasInsufficientMemory"
        ]


async def test_nothing_is_decided_on_a_listed_observation(bench: Bench) -> None:
    bench.observe(GI / 2, 1)
    async with bench.evaluator():
        assert bench.ear.pressures() == []
        bench.observe(GI / 2, 2)
        await settle()
        assert len(bench.ear.pressures()) == 1


async def test_silence_makes_the_conditions_unknown_and_says_so_once(bench: Bench) -> None:
    async with bench.evaluator():
        bench.observe(GI / 2, 1)
        await asyncio.sleep(29)
        assert len(bench.ear.pressures()) == 1
        await asyncio.sleep(100)
        first, stale = bench.ear.pressures()
        assert {condition.reason for condition in stale.conditions} == {"ObservationStale"}
        assert {condition.status for condition in stale.conditions} == {"Unknown"}
        assert stale.thresholds == first.thresholds
        assert [event.data["reason"] for event in bench.ear.events()] == [
            "NodeHasInsufficientMemory",
            "ObservationStale",
        ]
        bench.observe(GI / 2, 130)
        await settle()
        assert bench.ear.pressures()[-1].conditions[0].status == "True"
        assert len(bench.ear.events()) == 2


async def test_an_observation_without_an_interval_does_not_age(bench: Bench) -> None:
    async with bench.evaluator():
        bench.observe(GI / 2, 1, interval=None)
        await asyncio.sleep(3600)
        assert len(bench.ear.pressures()) == 1


async def test_a_soft_grace_goes_on_over_a_restart(bench: Bench) -> None:
    async with bench.evaluator():
        bench.observe(1.5 * GI, 10)
        await settle()
    async with bench.evaluator():
        bench.observe(1.5 * GI, 20)
        await settle()
        soft = bench.ear.pressures()[-1].thresholds[1]
        assert soft.first_observed is not None
        assert (soft.due, soft.first_observed.uptime_seconds) == (False, 10)
        for sequence in range(30, 71, 10):
            bench.observe(1.5 * GI, sequence)
            await settle()
        assert bench.ear.pressures()[-1].thresholds[1].due
    reasons = [event.data["reason"] for event in bench.ear.events()]
    assert reasons == ["NodeHasInsufficientMemory"]


async def test_a_former_life_raises_the_epoch(bench: Bench) -> None:
    async with bench.evaluator():
        bench.observe(GI / 2, 1)
        await settle()
    bench.epoch = Epoch(5)
    async with bench.evaluator():
        bench.observe(GI / 2, 2)
        await settle()
        assert bench.ear.pressures()[-1].epoch == 1001


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        (b"{", "$"),
        (b"[]", "$"),
        (b"\xff", "$"),
        (observation(1, 5, node="other"), "node"),
        (observation(2, 1), "sequence"),
        (observation(1, 5, pods=[{"namespace": "a", "name": "b", "uid": "X"}]), "pods[0].uid"),
    ],
)
async def test_a_wrong_observation_is_answered_and_changes_nothing(
    bench: Bench, payload: bytes, field: str
) -> None:
    async with bench.evaluator() as evaluator:
        bench.observe(GI / 2, 1)
        await settle()
        watches = dict(evaluator.watches)
        bench.router.publish(topics.OBSERVATION.at("edge"), payload, retain=False)
        bench.router.publish(topics.OBSERVATION.at("edge"), payload, retain=False)
        await settle()
        rejected = [
            event for event in bench.ear.events() if event.data["reason"] == "MessageRejected"
        ]
        assert [event.data["field"] for event in rejected] == [field]
        assert evaluator.watches == watches
        assert evaluator.reception.rejected == 2


async def test_the_same_observation_again_changes_nothing(bench: Bench) -> None:
    async with bench.evaluator() as evaluator:
        bench.observe(GI / 2, 1)
        bench.observe(GI / 2, 1)
        await settle()
        bench.observe(GI / 2, 1)
        await settle()
        assert len(bench.ear.pressures()) == 1
        assert evaluator.reception.rejected == 0


async def test_a_foreign_node_that_is_silent_for_a_day_is_forgotten(bench: Bench) -> None:
    async with bench.evaluator() as evaluator:
        bench.observe(GI / 2, 1, node="far")
        bench.observe(GI / 2, 1)
        await asyncio.sleep(24 * 3600 + 60)
        assert topics.PRESSURE.at("far") not in bench.router.retained
        assert topics.PRESSURE.at("edge") in bench.router.retained
        assert set(evaluator.watches) == {"edge"}


async def test_a_foreign_node_whose_observation_is_cleared_is_forgotten(bench: Bench) -> None:
    async with bench.evaluator() as evaluator:
        bench.observe(GI / 2, 1, node="far")
        await settle()
        bench.router.publish(topics.OBSERVATION.at("far"), b"", retain=True)
        await settle()
        assert topics.PRESSURE.at("far") not in bench.router.retained
        assert evaluator.watches == {}


async def test_a_node_without_rules_is_not_served(bench: Bench) -> None:
    async with bench.evaluator() as evaluator:
        bench.observe(GI / 2, 1, node="nobody")
        bench.router.publish(topics.OBSERVATION.at("nobody"), b"{", retain=False)
        await settle()
        assert evaluator.watches == {}
        assert bench.ear.events() == []


async def test_a_node_that_gets_an_evaluator_of_its_own_is_left_to_it(
    bench: Bench,
) -> None:
    async with bench.evaluator() as evaluator:
        bench.observe(GI / 2, 1, node="far")
        await settle()
        bench.elsewhere.add("far")
        bench.observe(GI / 2, 2, node="far")
        await settle()
        assert evaluator.watches == {}
        assert evaluator.publisher.published == {}
        assert topics.PRESSURE.at("far") in bench.router.retained
        assert evaluator.figures()["nodes"] == 0


async def test_at_most_a_hundred_nodes_are_served(bench: Bench) -> None:
    async with bench.evaluator() as evaluator:
        for number in range(NODES_MAX + 5):
            bench.observe(GI / 2, 1, node=f"node-{number}")
        await settle()
        assert len(evaluator.watches) == NODES_MAX - 1
        assert evaluator.served.refused == 6
        bench.observe(GI / 2, 1)
        await settle()
        assert "edge" in evaluator.watches


async def test_what_piled_up_is_judged_once_at_its_newest(bench: Bench) -> None:
    async with bench.evaluator():
        for sequence in range(1, 50):
            bench.observe(GI / 2, sequence)
        await settle()
        assert [pressure.sequence for pressure in bench.ear.pressures()] == [49]
