"""Disruption budgets with all workers, on virtual time: who is refused stays asked for, for as long
as it takes, and node pressure takes it all the same."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import msgspec
import pytest
from tests.simulation.world import NODE, World

from evictd.core.rules import HOST, Budget, Candidates, Mode, Portion, Rules
from evictd.core.signals.thresholds import Amount, Threshold
from evictd.shell.bus import Router
from evictd.simulation.machine import (
    MIB,
    Curve,
    SimulatedMachine,
    SimulatedWorkload,
    steady,
    stepping,
)
from evictd_schemas import Decision, Eviction, PodReference, topics

pytestmark = pytest.mark.looptime

RULES = Rules(
    node=NODE,
    mode=Mode.ACT,
    profile=msgspec.structs.replace(HOST, warns_before_first_act=False),
    candidates=Candidates.ALL,
    maximum_pod_grace_seconds=-1,
    thresholds=(
        Threshold(signal="memory.available", value=Amount(quantity=500 * MIB, text="500Mi")),
    ),
    transition_seconds=60,
    budgets=(Budget(name="shop", namespace="shop", minimum_available=Portion(amount=2)),),
)


@asynccontextmanager
async def shop(last: Curve) -> AsyncIterator[tuple[SimulatedMachine, Router]]:
    """Three workloads of which two have to stay, on a machine of 4 GiB, with all workers."""
    machine = SimulatedMachine(node=NODE, memory_mib=4096, interval_seconds=10)
    for name, memory in (("web-1", steady(200)), ("web-2", steady(300)), ("web-3", last)):
        machine.add(SimulatedWorkload(namespace="shop", name=name, memory=memory))
    world = World(machine, RULES)
    async with world.running():
        await anyio.sleep(15)
        yield machine, world.router


def ask(router: Router, pod: PodReference, intent: str = "Eviction") -> None:
    """Somebody who is not node pressure wants it to leave."""
    where = {"domain": "acme.io", "key": "mover", "namespace": pod.namespace, "name": pod.name}
    target = {"pod": {"name": pod.name, "uid": pod.uid}}
    spec = {"target": target, "requester": "acme.io/mover", "intent": intent}
    topic = topics.REQUEST.at(NODE, **where)
    router.publish(topic, msgspec.json.encode({"spec": spec}), retain=True)


def eviction(router: Router, name: str) -> Eviction:
    """As it was published last."""
    topic = topics.EVICTION.at(NODE, namespace="shop", name=f"pod-1-{name}")
    return msgspec.json.decode(router.retained[topic], type=Eviction)


def states(found: Eviction) -> list[str]:
    """Of its chain."""
    return [item.state for item in found.status.target_responders]


async def test_a_refusal_lasts_for_hours_and_is_seen_in_the_eviction() -> None:
    """Its responder goes on beating, so that it is not taken for dead; its withdrawal is in
    time."""
    async with shop(steady(100)) as (machine, router):
        first, second = (workload.reference for workload in machine.workloads[:2])
        ask(router, first)
        ask(router, second)
        await anyio.sleep(3 * 3600)
        assert machine.killed == [first]
        kept = eviction(router, "web-2")
        assert states(kept) == ["Active"]
        (entry,) = kept.status.responders
        assert "cause=budget: shop/web-2: budget shop (minAvailable 2) needs 2" in entry.message
        assert not entry.point_of_no_return
        ask(router, second, "Withdrawn")
        await anyio.sleep(20)
        assert states(eviction(router, "web-2")) == ["Canceled"]
        assert machine.killed == [first]


async def test_node_pressure_takes_what_a_budget_keeps_and_says_so() -> None:
    """The machine comes first; the decision and the report tell whose budget was ignored."""
    async with shop(stepping(100, 900, 3600)) as (machine, router):
        first, _, third = (workload.reference for workload in machine.workloads)
        ask(router, first)
        ask(router, third)
        await anyio.sleep(600)
        assert machine.killed == [first]
        told: list[Decision] = []
        while len(machine.killed) == 1:
            await anyio.sleep(0.5)
            payload = router.retained[topics.DECISION.at(NODE)]
            told.append(msgspec.json.decode(payload, type=Decision))
        assert machine.killed == [first, third]
        rows = [row for item in told for row in item.ranking if row.pod.name == "web-3"]
        assert rows[-1].why.endswith("budget shop (minAvailable 2) ignored")
