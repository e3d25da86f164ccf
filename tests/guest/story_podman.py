"""Podman 5 on control groups v2, by the socket of its own unit: listed, measured, stopped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiodocker
import aiohttp
import pytest
import pytest_asyncio
from tests.contract.runtime_contract import RuntimeContract, running
from tests.guest.bare_image import MOUNT
from tests.guest.podman import ADDRESS, DEAF, IMAGE, WILLING, podman_service
from tests.guest.units import away

from evictd.collector.sources.workloads import memory_statistics
from evictd.core.duty import StopResult
from evictd.runtimes.docker import DockerRuntime, Engine

MIB = 1 << 20
LIMIT_MIB = 64
PROC = Path("/proc")

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("patient_with_engines"),
]


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[None]:
    """Once for all stories."""
    with podman_service():
        yield


class PodmanBench:
    """Containers made by calls of Docker's interface: a client takes seconds here."""

    def __init__(self) -> None:
        self.runtime = DockerRuntime(Engine(ADDRESS))
        self.client = aiodocker.Docker(url=ADDRESS, timeout=aiohttp.ClientTimeout(total=60))
        self._names: set[str] = set()

    async def start(self, name: str, *, deaf: bool = False, protected: bool = False) -> None:
        labels = {"evictd.protect": "true"} if protected else {}
        await self.run(name, script=DEAF if deaf else WILLING, Labels=labels)

    async def end(self, name: str) -> None:
        container = self.client.containers.container(name)
        with suppress(aiodocker.DockerError):
            await container.kill()  # it has ended, and only its removal is left
        await container.delete(force=True)
        self._names.remove(name)

    async def run(
        self, name: str, *, script: str = WILLING, host: Any = None, **settings: Any
    ) -> None:
        """One container that runs a script."""
        place = {"Binds": [MOUNT], "NetworkMode": "none", **(host or {})}
        wanted = {"Image": IMAGE, "Cmd": ["sh", "-c", script], "HostConfig": place, **settings}
        container = await self.client.containers.create(wanted, name=name)
        self._names.add(name)
        await container.start()

    async def clear(self) -> None:
        """Take away what this bench started."""
        for name in tuple(self._names):
            await self.end(name)

    async def close(self) -> None:
        """Hang up."""
        await self.client.close()
        await self.runtime.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine_bench(engine: None) -> AsyncIterator[PodmanBench]:
    """One for all stories: what a runtime asks first of Podman takes seconds here."""
    bench = PodmanBench()
    yield bench
    await bench.close()


@pytest_asyncio.fixture(loop_scope="module")
async def bench(engine_bench: PodmanBench) -> AsyncIterator[PodmanBench]:
    """With nothing that runs, before and after."""
    yield engine_bench
    await engine_bench.clear()


class TestPodmanRuntime:
    """What of the suite of all runtimes may differ from one Podman, or one layout of control
    groups, to another."""

    test_listed = RuntimeContract.test_what_runs_is_listed_whole
    test_life = RuntimeContract.test_a_life_keeps_its_uid_and_a_restarted_workload_has_another
    test_deaf = RuntimeContract.test_a_deaf_workload_is_killed_after_the_grace
    test_shortened = RuntimeContract.test_a_smaller_grace_shortens_a_stop_that_runs
    test_started = RuntimeContract.test_what_was_stopped_lives_again_or_that_is_refused
    test_watched = RuntimeContract.test_changes_are_hinted_at
    starts = True


async def test_it_is_podman_5_on_control_groups_v2(bench: PodmanBench) -> None:
    """Or the other stories prove nothing."""
    version = await bench.client.version()
    information = await bench.client.system.info()
    assert version["Components"][0]["Name"] == "Podman Engine"
    assert version["Version"].startswith("5.")
    assert (information["CgroupVersion"], information["CgroupDriver"]) == ("2", "systemd")


async def test_usage_and_limits_are_those_of_its_own_control_group(bench: PodmanBench) -> None:
    """No limit is none, whatever number the engine writes for it; in its statistics call too, for
    an evictd that sees neither control groups nor processes."""
    await bench.run("capped", host={"Memory": LIMIT_MIB * MIB})
    await bench.run("free")
    found = {item.pod.name: item for item in (await bench.runtime.list()).workloads}
    limits = {name: item.pod.limits for name, item in found.items()}
    assert limits == {"capped": {"memory": LIMIT_MIB * MIB}, "free": {}}
    for item in found.values():
        where = item.whereabouts
        assert where.memory_cgroup == where.pids_cgroup == where.unified_cgroup
        assert f"libpod-{item.pod.runtime_id}.scope" in str(where.memory_cgroup)
        memory = await away(memory_statistics, where, PROC)
        assert memory is not None
        assert 0 < (memory.working_set_bytes or 0) < LIMIT_MIB * MIB
        assert not memory.estimated
    usage = await bench.runtime.usage([item.reference for item in found.values()])
    capped, free = (usage[found[name].pod.uid] for name in ("capped", "free"))
    assert free.available_bytes is None
    assert 0 < (capped.available_bytes or 0) < LIMIT_MIB * MIB
    assert capped.working_set_bytes


async def test_of_which_nobody_said_a_time_it_has_the_engines_ten_seconds(
    bench: PodmanBench,
) -> None:
    """Whatever Podman writes of a container that was made in Docker's words."""
    web = await running(bench, "web")
    assert (web.pod.runtime, web.pod.termination_grace_period_seconds) == ("podman", 10)
    outcome = await bench.runtime.stop(web.reference, None)
    assert (outcome.result, outcome.why) == (StopResult.GONE, "exit code 3")
