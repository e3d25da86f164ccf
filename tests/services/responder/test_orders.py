"""How the built-in responder answers the evictor's orders."""

import asyncio
from typing import Any

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

    async def reclaim(self, step: str, **given: Any) -> StepOutcome:
        del given
        await asyncio.sleep(3)
        return StepOutcome(step=step, listed_bytes=7)

    async def rehearse(self, step: str, **given: Any) -> StepOutcome:
        del given
        return StepOutcome(step=step, listed_bytes=8, taken=("a:1",), taken_total=1)

    async def attend(self) -> None:
        """It has to know nothing beforehand."""


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
        StepOutcome(step="danglingImages", freed_bytes=7, listed_bytes=7),
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
        (Order(uid="2", kind="Restore"), Mode.ACT, "it does not say whom to restore"),
        (Order(uid="2", kind="Rest"), Mode.ACT, "'Rest' is none of Reclaim, Restore, Forget"),
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


@pytest.mark.parametrize("mode", list(Mode))
async def test_a_dry_run_is_told_what_each_step_would_take(mode: Mode) -> None:
    """In every mode, since nothing is taken."""
    machine = Machine(Reclaiming(), mode=mode)
    async with machine.life():
        machine.say(msgspec.structs.replace(ORDER, dry_run=True), topics.ORDER.at(NODE, name="any"))
        await asyncio.sleep(10)
    status = machine.retained(topics.ORDER_STATUS.at(NODE, name="any"), OrderStatus)
    assert (status.state, status.message) == ("Refused", "the order is a dry run")
    assert status.steps == (
        StepOutcome(step="danglingImages", listed_bytes=8, taken=("a:1",), taken_total=1),
        StepOutcome(step="logs", error="not supported by fake"),
    )
