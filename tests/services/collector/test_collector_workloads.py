"""The worker on virtual time: workloads, and runtimes that are slow, odd or gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
import pytest

from evictd.core.errors import PeerError
from evictd.runtimes import Workload
from evictd_schemas import Observation

pytestmark = pytest.mark.looptime
NODE = "edge"
MIB = 1 << 20


async def test_a_slow_engine_never_delays_the_memory_figure(
    stage: Any, host: Any, runtime: Any, workload: Callable[..., Workload]
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
    stage: Any, host: Any, runtime: Any, workload: Callable[..., Workload]
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
    stage: Any, host: Any, runtime: Any, workload: Callable[..., Workload]
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
    stage: Any, runtime: Any
) -> None:
    runtime.takes_seconds = 10**6
    async with stage.running() as seen:
        await asyncio.sleep(25)
    assert seen.reasons == ["SourceFailed"]
    assert seen.events[0].data["cause"] == "no answer within 5 s"
    assert len(seen.times) >= 3


async def test_an_engine_that_is_silent_is_named_soon_and_until_it_answers(
    stage: Any, runtime: Any
) -> None:
    """In the worker's status, where a person looks first: sooner than it counts as failed."""
    runtime.takes_seconds = 10**6
    async with stage.running():
        await asyncio.sleep(1)
        assert stage.collector.troubles() == []
        await asyncio.sleep(2)
        assert stage.collector.troubles() == ["said does not answer"]
        assert 2.5 < stage.collector.figures()["said waiting"] < 3.5
        await asyncio.sleep(5)
        assert stage.collector.troubles() == ["said: no answer within 5 s"]
        runtime.takes_seconds = 0.5
        await asyncio.sleep(20)
        assert stage.collector.troubles() == []
        assert stage.collector.figures()["said waiting"] == 0
        assert stage.collector.figures()["said seconds"] == pytest.approx(0.5, abs=0.01)


async def test_a_list_that_is_not_whole_is_handed_on_as_such(stage: Any, runtime: Any) -> None:
    runtime.complete = False
    runtime.problems = ("shop/web: unknown label evictd.protct",)
    async with stage.running() as seen:
        await asyncio.sleep(25)
    assert not seen.last.pods_complete
    assert seen.reasons == ["ProtectionDegraded"]


async def test_a_kill_by_the_kernel_is_told_with_its_victim(
    stage: Any, host: Any, runtime: Any, workload: Callable[..., Workload]
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
    stage: Any, host: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    gone = workload("gone", host.cgroups / "gone", main_process_id=99)
    runtime.workloads = (gone, workload("web", host.group("web", usage_mib=1)))
    async with stage.running() as seen:
        await asyncio.sleep(1)
    assert [pod.name for pod in seen.last.pods or ()] == ["web"]
    assert seen.last.pods_complete


async def test_one_odd_workload_does_not_blind_the_node(
    stage: Any, runtime: Any, workload: Callable[..., Workload]
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
    stage: Any, runtime: Any, workload: Callable[..., Workload]
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


async def test_hints_of_a_runtime_bring_one_look_within_a_second(stage: Any, runtime: Any) -> None:
    """Containers start in dozens: their hints are answered together."""
    runtime.hints_after_seconds = [3.0, 0.1, 0.1, 0.1]
    async with stage.running() as seen:
        await asyncio.sleep(9)
    assert seen.times == [0, 4]


async def test_hints_that_break_off_are_listened_to_again(stage: Any, runtime: Any) -> None:
    """The stream of an engine ends with an error; looks go on by time meanwhile."""
    runtime.hints_after_seconds = [3.0]
    runtime.hints_error = PeerError("stream closed")
    async with stage.running() as seen:
        await asyncio.sleep(20)
    assert seen.times == [0, 4, 14, 17]
    assert seen.reasons == []


async def test_storage_is_counted_once_a_minute_and_carries_its_time(
    stage: Any, host: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    """The count is not waited for: the next look has it."""
    log = host.write("logs/web.log", "x" * 5000)
    web = workload("web", host.group("web", usage_mib=1), log_file=str(log))
    runtime.workloads = (web,)
    async with stage.running() as seen:
        await asyncio.sleep(5)
        host.write("logs/web.log", "x" * 50_000)
        await asyncio.sleep(66)
    counts = [_log_bytes(observation) for _, observation in seen.observations]
    assert counts[0] == 0
    assert len(set(counts[1:])) == 2
    assert counts[-1] - counts[-2] > 40_000
    pod = (seen.last.pods or ())[0]
    assert pod.stats is not None
    assert pod.stats.ephemeral_storage is not None
    assert pod.stats.ephemeral_storage.time is not None
    assert pod.stats.memory is not None


def _log_bytes(observation: Observation) -> int:
    pod = (observation.pods or ())[0]
    assert pod.stats is not None
    logs = pod.stats.containers[0].logs
    return 0 if logs is None else logs.used_bytes or 0
