"""An engine that hangs while memory runs short: nobody waits for it, on virtual time."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from evictd.collector.sight import PATIENCE_SECONDS
from evictd.runtimes import Workload

pytestmark = pytest.mark.looptime
MIB = 1 << 20
SLACK_SECONDS = 0.05


async def test_memory_that_runs_out_while_the_engine_hangs_is_seen_as_soon_as_ever(
    stage: Any, host: Any, runtime: Any, workload: Callable[..., Workload]
) -> None:
    """Each fall is in an observation within a glance and a moment, with what each workload uses,
    and none of them says that anybody has gone."""
    runtime.workloads = (workload("web", host.group("web", usage_mib=100)),)
    async with stage.running() as seen:
        await asyncio.sleep(1)
        runtime.takes_seconds = 10**6
        for available, usage in ((2500, 600), (2000, 1100), (1500, 1600), (1000, 2100)):
            before = len(seen.observations)
            host.memory(available_mib=available)
            host.group("web", usage_mib=usage)
            await asyncio.sleep(1 + PATIENCE_SECONDS + SLACK_SECONDS)
            assert len(seen.observations) > before
            reading = seen.last.signals["memory.available"]
            assert reading.views["mem_available"] == available * MIB
            assert reading.time is None
            (pod,) = seen.last.pods
            assert pod.stats.memory.working_set_bytes == usage * MIB
            assert not seen.last.pods_complete
        await asyncio.sleep(60)
    gaps = [later - earlier for earlier, later in pairwise(seen.times)]
    assert max(gaps) <= 10 + PATIENCE_SECONDS + SLACK_SECONDS
    assert [pod.name for pod in seen.last.pods] == ["web"]
    assert seen.reasons == ["SourceFailed"]
