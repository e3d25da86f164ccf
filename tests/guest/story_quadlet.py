"""Quadlets of a real Podman and a real systemd: only its unit may stop and start a container."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest
from tests.contract.runtime_contract import listed
from tests.contract.systemd_double import chosen
from tests.guest.bare_image import MOUNT
from tests.guest.podman import ADDRESS, DEAF, IMAGE, SOCKET, WILLING, podman, podman_service
from tests.guest.units import away, shown, systemctl
from tests.lab.node import Node
from tests.lab.projects import HOLD

from evictd.collector.sources.workloads import memory_statistics
from evictd.core.duty import StartResult, StopResult
from evictd.runtimes import Workload
from evictd.runtimes.docker import DockerRuntime, Engine
from evictd.runtimes.systemd import Manager, SystemdRuntime

QUADLETS = Path("/etc/containers/systemd")
SLICE = Path("/run/systemd/system/quadlets.slice")
MACHINE_MIB = 300
LINE_MIB = 100
HELD_MIB = {"batch": 120, "keeper": 80}
"""Together less than half a line below it, so that nobody's grace is cut; and no room for `batch`
before `keeper` has gone."""
PROGRAMS = Path("/run/quadlets")
SCRIPTS = {"willing": WILLING, "deaf": DEAF, "hold": HOLD}
COMMANDS = {
    "willing": f"sh {PROGRAMS}/willing",
    "deaf": f"sh {PROGRAMS}/deaf",
    "batch": f"python3 {PROGRAMS}/hold {HELD_MIB['batch']}",
    "keeper": f"python3 {PROGRAMS}/hold {HELD_MIB['keeper']}",
}
LABELS = {"batch": "evictd.priority=low", "keeper": "evictd.protect=true"}
FILE = f"""\
[Container]
Image={IMAGE}
ContainerName={{name}}
Label={{label}}
Pull=never
Network=none
Volume={MOUNT}
Volume={PROGRAMS}:{PROGRAMS}:ro
Exec={{command}}

[Service]
Restart=always
RestartSec=100ms
Slice={SLICE.name}
"""
"""What an owner would write; the image is the only one, and there is no network."""
WAIT_SECONDS = 120
LOOK_SECONDS = 0.2


pytestmark = pytest.mark.usefixtures("patient_with_engines")


@pytest.fixture(scope="module", autouse=True)
def files() -> Iterator[None]:
    """Made into units by Podman's own generator, once for all stories."""
    for folder in (QUADLETS, PROGRAMS):
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in SCRIPTS.items():
        (PROGRAMS / name).write_text(text)
    for name, command in COMMANDS.items():
        label = LABELS.get(name, "story=quadlet")
        text = FILE.format(name=name, label=label, command=command)
        (QUADLETS / f"{name}.container").write_text(text)
    SLICE.write_text(f"[Slice]\nMemoryMax={MACHINE_MIB}M\n")
    systemctl("daemon-reload")
    with podman_service():
        yield
        systemctl("stop", *(f"{name}.service" for name in COMMANDS))
    SLICE.unlink()
    shutil.rmtree(PROGRAMS)
    shutil.rmtree(QUADLETS)
    systemctl("daemon-reload")


@pytest.fixture
async def runtime() -> AsyncIterator[DockerRuntime]:
    """As root has it on this machine."""
    runtime = DockerRuntime(Engine(ADDRESS), systemd=Manager())
    yield runtime
    await runtime.close()


async def up(runtime: DockerRuntime, name: str) -> Workload:
    """A container that runs."""
    found = await listed(runtime, name)
    assert found is not None
    return found


@pytest.fixture
async def willing() -> str:
    """The unit of a container that is up, left so by the story before or started now."""
    await away(systemctl, "start", "willing.service")
    return "willing.service"


async def test_a_container_of_a_quadlet_is_listed_once_as_its_units(
    runtime: DockerRuntime, willing: str
) -> None:
    """Where units are listed too, that one is left to the engine, and that is told."""
    listing = await runtime.list()
    assert listing.complete, listing.problems
    (found,) = listing.workloads
    pod = found.pod
    assert (pod.namespace, pod.name, pod.runtime) == ("_", "willing", "podman")
    assert (pod.managed_by, pod.protected) == (f"systemd unit {willing}", False)
    assert pod.runtime_id == willing
    group = await away(shown, willing, "ControlGroup")
    assert str(found.whereabouts.memory_cgroup).startswith(f"/sys/fs/cgroup{group}/libpod-payload-")
    memory = await away(memory_statistics, found.whereabouts, Path("/proc"))
    assert memory is not None
    assert memory.working_set_bytes
    assert not memory.estimated
    units = SystemdRuntime(chosen(("willing*", "libpod*")), engine_listed=True)
    beside = await units.list()
    await units.close()
    assert beside.workloads == ()
    assert beside.problems == (f"{willing} runs a container, which is listed by podman",)


async def test_what_the_engine_alone_stops_comes_back_by_its_unit(
    runtime: DockerRuntime, willing: str
) -> None:
    """So that an evictd that may not speak to systemd leaves it alone."""
    first = await up(runtime, "willing")
    alone = DockerRuntime(Engine(ADDRESS))
    unasked = await up(alone, "willing")
    refused = await alone.stop(unasked.reference, 5)
    await alone.close()
    assert unasked.pod.protected
    why = f"it is managed by systemd unit {willing}"
    assert (refused.result, refused.why) == (StopResult.REFUSED, why)
    await away(podman, "stop", "willing")
    again = await _another(runtime, first)
    assert again.pod.runtime_id == first.pod.runtime_id
    assert int(await away(shown, willing, "NRestarts")) >= 1


async def test_it_is_stopped_through_its_unit_stays_down_and_is_started_again(
    runtime: DockerRuntime, willing: str
) -> None:
    """`Restart=always` says nothing of what systemd was told to stop. The container is another
    one afterwards, the workload is not."""
    found = await up(runtime, "willing")
    first = found.pod
    outcome = await runtime.stop(found.reference, 20)
    assert outcome.result is StopResult.GONE, outcome
    assert await listed(runtime, "willing") is None
    assert await away(shown, willing) in ("inactive", "failed")
    assert await away(shown, willing, "Job") == ""
    assert await runtime.keeps("_", "willing", first.runtime_id) is True
    started = await runtime.start("_", "willing", first.runtime_id)
    assert started.result is StartResult.STARTED, started
    again = (await up(runtime, "willing")).pod
    assert (again.name, again.runtime_id) == (first.name, first.runtime_id)
    assert again.uid != first.uid
    assert await away(shown, willing, "NRestarts") == "0"
    await away(systemctl, "stop", willing)


async def test_a_deaf_one_is_killed_after_the_grace(runtime: DockerRuntime) -> None:
    """Ours, which is shorter than Podman's ten seconds; and it stays down."""
    await away(systemctl, "start", "deaf.service")
    found = await up(runtime, "deaf")
    assert found.pod.termination_grace_period_seconds == 10
    began_seconds = anyio.current_time()
    outcome = await runtime.stop(found.reference, 1)
    assert outcome.result is StopResult.GONE, outcome
    assert anyio.current_time() - began_seconds >= 1
    assert await listed(runtime, "deaf") is None
    assert await away(shown, "deaf.service") in ("inactive", "failed")


async def _another(runtime: DockerRuntime, first: Workload) -> Workload:
    """Whatever runs soon under its name that is not that life."""
    with anyio.fail_after(WAIT_SECONDS):
        while True:
            found = await listed(runtime, first.pod.name)
            if found is not None and found.pod.uid != first.pod.uid:
                return found
            await anyio.sleep(LOOK_SECONDS)


def test_under_pressure_it_goes_is_remembered_and_comes_back(tmp_path: Path) -> None:
    """By all of evictd, and through its unit each time. Who is protected runs on."""
    sources = {
        "memory": {"cgroup": f"/{SLICE.name}"},
        "intervalSeconds": 2,
        "minimumIntervalSeconds": 1,
        "runtimes": {"docker": {"socket": str(SOCKET)}},
    }
    node = Node(
        folder=tmp_path,
        settings={
            "mode": "act",
            "evictionHard": {"memory.available": f"{LINE_MIB}Mi"},
            "evictionPressureTransitionPeriod": "2s",
            "sources": sources,
        },
    )
    down = "stopped/_/batch"
    systemctl("start", "keeper.service")
    kept = shown("keeper.service", "InvocationID")
    with node.joined():
        systemctl("start", "batch.service")
        node.until("it is evicted", lambda: node.hears.events("Evicted"), WAIT_SECONDS)
        node.until("that is written down", lambda: node.hears.newest(down))
        record = node.hears.newest(down)
        (evicted,) = node.hears.events("Evicted")
        assert (evicted["subject"], record["runtimeId"]) == ("_/batch", "batch.service")
        assert shown("batch.service") in ("inactive", "failed")
        assert shown("keeper.service", "InvocationID") == kept
        systemctl("stop", "keeper.service")
        node.until("it is back", lambda: node.hears.events("Restored"), WAIT_SECONDS)
        node.until("it is not down any more", lambda: not node.hears.newest(down))
        node.until("it is seen", lambda: node.pod("batch"))
        pod = node.pod("batch")
        assert pod is not None
        assert (pod["runtime"], pod["runtimeId"]) == ("podman", "batch.service")
        assert pod["managedBy"] == "systemd unit batch.service"
        assert pod["uid"] != record["uid"]
        assert len(node.hears.events("Evicted")) == 1
        assert not node.hears.kernel_kills()
    assert shown("batch.service") == "active"
    assert shown("batch.service", "NRestarts") == "0"
