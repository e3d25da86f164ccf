"""The fake runtime under the suite of all runtimes, on virtual time."""

import anyio
import pytest
from tests.contract.runtime_contract import RuntimeContract, listed

from evictd.core.duty import StopResult
from evictd.testing.runtime import FakeRuntime
from evictd_schemas import Pod

pytestmark = pytest.mark.looptime


class FakeBench:
    """Workloads in memory."""

    def __init__(self) -> None:
        self.runtime = FakeRuntime()

    async def start(self, name: str, *, deaf: bool = False, protected: bool = False) -> None:
        pod = Pod(namespace="shop", name=name, uid="", protected=protected)
        self.runtime.begin(pod, stops_in_seconds=None if deaf else 0.0)

    async def end(self, name: str) -> None:
        self.runtime.end("shop", name)


class TestFakeRuntime(RuntimeContract):
    """The fake keeps the promises too."""

    @pytest.fixture
    def bench(self) -> FakeBench:
        return FakeBench()

    async def test_a_failure_that_was_ordered_leaves_the_workload(self, bench: FakeBench) -> None:
        """The fault that other tests need."""
        await bench.start("web")
        bench.runtime.failure = "engine does not answer"
        web = await listed(bench.runtime, "web")
        assert web is not None
        outcome = await bench.runtime.stop(web.reference, 1)
        assert (outcome.result, outcome.why) == (StopResult.FAILED, "engine does not answer")
        assert await listed(bench.runtime, "web") is not None

    async def test_the_watch_ends_when_it_is_closed(self, bench: FakeBench) -> None:
        """Nobody waits for a closed runtime."""

        async def watch() -> None:
            async for _ in bench.runtime.watch():
                pytest.fail("nothing has changed")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await anyio.sleep(1)
            await bench.runtime.close()
