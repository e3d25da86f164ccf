"""Usage that only a runtime can tell: asked seldom, a few at a time, waited for by nobody."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest

from evictd.collector.told_usage import ROUND_SECONDS, STALE_SECONDS, WORKLOADS_MAX
from evictd.runtimes import Workload
from evictd_schemas import MemoryStatistics, Observation, PodReference

pytestmark = pytest.mark.looptime
MIB = 1 << 20


class Telling:
    """What makes a runtime one that tells: as slowly as it is told to."""

    def __init__(self, runtime: Any) -> None:
        self.rounds: list[tuple[float, list[str]]] = []
        self.takes_seconds = 1.5
        self.silent = False
        runtime.usage = self.usage

    async def usage(self, pods: Sequence[PodReference]) -> dict[str, MemoryStatistics]:
        now = round(asyncio.get_running_loop().time(), 1)
        self.rounds.append((now, [pod.name for pod in pods]))
        await anyio.sleep(self.takes_seconds)
        told = MemoryStatistics(usage_bytes=MIB, working_set_bytes=MIB, includes_cache=True)
        return {} if self.silent else {pod.uid: told for pod in pods}


@pytest.fixture
def telling(runtime: Any) -> Telling:
    """The runtime of the stage, as one that tells."""
    return Telling(runtime)


def figure(observation: Observation, name: str) -> MemoryStatistics | None:
    """Memory of one workload as it was published."""
    pod = next(pod for pod in observation.pods or () if pod.name == name)
    return None if pod.stats is None else pod.stats.memory


async def test_who_cannot_be_measured_gets_the_runtime_s_figure_marked_as_what_it_is(
    stage: Any, host: Any, runtime: Any, telling: Telling, workload: Callable[..., Workload]
) -> None:
    """Nobody is asked about a workload whose control group is there."""
    seen_here = workload("near", host.group("near", usage_mib=100))
    runtime.workloads = (workload("far"), seen_here)
    async with stage.running() as seen:
        await asyncio.sleep(15)
    assert telling.rounds[0] == (0.0, ["far"])
    assert all(names == ["far"] for _, names in telling.rounds)
    far, near = figure(seen.last, "far"), figure(seen.last, "near")
    assert far is not None
    assert (far.working_set_bytes, far.includes_cache) == (MIB, True)
    assert near is not None
    assert (near.working_set_bytes, near.includes_cache) == (100 * MIB, False)


async def test_no_look_waits_for_it_and_the_pace_does_not_follow_the_looks(
    stage: Any, runtime: Any, telling: Telling, workload: Callable[..., Workload]
) -> None:
    """Looks may come ten times a second; questions come every ten."""
    telling.takes_seconds = 8
    runtime.workloads = (workload("far"),)
    async with stage.running() as seen:
        for _ in range(250):
            stage.collector._look_again("a line is near")
            await asyncio.sleep(0.1)
    assert len(seen.times) > 200
    assert [seconds for seconds, _ in telling.rounds] == pytest.approx(
        [0, ROUND_SECONDS, 2 * ROUND_SECONDS], abs=0.3
    )


async def test_a_few_are_asked_at_a_time_and_everybody_has_a_turn(
    stage: Any, runtime: Any, telling: Telling, workload: Callable[..., Workload]
) -> None:
    names = [f"far-{number:02}" for number in range(WORKLOADS_MAX + 5)]
    runtime.workloads = tuple(workload(name) for name in names)
    async with stage.running():
        await asyncio.sleep(25)
    asked = [names for _, names in telling.rounds[:2]]
    assert [len(batch) for batch in asked] == [WORKLOADS_MAX, WORKLOADS_MAX]
    assert set(asked[0]) | set(asked[1]) == set(names)


async def test_an_old_figure_is_none(
    stage: Any, runtime: Any, telling: Telling, workload: Callable[..., Workload]
) -> None:
    """A runtime that tells no more leaves the workload without statistics, which is not zero."""
    runtime.workloads = (workload("far"),)
    async with stage.running() as seen:
        await asyncio.sleep(15)
        telling.silent = True
        assert figure(seen.last, "far") is not None
        await asyncio.sleep(STALE_SECONDS + 20)
        assert figure(seen.last, "far") is None
