"""How the built-in responder answers the evictor's orders."""

import asyncio

import msgspec
import pytest
from tests.services.responder.machine import (
    NODE,
    Machine,
)

from evictd.core.rules import Mode
from evictd.testing.runtime import FakeRuntime
from evictd_schemas import (
    Order,
    OrderStatus,
    StepOutcome,
    topics,
)

pytestmark = pytest.mark.looptime


class Reclaiming(FakeRuntime):
    """A runtime that can give back images."""

    reclaim_steps = frozenset({"danglingImages"})

    async def reclaim(self, step: str) -> StepOutcome:
        await asyncio.sleep(3)
        return StepOutcome(step=step, freed_bytes=7)


ORDER = Order(uid="order-1", kind="Reclaim", steps=("danglingImages", "logs"))


async def test_a_reclaim_does_what_its_runtimes_can_and_says_what_they_cannot() -> None:
    """So that the evictor goes on; and the same order is not carried out again."""
    machine = Machine(Reclaiming())
    where, status = (
        topics.ORDER.at(NODE, name="reclaim"),
        topics.ORDER_STATUS.at(NODE, name="reclaim"),
    )
    async with machine.life():
        machine.say(ORDER, where)
        await asyncio.sleep(1)
        assert machine.retained(status, OrderStatus).state == "Running"
        await asyncio.sleep(3)
    finished = machine.retained(status, OrderStatus)
    assert finished.state == "Finished"
    assert finished.steps == (
        StepOutcome(step="danglingImages", freed_bytes=7),
        StepOutcome(step="logs", error="not supported by fake"),
    )
    async with machine.life():
        machine.say(ORDER, where)
        await asyncio.sleep(10)
        assert machine.retained(status, OrderStatus) == finished
        machine.say(None, where)
        await asyncio.sleep(1)
    assert status not in machine.bus.retained


@pytest.mark.parametrize(
    ("order", "mode", "why"),
    [
        (ORDER, Mode.OBSERVE, "mode is observe"),
        (msgspec.structs.replace(ORDER, dry_run=True), Mode.ACT, "the order is a dry run"),
        (Order(uid="2", kind="Restore"), Mode.ACT, "it does not say whom to restore"),
        (Order(uid="2", kind="Rest"), Mode.ACT, "'Rest' is none of Reclaim, Restore"),
    ],
)
async def test_what_is_not_done_is_refused_with_the_reason(
    order: Order, mode: Mode, why: str
) -> None:
    """Nothing is reclaimed or restarted on a node that does not act."""
    machine = Machine(Reclaiming(), mode=mode)
    async with machine.life():
        machine.say(order, topics.ORDER.at(NODE, name="any"))
        await asyncio.sleep(10)
    status = machine.retained(topics.ORDER_STATUS.at(NODE, name="any"), OrderStatus)
    assert (status.state, status.message) == ("Refused", why)
