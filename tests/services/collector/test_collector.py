"""The worker on virtual time: what it publishes, and when it looks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
import pytest

from evictd.collector import Collector
from evictd.collector.stalls import NoStalls
from evictd.core.errors import PeerError
from evictd.core.observations import problems
from evictd.runtimes import Workload
from evictd.shell.blocking import inline
from evictd.shell.bus import Delivery, Listing, Router
from evictd.shell.clock import LoopClock
from evictd.shell.inbox import Inbox
from evictd.shell.journal import MemoryJournal
from evictd.shell.publisher import Epoch
from evictd.shell.supervise import Outside
from evictd_schemas import Event, Observation, OrderStatus, Pressure, topics
from evictd_schemas.sources import Sources

pytestmark = pytest.mark.looptime
NODE = "edge"
MIB = 1 << 20


class Watcher:
    """Keeps what the collector publishes, and when."""

    filters = (topics.OBSERVATION.at(NODE), topics.EVENT.everywhere(NODE))

    def __init__(self) -> None:
        self.observations: list[tuple[float, Observation]] = []
        self.events: list[Event] = []

    def deliver(self, delivery: Delivery) -> None:
        if "/events/" in delivery.topic:
            self.events.append(msgspec.json.decode(delivery.payload, type=Event))
        elif not delivery.listed:
            seconds = round(asyncio.get_running_loop().time(), 3)
            decoded = msgspec.json.decode(delivery.payload, type=Observation)
            previous = self.observations[-1][1] if self.observations else None
            assert problems(NODE, decoded, previous) == ()
            self.observations.append((seconds, decoded))

    def listed(self, listing: Listing) -> None:
        """Everything comes live."""

    @property
    def times(self) -> list[float]:
        return [seconds for seconds, _ in self.observations]

    @property
    def last(self) -> Observation:
        return self.observations[-1][1]

    @property
    def reasons(self) -> list[str]:
        return [event.data["reason"] for event in self.events]


class Stage:
    """A collector that runs, its bus, and who watches it."""

    def __init__(self, sources: Sources, runtimes: tuple[Any, ...]) -> None:
        self.router = Router()
        self.watcher = Watcher()
        self.router.attach(self.watcher)
        clock = LoopClock()
        self.outside: Outside[Any, Any, Any] = Outside(
            node=NODE,
            scope=NODE,
            bus=self.router,
            epoch=Epoch(1),
            inbox=Inbox(clock),
            clock=clock,
            journal=MemoryJournal(),
            run_blocking=inline,
            rules=lambda _: None,
        )
        self.sources = sources
        self.runtimes = runtimes

    def say(self, topic: str, message: object) -> None:
        """Another worker publishes."""
        self.router.publish(topic, msgspec.json.encode(message), retain=True)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Watcher]:
        self.collector = Collector(self.outside, self.sources, self.runtimes, NoStalls())
        task = asyncio.create_task(self.collector.run())
        try:
            yield self.watcher
        finally:
            self.outside.inbox.close()
            await task


@pytest.fixture
def stage(host: Any, runtime: Any) -> Stage:
    return Stage(host.sources(), (runtime,))


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
    stage: Stage, host: Any, runtime: Any, workload: Callable[..., Workload]
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
    assert stage.collector.figures()["memory failures"] == 0


async def test_it_looks_at_the_interval(stage: Stage) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(35)
    assert seen.times == [0, 10, 20, 30]


async def test_sequence_begins_at_the_wall_clock_and_counts_up(stage: Stage) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(15)
    start = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    assert [observation.sequence for _, observation in seen.observations] == [start, start + 1]


async def test_sequence_goes_on_above_what_is_retained(stage: Stage) -> None:
    """An earlier life of this collector may have had a clock that ran ahead."""
    time = datetime(2030, 1, 1, tzinfo=UTC)
    held = Observation(node=NODE, time=time, signals={}, sequence=10**14)
    stage.say(topics.OBSERVATION.at(NODE), held)
    async with stage.running() as seen:
        await asyncio.sleep(1)
    assert seen.last.sequence == 10**14 + 1


async def test_the_evaluator_s_wish_brings_one_look_forward(stage: Stage) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(0.05)
        stage.say(topics.PRESSURE.at(NODE), pressure(0.5))
        await asyncio.sleep(11)
    assert seen.times == [0, 0.5, 10.5]


async def test_an_old_wish_in_the_list_counts_for_nothing(stage: Stage) -> None:
    stage.say(topics.PRESSURE.at(NODE), pressure(0.5))
    async with stage.running() as seen:
        await asyncio.sleep(9)
    assert seen.times == [0]


@pytest.mark.parametrize("payload", [b"{}", b""])
async def test_a_change_of_an_eviction_is_looked_at_at_once(stage: Stage, payload: bytes) -> None:
    """Its end too: the empty payload."""
    async with stage.running() as seen:
        await asyncio.sleep(5)
        topic = topics.EVICTION.at(NODE, namespace="shop", name="web")
        stage.router.publish(topic, payload, retain=True)
        await asyncio.sleep(1)
    assert seen.times == [0, 5]


async def test_an_eviction_of_another_node_is_nothing_to_look_at(stage: Stage) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(5)
        topic = topics.EVICTION.at("other", namespace="shop", name="web")
        stage.router.publish(topic, b"{}", retain=True)
        await asyncio.sleep(1)
    assert seen.times == [0]


async def test_an_ended_order_is_looked_at_at_once(stage: Stage) -> None:
    async with stage.running() as seen:
        for at, state in enumerate(("Running", "Finished")):
            await asyncio.sleep(2)
            status = OrderStatus(order_uid=f"o-{at}", state=state)
            stage.say(topics.ORDER_STATUS.at(NODE, name="reclaim"), status)
        await asyncio.sleep(1)
    assert seen.times == [0, 4]


async def test_a_storm_of_wishes_is_bounded(stage: Stage) -> None:
    """A thousand changes in a second are about ten looks, a tenth of a second apart."""
    topic = topics.EVICTION.at(NODE, namespace="shop", name="web")
    async with stage.running() as seen:
        for _ in range(1000):
            stage.router.publish(topic, b"{}", retain=True)
            await asyncio.sleep(0.001)
    assert 9 <= len(seen.times) <= 11
    gaps = [later - earlier for earlier, later in zip(seen.times, seen.times[1:], strict=False)]
    assert min(gaps) > 0.098


async def test_rubbish_on_its_topics_changes_nothing(stage: Stage) -> None:
    async with stage.running() as seen:
        await asyncio.sleep(1)
        stage.router.publish(topics.PRESSURE.at(NODE), b"{]", retain=True)
        stage.router.publish(topics.ORDER_STATUS.at(NODE, name="x"), b"\xff", retain=True)
        await asyncio.sleep(1)
    assert seen.times == [0]
    assert stage.collector.reception.rejected == 2
    assert seen.reasons == []


async def test_a_slow_engine_never_delays_the_memory_figure(
    stage: Stage, host: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    """The look goes out without the list and says so; the list makes a look of its own."""
    runtime.workloads = (workload("web", host.group("web", usage_mib=100)),)
    runtime.takes_seconds = 2
    async with stage.running() as seen:
        await asyncio.sleep(3)
    assert seen.times == [0.1, 2]
    early, late = (observation for _, observation in seen.observations)
    assert early.signals["memory.available"].time is None
    assert (early.pods, early.pods_complete) == ((), False)
    assert [pod.name for pod in late.pods or ()] == ["web"]
    assert late.pods_complete
    assert runtime.lists == 1


async def test_known_workloads_are_measured_afresh_while_the_engine_is_slow(
    stage: Stage, host: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    runtime.workloads = (workload("web", host.group("web", usage_mib=100)),)
    async with stage.running() as seen:
        await asyncio.sleep(1)
        runtime.takes_seconds = 3
        host.group("web", usage_mib=900)
        await asyncio.sleep(9.5)
    assert not seen.last.pods_complete
    (pod,) = seen.last.pods or ()
    assert pod.stats is not None
    assert pod.stats.memory is not None
    assert pod.stats.memory.working_set_bytes == 900 * MIB


async def test_an_engine_that_is_gone_is_told_once_and_ends_nobody(
    stage: Stage, host: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    runtime.workloads = (workload("web", host.group("web", usage_mib=100)),)
    async with stage.running() as seen:
        await asyncio.sleep(1)
        runtime.error = PeerError("no engine")
        await asyncio.sleep(30)
        failing = seen.last
        runtime.error = None
        await asyncio.sleep(10)
    assert [pod.name for pod in failing.pods or ()] == ["web"]
    assert not failing.pods_complete
    assert seen.reasons == ["SourceFailed"]
    assert seen.events[0].data["message"] == "said cannot be read: no engine"
    assert seen.last.pods_complete


async def test_an_engine_that_never_answers_fails_after_its_deadline(
    stage: Stage, runtime: Any
) -> None:
    runtime.takes_seconds = 10**6
    async with stage.running() as seen:
        await asyncio.sleep(25)
    assert seen.reasons == ["SourceFailed"]
    assert seen.events[0].data["cause"] == "no answer within 5 s"
    assert len(seen.times) >= 3


async def test_a_list_that_is_not_whole_is_handed_on_as_such(stage: Stage, runtime: Any) -> None:
    runtime.complete = False
    runtime.problems = ("shop/web: unknown label evictd.protct",)
    async with stage.running() as seen:
        await asyncio.sleep(25)
    assert not seen.last.pods_complete
    assert seen.reasons == ["ProtectionDegraded"]


async def test_a_machine_without_memory_figures_still_tells_the_rest(
    stage: Stage, host: Any
) -> None:
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
    stage: Stage, monkeypatch: pytest.MonkeyPatch
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


async def test_a_kill_by_the_kernel_is_told_with_its_victim(
    stage: Stage, host: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    runtime.workloads = (workload("web", host.group("web", usage_mib=100)),)
    async with stage.running() as seen:
        await asyncio.sleep(1)
        host.kills(1)
        host.group("web", usage_mib=10, kills=1)
        await asyncio.sleep(20)
    assert seen.reasons == ["SystemOOM"]
    assert seen.events[0].subject == "shop/web"
    assert seen.events[0].data["victims"][0]["uid"] == str(uuid5(NAMESPACE_URL, "web"))


async def test_a_workload_that_has_vanished_is_not_listed(
    stage: Stage, host: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    gone = workload("gone", host.cgroups / "gone", main_process_id=99)
    runtime.workloads = (gone, workload("web", host.group("web", usage_mib=1)))
    async with stage.running() as seen:
        await asyncio.sleep(1)
    assert [pod.name for pod in seen.last.pods or ()] == ["web"]
    assert seen.last.pods_complete


async def test_a_group_stands_for_the_node(stage: Stage, host: Any) -> None:
    host.group("pods", usage_mib=300)
    host.write("cgroup/pods/memory.max", f"{1024 * MIB}\n")
    memory = msgspec.structs.replace(stage.sources.memory, cgroup="/pods")
    stage.sources = msgspec.structs.replace(stage.sources, memory=memory)
    async with stage.running() as seen:
        await asyncio.sleep(1)
    reading = seen.last.signals["memory.available"]
    assert (reading.available, reading.capacity) == (724 * MIB, 1024 * MIB)
    assert not [name for name in seen.last.signals if name.startswith("psi.")]


async def test_memory_that_falls_is_looked_at_between_two_looks(stage: Stage, host: Any) -> None:
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


async def test_one_odd_workload_does_not_blind_the_node(
    stage: Stage, runtime: Any, workload: Callable[..., Workload]
) -> None:
    """A label that no reader takes would have the whole observation rejected."""
    odd, fine = workload("odd"), workload("fine")
    labels = {"note": "a\0b"}
    odd = msgspec.structs.replace(odd, pod=msgspec.structs.replace(odd.pod, labels=labels))
    runtime.workloads = (odd, fine)
    async with stage.running() as seen:
        await asyncio.sleep(25)
    assert [pod.name for pod in seen.last.pods or ()] == ["fine"]
    assert not seen.last.pods_complete
    assert seen.reasons == ["ProtectionDegraded"]
    assert "shop/odd is not observed: pods[0].labels[note]" in seen.events[0].data["message"]


async def test_too_many_workloads_are_cut_and_counted(
    stage: Stage, runtime: Any, workload: Callable[..., Workload]
) -> None:
    wide = {"note": "x" * 2000}
    runtime.workloads = tuple(
        msgspec.structs.replace(item, pod=msgspec.structs.replace(item.pod, annotations=wide))
        for item in (workload(f"pod-{number}") for number in range(700))
    )
    async with stage.running() as seen:
        await asyncio.sleep(1)
    assert not seen.last.pods_complete
    assert stage.collector.figures()["pods cut"] == 700 - len(seen.last.pods or ()) > 0
    assert seen.reasons == ["ProtectionDegraded"]
