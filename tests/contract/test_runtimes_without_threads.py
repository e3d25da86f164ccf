"""On a machine that has no thread to give, what a runtime of an engine cannot do is an outcome."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import anyio
import pytest
from tests.contract.engine_double import EngineDouble
from tests.contract.store_double import Store
from tests.waiting import until

from evictd.core.duty import StopResult
from evictd.core.errors import HostError
from evictd.responder.holding import HoldFile
from evictd.responder.room import Disks
from evictd.runtimes.docker import DockerRuntime, Engine, runtime
from evictd.runtimes.kept_file import KeptFile
from evictd.runtimes.reclaims import DeadContainers, LongLogs, Reclaims, UnusedImages
from evictd.shell.blocking import in_thread
from evictd.shell.clock import SystemClock

T = TypeVar("T")
WHY = "no thread can be started"


async def nowhere(function: Callable[[], T]) -> T:
    """Instead of a thread."""
    del function
    raise HostError(WHY)


async def always() -> bool:
    """There is never enough."""
    return True


@pytest.fixture
def reclaims() -> Reclaims:
    """Everything is switched on."""
    return Reclaims(
        unused_images=UnusedImages(unused_seconds=0.0, minimum_age_seconds=0.0),
        dead_containers=DeadContainers(exited_seconds=0.0),
        long_logs=LongLogs(above_bytes=1),
    )


async def test_a_stop_and_a_return_are_tried_again(double: EngineDouble, tmp_path: Path) -> None:
    """Both look at small files of the machine."""
    number = double.add("1", "web")
    listed = DockerRuntime(Engine(double.address), places=places(tmp_path))
    (web,) = (await listed.list()).workloads
    await listed.close()
    docker = DockerRuntime(Engine(double.address), places=places(tmp_path), run_blocking=nowhere)
    with pytest.raises(HostError, match=WHY):
        await docker.list()
    outcome = await docker.stop(web.reference, 3)
    assert (outcome.result, outcome.why) == (StopResult.FAILED, WHY)
    assert double.inspections[number]["State"]["Running"] is True
    sharer = double.add("2", "torrent")
    double.inspections[sharer]["HostConfig"] = {"NetworkMode": f"container:{number}"}
    bereft = await docker.bereft("_", "web", number)
    assert not bereft.pods
    assert len(bereft.problems) <= 1
    await docker.close()


async def test_a_reclaim_says_what_it_could_not_do(
    store: Store, reclaims: Reclaims, tmp_path: Path
) -> None:
    """And what takes no look at the machine is done."""
    store.image("old")
    docker = DockerRuntime(
        Engine(store.address), places=places(tmp_path), reclaims=reclaims, run_blocking=nowhere
    )
    taken = [await docker.reclaim(step, stopped=(), go_on=always) for step in docker.reclaim_steps]
    shown = [await docker.rehearse(step, stopped=()) for step in docker.reclaim_steps]
    assert {outcome.step for outcome in taken if outcome.error == WHY} <= docker.reclaim_steps
    assert any(outcome.error == WHY for outcome in (*taken, *shown))
    await docker.close()


async def test_uses_of_images_are_followed_all_the_same(
    store: Store, reclaims: Reclaims, tmp_path: Path
) -> None:
    """Nothing is known of the past, and nothing is written down for the future."""
    store.image("old")
    store.information["DockerRootDir"] = str(tmp_path)
    docker = DockerRuntime(
        Engine(store.address),
        places=places(tmp_path),
        reclaims=reclaims,
        image_memory=tmp_path / "uses",
        run_blocking=nowhere,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(docker.attend)
        await until(lambda: sum("images/json" in asked for asked in store.asked) > 1)
        tasks.cancel_scope.cancel()
    await docker.close()
    assert not await in_thread((tmp_path / "uses").exists)


async def test_what_is_kept_what_is_held_and_what_is_free_are_not_known(tmp_path: Path) -> None:
    """None of the three ends whoever asks."""
    file = KeptFile(tmp_path / "kept", nowhere, "not kept")
    assert await file.read(bytes.decode, 1.0) is None
    await file.write(lambda: b"kept", 1.0)
    assert await file.read(bytes.decode, 1.0) is None
    assert await HoldFile(tmp_path / "hold", nowhere, SystemClock()).keeps("a/b", hard=True) is None
    assert await Disks({"nodefs": "/"}, nowhere).room("nodefs.available") is None


def places(folder: Path) -> runtime.Places:
    """A machine without any groups."""
    return runtime.Places(cgroup=folder, proc=folder, own_process=folder)
