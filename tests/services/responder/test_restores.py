"""How the built-in responder brings back what it stopped, and notices that somebody else did."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.services.responder.machine import NODE, WEB, Machine, eviction, stopped_web, topic

from evictd.core.duty import StartOutcome, StartResult
from evictd.core.rules import Mode, Rules
from evictd.testing.runtime import FakeRuntime
from evictd_schemas import (
    Observation,
    Order,
    OrderStatus,
    Pod,
    PodReference,
    SignalReading,
    topics,
)

pytestmark = pytest.mark.looptime

ORDER = topics.ORDER.at(NODE, name="restore")
STATUS = topics.ORDER_STATUS.at(NODE, name="restore")
RECORD = topics.STOPPED.at(NODE, namespace="shop", name="web")


def order(web: PodReference, uid: str = "back", **fields: Any) -> Order:
    return Order(uid=uid, kind="Restore", target=web, **{"deadline_seconds": 60, **fields})


def observation(*pods: Pod, sequence: int = 1) -> Observation:
    return Observation(
        node=NODE,
        time=datetime(2026, 1, 1, tzinfo=UTC),
        sequence=sequence,
        signals={"memory.available": SignalReading(available=1, capacity=2)},
        pods=pods,
    )


async def answer(machine: Machine, placed: Order) -> OrderStatus:
    """What the responder says of an order, in the end."""
    machine.say(placed, ORDER)
    await asyncio.sleep(100)
    status = machine.retained(STATUS, OrderStatus)
    assert isinstance(status, OrderStatus)
    return status


async def test_what_evictd_stopped_is_started_and_is_down_no_more() -> None:
    """Once, however often the order arrives."""
    machine = Machine()
    async with machine.life():
        web = await stopped_web(machine)
        status = await answer(machine, order(web))
        machine.say(order(web), ORDER)
        await asyncio.sleep(10)
        machine.say(None, ORDER)
        await asyncio.sleep(1)
    assert (status.order_uid, status.state) == ("back", "Finished")
    assert machine.runtime.starts == [("shop", "web")]
    (again,) = (await machine.runtime.list()).workloads
    assert again.pod.uid != web.uid
    assert machine.stopped() is None
    assert STATUS not in machine.bus.retained


async def test_what_is_not_down_because_of_evictd_is_not_started() -> None:
    """No record, or one of another life."""
    machine = Machine()
    async with machine.life():
        stranger = PodReference(namespace="shop", name="other", uid="x")
        status = await answer(machine, order(stranger, "1"))
        assert (status.state, status.message) == (
            "Refused",
            "shop/other is not down because of evictd",
        )
        web = await stopped_web(machine)
        earlier = PodReference(namespace="shop", name="web", uid="earlier")
        assert (await answer(machine, order(earlier, "2"))).state == "Refused"
        assert machine.stopped() is not None
    assert machine.runtime.starts == []
    assert web.uid != earlier.uid


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.DRY_RUN])
async def test_unless_the_node_acts_nothing_is_started(mode: Mode) -> None:
    """Its own mode counts, whoever asked."""
    machine = Machine()
    async with machine.life():
        web = await stopped_web(machine)
        machine.rules = Rules(node=NODE, mode=mode)
        status = await answer(machine, order(web))
    assert (status.state, status.message) == ("Refused", f"mode is {mode}")
    assert machine.runtime.starts == []


async def test_a_start_that_fails_is_counted_and_stays_written_down() -> None:
    """The reason travels; the next order is another try."""
    machine = Machine()
    async with machine.life():
        web = await stopped_web(machine)
        machine.runtime.failure = "no such network"
        status = await answer(machine, order(web))
        assert (status.state, status.message) == ("Failed", "no such network")
        record = machine.stopped()
        assert record is not None
        assert record.attempts == 1
        machine.runtime.failure = None
        assert (await answer(machine, order(web, "again"))).state == "Finished"
    assert machine.stopped() is None


async def test_what_was_removed_is_down_no_more() -> None:
    """It is gone because of whoever removed it."""
    machine = Machine()
    async with machine.life():
        web = await stopped_web(machine)
        machine.runtime.remove("shop", "web")
        status = await answer(machine, order(web))
    assert (status.state, status.message) == ("Failed", "it was removed")
    assert machine.stopped() is None


class Unstartable(FakeRuntime):
    """It can stop only."""

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        del namespace, name, runtime_id
        return StartOutcome(result=StartResult.REFUSED, why="it cannot")


class Away(FakeRuntime):
    """It does not answer now."""

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        del namespace, name, runtime_id
        return StartOutcome(result=StartResult.UNASKED, why="no answer")


async def test_a_runtime_that_does_not_answer_is_no_failure_of_the_workload() -> None:
    """Nothing is counted: it is asked again soon."""
    machine = Machine(runtime := Away())
    machine.runtime = runtime
    async with machine.life():
        web = await stopped_web(machine)
        before = machine.stopped()
        status = await answer(machine, order(web))
        assert (status.state, status.message) == ("Refused", "no answer")
        assert machine.stopped() == before


class Hung(FakeRuntime):
    """Its starts never end."""

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        del namespace, name, runtime_id
        await asyncio.sleep(10_000)
        raise AssertionError


@pytest.mark.parametrize(
    ("runtime", "state", "why", "restore"),
    [
        (Unstartable(), "Refused", "it cannot", "manual"),
        (Hung(), "Failed", "not started in 60 s", "auto"),
    ],
)
async def test_what_a_runtime_cannot_start_is_left_to_its_owner(
    runtime: FakeRuntime, state: str, why: str, restore: str
) -> None:
    """A refusal is for good; a start that hangs is given up at the order's deadline."""
    machine = Machine(runtime)
    machine.runtime = runtime
    async with machine.life():
        web = await stopped_web(machine)
        status = await answer(machine, order(web))
    assert (status.state, status.message) == (state, why)
    record = machine.stopped()
    assert record is not None
    assert record.restore == restore


async def test_what_somebody_else_started_is_down_no_more() -> None:
    """By the observation, also after a restart of ours; the old life in a late one says nothing."""
    machine = Machine()
    async with machine.life():
        web = await stopped_web(machine)
    late = Pod(namespace="shop", name="web", uid=web.uid)
    async with machine.life():
        machine.say(observation(late), topics.OBSERVATION.at(NODE))
        await asyncio.sleep(1)
        assert machine.stopped() is not None
        again = machine.runtime.begin(WEB)
        pod = Pod(namespace="shop", name="web", uid=again.uid)
        machine.say(observation(pod, sequence=2), topics.OBSERVATION.at(NODE))
        await asyncio.sleep(1)
    assert RECORD not in machine.bus.retained


async def test_an_order_that_is_taken_back_is_given_up() -> None:
    """The pressure came back meanwhile: its start is not waited for, and nothing is answered."""
    runtime = Hung()
    machine = Machine(runtime)
    machine.runtime = runtime
    async with machine.life():
        web = await stopped_web(machine)
        machine.say(order(web), ORDER)
        await asyncio.sleep(5)
        machine.say(None, ORDER)
        await asyncio.sleep(100)
    assert STATUS not in machine.bus.retained
    assert machine.stopped() is not None


async def test_what_was_forgotten_while_it_was_started_stays_forgotten() -> None:
    """The start fails, and what is left of the record is nobody's any more."""
    machine = Machine()
    machine.runtime.start_seconds = 10
    machine.runtime.start_failure = "no such network"
    async with machine.life():
        web = await stopped_web(machine)
        machine.say(order(web), ORDER)
        await asyncio.sleep(2)
        forget = Order(uid="for good", kind="Forget", target=web)
        machine.say(forget, topics.ORDER.at(NODE, name="forget"))
        await asyncio.sleep(20)
    assert machine.retained(STATUS, OrderStatus).state == "Failed"
    assert machine.stopped() is None


class Slow(FakeRuntime):
    """It takes its time to say that what it has started runs."""

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        outcome = await super().start(namespace, name, runtime_id)
        await asyncio.sleep(5)
        return outcome


async def test_what_is_stopped_again_before_its_start_was_confirmed_is_down() -> None:
    """The next life of it; the order was about the one before."""
    machine = Machine(runtime := Slow())
    machine.runtime = runtime
    async with machine.life():
        web = await stopped_web(machine)
        machine.say(order(web), ORDER)
        await asyncio.sleep(1)
        (again,) = (await runtime.list()).workloads
        machine.say(eviction(again.reference, name="web-2"), topic("web-2"))
        await asyncio.sleep(20)
    record = machine.stopped()
    assert record is not None
    assert record.uid == again.reference.uid
