"""Who has ended is told also while another runtime lists nothing, on virtual time."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from evictd.collector.endings import ENDED_MAX, TOLD_SECONDS, Endings
from evictd.core.errors import HostError
from evictd.core.observations import merge
from evictd.core.pods import active
from evictd.runtimes import Workload
from evictd_schemas import Pod

pytestmark = pytest.mark.looptime


@pytest.fixture
def failing(stage: Any, runtime: Any) -> Any:
    """A second runtime, which has never listed anything."""
    second = type(runtime)("systemd")
    second.error = HostError("there is no systemd")
    stage.runtimes = (*stage.runtimes, second)
    return second


def running(seen: Any) -> list[str]:
    """Who runs as far as all observations together tell."""
    view = None
    for _, observation in seen.observations:
        view = merge(view, observation)
    assert view is not None
    return sorted(pod.name for pod in view.pods or () if active(pod))


async def test_one_that_has_ended_is_told_so_although_another_runtime_lists_nothing(
    stage: Any, failing: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    """It is not evicted a second time, and it may come back."""
    web, batch = workload("web"), workload("batch")
    runtime.workloads = (web, batch)
    async with stage.running() as seen:
        await asyncio.sleep(21)
        assert running(seen) == ["batch", "web"]
        runtime.workloads = (web,)
        await asyncio.sleep(10)
        assert not seen.last.pods_complete
        assert running(seen) == ["web"]
        runtime.workloads = (web, batch)
        await asyncio.sleep(10)
        assert running(seen) == ["batch", "web"]
        runtime.workloads = (web,)
        failing.error = None
        await asyncio.sleep(10)
        assert [pod.name for pod in seen.last.pods] == ["web"]
        assert seen.last.pods_complete


async def test_of_a_runtime_that_fails_itself_nobody_has_ended(
    stage: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    """What it listed before stands."""
    runtime.workloads = (workload("web"), workload("batch"))
    async with stage.running() as seen:
        await asyncio.sleep(11)
        runtime.complete, runtime.workloads = False, (workload("web"),)
        await asyncio.sleep(20)
    assert running(seen) == ["batch", "web"]


async def test_who_was_left_out_of_a_partial_list_has_ended_when_the_whole_one_comes(
    stage: Any, failing: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    """Also where the other runtime still fails then."""
    assert failing.error is not None
    runtime.workloads = (workload("web"), workload("batch"))
    async with stage.running() as seen:
        await asyncio.sleep(11)
        runtime.complete, runtime.workloads = False, (workload("web"),)
        await asyncio.sleep(10)
        runtime.complete = True
        await asyncio.sleep(10)
    assert running(seen) == ["web"]


def ended(name: str) -> Pod:
    return Pod(namespace="shop", name=name, uid=f"uid-{name}", runtime="said")


def test_an_ending_is_told_for_a_while_and_of_the_newest_only() -> None:
    """A machine that starts and ends many in the days of a failure does not grow its message."""
    endings, whole = Endings(), frozenset({"said"})
    pods = tuple(ended(str(number)) for number in range(ENDED_MAX + 5))
    endings.added(pods, whole, complete=False, boot_seconds=0.0)
    told = endings.added((), whole, complete=False, boot_seconds=1.0)
    assert [pod.name for pod in told] == [pod.name for pod in pods[5:]]
    assert not endings.added((), whole, complete=False, boot_seconds=TOLD_SECONDS + 2)


def test_a_new_life_under_the_name_takes_its_place() -> None:
    """A name stands in a list once."""
    endings, whole = Endings(), frozenset({"said"})
    endings.added((ended("web"),), whole, complete=False, boot_seconds=0.0)
    (new,) = (Pod(namespace="shop", name="web", uid="uid-new", runtime="said"),)
    assert endings.added((new,), whole, complete=False, boot_seconds=1.0) == (new,)
