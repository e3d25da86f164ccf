"""Podman through its Docker-compatible socket: the suite of all runtimes, and a story of memory,
with root's engine and with one of a user who has no rights at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.contract.runtime_contract import RuntimeContract, listed, running
from tests.lab.node import Node
from tests.lab.podman.service import PodmanService, podman_service
from tests.lab.projects import acting, composed, service
from tests.lab.test_docker_runtime import DockerBench

from evictd.core.duty import StopResult

pytestmark = pytest.mark.timeout(60, func_only=True)

PROJECT = "home"
TAKES_MIB = 400
LINE_MIB = 900  # of 1536 for all containers: met by two, and no room for a second


@pytest.fixture(scope="module")
def podman() -> Iterator[PodmanService]:
    """Root's: each container has a cgroup of its own."""
    with podman_service("root") as service:
        yield service


@pytest.fixture(scope="module")
def rootless() -> Iterator[PodmanService]:
    """A user's: on cgroup v1 he cannot make cgroups, so that his containers share one."""
    with podman_service("nobody") as service:
        yield service


class TestPodmanRuntime(RuntimeContract):
    """Its containers as workloads, under the suite of all runtimes."""

    @pytest.fixture
    async def bench(self, podman: PodmanService) -> AsyncIterator[DockerBench]:
        bench = DockerBench(podman)
        yield bench
        await bench.runtime.close()
        await bench.clear()

    async def test_it_is_told_by_its_own_name(self, bench: DockerBench) -> None:
        """And measured by its own cgroups, which are called otherwise than Docker's."""
        web = await running(bench, "web")
        assert web.pod.runtime == "podman"
        for place in (web.whereabouts.memory_cgroup, web.whereabouts.pids_cgroup):
            assert place is not None
            assert place.endswith(f"libpod-{web.pod.runtime_id}")
            assert bench.engine.cgroup in place

    async def test_what_docker_s_client_made_is_not_killed_at_once(
        self, bench: DockerBench
    ) -> None:
        """Podman writes a stop time-out of 0 where the client did not say one."""
        web = await running(bench, "web")
        assert web.pod.termination_grace_period_seconds == 10
        outcome = await bench.runtime.stop(web.reference, None)
        assert (outcome.result, outcome.why) == (StopResult.GONE, "exit code 3")

    async def test_a_container_of_a_unit_is_its_manager_s(self, bench: DockerBench) -> None:
        """Quadlet and `podman generate systemd` mark theirs; systemd would start it again."""
        await bench.run("unit", labels={"PODMAN_SYSTEMD_UNIT": "unit.service"})
        unit = await listed(bench.runtime, "unit")
        assert unit is not None
        assert unit.pod.managed_by is not None
        assert unit.pod.managed_by.startswith("systemd")
        assert unit.pod.protected
        assert (await bench.runtime.stop(unit.reference, 0)).result is StopResult.REFUSED

    async def test_its_own_statistics_are_marked_as_including_file_pages(
        self, bench: DockerBench
    ) -> None:
        """For an evictd that sees neither its cgroups nor its processes."""
        web = await running(bench, "web")
        usage = await bench.runtime.usage([web.reference])
        memory = usage[web.pod.uid]
        assert memory.includes_cache
        assert memory.working_set_bytes
        assert memory.available_bytes is None  # it has no limit of its own

    async def test_nothing_that_is_used_is_reclaimed(self, bench: DockerBench) -> None:
        """Podman knows images without a name too; of a build cache it knows nothing."""
        await bench.run("web")

        async def go_on() -> bool:
            return True

        for step in ("danglingImages", "buildCache"):
            outcome = await bench.runtime.reclaim(step, stopped=frozenset(), go_on=go_on)
            assert outcome.error is None
        assert (await bench.docker("images", "--quiet", "base")).strip()
        assert await listed(bench.runtime, "web") is not None


async def test_what_a_user_s_containers_use_together_is_the_figure_of_none(
    rootless: PodmanService,
) -> None:
    """On cgroup v1 Podman tells of each what all of them hold; nobody is judged by that."""
    bench = DockerBench(rootless)
    try:
        web = await running(bench, "web")
        version = await bench.docker("info", "--format={{.CgroupVersion}}")
        usage = await bench.runtime.usage([web.reference])
        assert (usage == {}) is (version.strip() == "1")
    finally:
        await bench.runtime.close()
        await bench.clear()


def the_labelled_one_goes_and_comes_back(engine: PodmanService, folder: Path) -> Node:
    """Two that take the same: the labelled one goes, and is back when the other one is gone."""
    place = {} if engine.parent is None else {"cgroup_parent": engine.parent}
    services = {
        "batch": service(engine, TAKES_MIB, labels={"evictd.priority": "low"}, **place),
        "web": service(engine, TAKES_MIB, labels={"evictd.protect": "true"}, **place),
    }
    settings = acting(engine, LINE_MIB, evictionPressureTransitionPeriod="2s")
    node = Node(folder=folder, settings=settings)
    down = f"stopped/{PROJECT}/batch"
    with composed(engine, PROJECT, folder, services) as compose, node.joined():
        compose("up", "--detach")
        node.until("one is evicted", lambda: node.hears.events("Evicted"))
        node.until("that is written down", lambda: node.hears.newest(down))
        record = node.hears.newest(down)
        (evicted,) = node.hears.events("Evicted")
        assert evicted["subject"] == f"{PROJECT}/batch"
        assert "batch" not in compose("ps", "--format={{.Service}}")
        compose("stop", "--timeout", "1", "web")
        node.until("it is back", lambda: node.hears.events("Restored"))
        node.until("it is not down any more", lambda: node.hears.newest(down) is None)
        node.until("it is seen", lambda: node.pod("batch"))
        pod = node.pod("batch")
        assert pod is not None
        assert pod["runtime"] == "podman"
        assert pod["runtimeId"] == record["runtimeId"]
        assert pod["uid"] != record["uid"]
        assert not node.hears.kernel_kills()
        assert len(node.hears.events("Evicted")) == 1
    return node


def test_of_podman_s_containers_the_labelled_one_goes_and_comes_back(
    podman: PodmanService, tmp_path: Path
) -> None:
    """As with Docker: by the cgroups of its own, in the words of Docker's interface."""
    the_labelled_one_goes_and_comes_back(podman, tmp_path)


def test_of_a_user_s_containers_the_labelled_one_goes_and_comes_back(
    rootless: PodmanService, tmp_path: Path
) -> None:
    """Without a cgroup for each, by the memory of its processes."""
    node = the_labelled_one_goes_and_comes_back(rootless, tmp_path)
    observed = (message.content for message in node.hears.all("observation"))
    seen = (pod.get("stats", {}).get("memory") for one in observed for pod in one["pods"])
    figures = [memory for memory in seen if memory is not None]
    assert figures
    assert all(memory["estimated"] for memory in figures)
