"""The worker on virtual time: what it publishes, and when it looks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from evictd.runtimes import Workload
from evictd_schemas import Observation, OrderStatus, Pressure, topics

pytestmark = pytest.mark.looptime
NODE = "edge"
MIB = 1 << 20


def pressure(wish: float | None) -> Pressure:
    time = datetime(2026, 1, 1, tzinfo=UTC)
    return Pressure(
        node=NODE,
        time=time,
        sequence=1,
        conditions=(),
        thresholds=(),
        next_observation_seconds=wish,
    )


async def test_the_whole_machine_is_in_one_observation(
    stage: Any, host: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    runtime.workloads = (workload("web", host.group("web", usage_mib=100)),)
    async with stage.running() as seen:
        await asyncio.sleep(1)
    observation = seen.last
    assert observation.node == NODE
    assert observation.boot_id == "7e6c0d4e-5b1e-4f5e-9a1f-6c1d7f4a2b10"
    assert observation.interval_seconds == 10
    assert set(observation.signals) >= {
        "memory.available",
        "nodefs.available",
        "imagefs.available",
        "containerfs.available",
        "pid.available",
        "psi.memory.full.avg10",
    }
    assert observation.layout is not None
    assert observation.layout.error is None
    assert not observation.layout.dedicated_image_fs
    assert [pod.name for pod in observation.pods or ()] == ["web"]
    assert observation.pods_complete
    figures = stage.collector.figures()
    folder = next(name for name in figures if name.startswith("file system "))
    for source in ("memory", "stalls", "process ids", folder.removesuffix(" seconds")):
        assert figures[f"{source} seconds"] >= 0
        assert figures[f"{source} failures"] == 0


async def test_it_looks_at_the_interval(stage: Any) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(35)
    assert seen.times == [0, 10, 20, 30]


async def test_sequence_begins_at_the_wall_clock_and_counts_up(stage: Any) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(15)
    start = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    assert [observation.sequence for _, observation in seen.observations] == [start, start + 1]


async def test_sequence_goes_on_above_what_is_retained(stage: Any) -> None:
    """An earlier life of this collector may have had a clock that ran ahead."""
    time = datetime(2030, 1, 1, tzinfo=UTC)
    held = Observation(node=NODE, time=time, signals={}, sequence=10**14)
    stage.say(topics.OBSERVATION.at(NODE), held)
    async with stage.running() as seen:
        await asyncio.sleep(1)
    assert seen.last.sequence == 10**14 + 1


async def test_the_evaluator_s_wish_brings_one_look_forward(stage: Any) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(0.05)
        stage.say(topics.PRESSURE.at(NODE), pressure(0.5))
        await asyncio.sleep(11)
    assert seen.times == [0, 0.5, 10.5]


async def test_an_old_wish_in_the_list_counts_for_nothing(stage: Any) -> None:
    stage.say(topics.PRESSURE.at(NODE), pressure(0.5))
    async with stage.running() as seen:
        await asyncio.sleep(9)
    assert seen.times == [0]


@pytest.mark.parametrize("payload", [b"{}", b""])
async def test_a_change_of_an_eviction_is_looked_at_at_once(stage: Any, payload: bytes) -> None:
    """Its end too: the empty payload."""
    async with stage.running() as seen:
        await asyncio.sleep(5)
        topic = topics.EVICTION.at(NODE, namespace="shop", name="web")
        stage.router.publish(topic, payload, retain=True)
        await asyncio.sleep(1)
    assert seen.times == [0, 5]


async def test_an_eviction_of_another_node_is_nothing_to_look_at(stage: Any) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(5)
        topic = topics.EVICTION.at("other", namespace="shop", name="web")
        stage.router.publish(topic, b"{}", retain=True)
        await asyncio.sleep(1)
    assert seen.times == [0]


async def test_an_ended_order_is_looked_at_at_once(stage: Any) -> None:
    async with stage.running() as seen:
        for at, state in enumerate(("Running", "Finished")):
            await asyncio.sleep(2)
            status = OrderStatus(order_uid=f"o-{at}", state=state)
            stage.say(topics.ORDER_STATUS.at(NODE, name="reclaim"), status)
        await asyncio.sleep(1)
    assert seen.times == [0, 4]


async def test_a_storm_of_wishes_is_bounded(stage: Any) -> None:
    """A thousand changes in a second are about ten looks, a tenth of a second apart."""
    topic = topics.EVICTION.at(NODE, namespace="shop", name="web")
    async with stage.running() as seen:
        for _ in range(1000):
            stage.router.publish(topic, b"{}", retain=True)
            await asyncio.sleep(0.001)
    assert 9 <= len(seen.times) <= 11
    gaps = [later - earlier for earlier, later in zip(seen.times, seen.times[1:], strict=False)]
    assert min(gaps) > 0.098


async def test_rubbish_on_its_topics_changes_nothing(stage: Any) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(1)
        stage.router.publish(topics.PRESSURE.at(NODE), b"{]", retain=True)
        stage.router.publish(topics.ORDER_STATUS.at(NODE, name="x"), b"\xff", retain=True)
        await asyncio.sleep(1)
    assert seen.times == [0]
    assert stage.collector.reception.rejected == 2
    assert seen.reasons == []


async def test_a_machine_without_memory_figures_still_tells_the_rest(stage: Any, host: Any) -> None:
    host.write("proc/meminfo", "MemTotal: 4096 kB\n")
    async with stage.running() as seen:
        await asyncio.sleep(1)
        broken = seen.last
        host.memory(available_mib=100)
        await asyncio.sleep(10)
    assert "memory.available" not in broken.signals
    assert "pid.available" in broken.signals
    assert seen.reasons == ["SourceFailed"]
    assert seen.last.signals["memory.available"].views["mem_available"] == 100 * MIB


async def test_after_a_gap_it_looks_again_within_a_quarter_of_a_second(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine slept for an hour: the loop's clock stood, boot time went on."""
    async with stage.running() as seen:
        await asyncio.sleep(5)
        now, slept = stage.outside.clock.now, 3600

        def later() -> Any:
            reading = now()
            seconds = reading.boot_seconds + slept
            return msgspec.structs.replace(reading, boot_seconds=seconds)

        monkeypatch.setattr(stage.outside.clock, "now", later)
        await asyncio.sleep(6)
    assert seen.times == [0, 10, 10.25]


async def test_a_group_stands_for_the_node(stage: Any, host: Any) -> None:
    host.group("pods", usage_mib=300)
    host.write("cgroup/pods/memory.max", f"{1024 * MIB}\n")
    memory = msgspec.structs.replace(stage.sources.memory, cgroup="/pods")
    stage.sources = msgspec.structs.replace(stage.sources, memory=memory)
    async with stage.running() as seen:
        await asyncio.sleep(1)
    reading = seen.last.signals["memory.available"]
    assert (reading.available, reading.capacity) == (724 * MIB, 1024 * MIB)
    assert not [name for name in seen.last.signals if name.startswith("psi.")]


async def test_memory_that_falls_is_looked_at_between_two_looks(stage: Any, host: Any) -> None:
    """By a tenth and more; nothing is published for less."""
    async with stage.running() as seen:
        await asyncio.sleep(3)
        host.memory(available_mib=2800)
        await asyncio.sleep(3)
        assert seen.times == [0]
        host.memory(available_mib=2600)
        await asyncio.sleep(1.1)
    assert len(seen.times) == 2
    assert seen.last.signals["memory.available"].views["mem_available"] == 2600 * MIB


async def test_it_leaves_the_bus_as_it_found_it(stage: Any) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(1)
    assert stage.router._listeners == [seen]


async def test_a_memory_source_that_fails_between_two_looks_is_told_by_the_next(
    stage: Any, host: Any
) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(3)
        host.write("proc/meminfo", "MemTotal: 4096 kB\n")
        await asyncio.sleep(4)
        assert seen.reasons == []
        await asyncio.sleep(4)
    assert seen.reasons == ["SourceFailed"]
    assert seen.times == [0, 10]


async def test_who_has_gone_is_never_told_beside_the_memory_that_it_still_had(
    stage: Any, host: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    """It ends while the runtime is being asked, after memory was read: a shortage of before would
    cost the next one its life."""
    runtime.workloads = (workload("web", host.group("web", usage_mib=100)),)
    runtime.takes_seconds = 0.05
    host.memory(available_mib=50)
    async with stage.running() as seen:
        await asyncio.sleep(10.02)
        assert runtime.lists == len(seen.observations) + 1
        runtime.workloads = ()
        host.memory(available_mib=3000)
        await asyncio.sleep(1)
    assert seen.last.pods == ()
    assert seen.last.signals["memory.available"].views["mem_available"] == 3000 * MIB
