"""Answers of engines as people have met them, and what is read of each."""

import itertools
import json
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from tests.contract.engine_double import RUNNING, EngineDouble

from evictd.runtimes import ChangeKind, Meter
from evictd.runtimes.docker import DockerRuntime, runtime
from evictd.runtimes.docker.figures import Figures, memory_statistics
from evictd.runtimes.docker.inspection import Information
from evictd_schemas import MemoryStatistics

FIXTURES = Path(__file__).parents[1] / "fixtures" / "docker"
FILES = {path.name: path.read_text() for path in FIXTURES.iterdir()}
"""Read at once: a test in an event loop may not."""
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)


def captured(name: str) -> Any:
    """One answer."""
    return json.loads(FILES[name])


def captured_lines(name: str) -> list[Any]:
    """One stream of events; their times, where a client has printed them, as engines write them."""
    events = [json.loads(line) for line in FILES[name].splitlines()]
    return [
        {**event, "time": int(datetime.fromisoformat(event["time"]).timestamp())}
        if isinstance(event["time"], str)
        else event
        for event in events
    ]


async def hints(docker: DockerRuntime) -> list[ChangeKind]:
    """Of one stream, until it is lost."""
    kinds: list[ChangeKind] = []
    with anyio.fail_after(10):
        async with aclosing(docker.watch()) as changes:
            async for change in changes:
                if change.kind is ChangeKind.LOST:
                    return kinds
                kinds.append(change.kind)
    return kinds


def told(name: str, machine_bytes: int = 0) -> MemoryStatistics | None:
    """What is read of a container's statistics on a machine of so much memory."""
    information = Information(mem_total=machine_bytes)
    return memory_statistics(msgspec.convert(captured(name), Figures), information, NOW)


def test_a_limit_that_is_the_machine_s_whole_memory_is_none() -> None:
    """In the words of cgroup v2: neither cache nor rss, and all of it is told apart."""
    assert told("stats-cgroup-v2-small.json", machine_bytes=4051226624) == MemoryStatistics(
        time=NOW,
        usage_bytes=303104,
        working_set_bytes=303104,
        rss_bytes=45056,
        shmem_bytes=0,
    )
    limited = told("stats-cgroup-v2-small.json", machine_bytes=8 << 30)
    assert limited is not None
    assert limited.available_bytes == 4051226624 - 303104


def test_without_an_account_of_memory_there_is_no_figure_and_not_zero() -> None:
    assert told("stats-memory-accounting-off.json") is None


def test_podman_s_usage_without_the_kinds_of_memory_is_marked_as_including_cache() -> None:
    """Nothing can be taken off for file pages, and what a stop frees is not known better."""
    memory = told("stats-podman-no-stats-map.json", machine_bytes=67353804800)
    assert memory is not None
    assert (memory.usage_bytes, memory.working_set_bytes) == (6422528, 6422528)
    assert memory.includes_cache
    assert (memory.rss_bytes, memory.available_bytes) == (None, None)


def test_numbers_beyond_all_memory_are_no_limit_and_never_negative() -> None:
    """2^64 - 1 for a limit of 100 MiB that was set: unknown, and no share of it is computed."""
    memory = told("stats-podman-uint64-max.json")
    assert memory is not None
    assert (memory.usage_bytes, memory.available_bytes) == (602112, None)


async def test_an_engine_s_own_figures_are_asked_by_life_and_told_as_such(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """A container that does not answer, or is gone, has none; the others have theirs."""
    ids = {name: double.add(number, name) for number, name in enumerate_names("web", "db", "gone")}
    assert isinstance(docker, Meter)
    lives = {found.pod.name: found.reference for found in (await docker.list()).workloads}
    double.statistics = {
        ids["web"]: captured("stats-podman-no-stats-map.json"),
        ids["db"]: captured("stats-memory-accounting-off.json"),
    }
    usage = await docker.usage(tuple(lives.values()))
    assert usage.keys() == {lives["web"].uid}
    assert usage[lives["web"].uid].includes_cache


async def test_figures_that_all_containers_share_are_nobody_s(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """Podman without root on cgroup v1 tells of each what its user's containers use together."""
    double.information = {**captured("podman-info.json"), "Rootless": True}
    double.statistics = {double.add("1", "web"): captured("stats-podman-no-stats-map.json")}
    lives = [found.reference for found in (await docker.list()).workloads]
    assert await docker.usage(lives) == {}


def enumerate_names(*names: str) -> list[tuple[str, str]]:
    """With a digit for each, of which its id is made."""
    return [(str(number), name) for number, name in enumerate(names, start=1)]


@pytest.mark.parametrize("order", tuple(itertools.permutations(range(3))), ids=str)
async def test_a_kill_for_want_of_memory_is_told_in_whatever_order_its_events_come(
    order: tuple[int, ...],
    double: EngineDouble,
    docker: DockerRuntime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three events share one second, and the kill comes before the cause."""
    monkeypatch.setattr(runtime, "RECONNECT_SECONDS", (0.01,))
    events = captured_lines("events-oom-and-stop.jsonl")
    double.events = [events[index] for index in order]
    assert set(await hints(docker)) == {ChangeKind.OUT_OF_MEMORY, ChangeKind.ENDED}


async def test_a_stop_is_an_end_and_nothing_starts_after_it(
    double: EngineDouble, docker: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with `restart: always`: signal 15, the end, and then silence."""
    monkeypatch.setattr(runtime, "RECONNECT_SECONDS", (0.01,))
    double.events = captured_lines("events-oom-and-stop.jsonl")[3:]
    assert await hints(docker) == [ChangeKind.ENDED]


async def test_of_compose_s_listing_what_runs_is_listed_with_what_it_needs(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """The one that has exited is not; sizes are neither asked for nor needed."""
    double.listing = captured("containers-list-compose.json")
    for item in double.listing:
        state = {**RUNNING, "Running": item["State"] == "running"}
        config = {"Labels": item["Labels"], "Image": item["Image"]}
        double.inspections[item["Id"]] = {"Id": item["Id"], "State": state, "Config": config}
    listing = await docker.list()
    found = {f"{one.pod.namespace}/{one.pod.name}": one.pod for one in listing.workloads}
    assert {"foo/words", "foo/db", "harbor/postgresql"} <= found.keys()
    assert not any(name.endswith("/job") for name in found)
    assert found["foo/words"].depends_on == ("foo/db",)
    assert listing.complete
    assert not any("size" in asked for asked in double.asked)


async def test_of_an_old_engine_the_line_for_people_tells_who_is_paused_or_unhealthy(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """Its states say "running" of both; they are candidates like all others, and not ready."""
    double.listing = captured("containers-list-compose.json")
    for item in double.listing:
        whole = {"Id": item["Id"], "State": dict(RUNNING), "Config": {"Labels": item["Labels"]}}
        double.inspections[item["Id"]] = whole
    ready = {found.pod.name: found.pod.ready for found in (await docker.list()).workloads}
    assert ready == {"words": True, "db": True, "postgresql": True, "cam": False, "web": False}


async def test_a_board_without_an_account_of_memory_is_told_its_boot_words(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    double.information = captured("info-no-memory-cgroup.json")
    (problem,) = (await docker.list()).problems
    assert "cgroup_enable=memory" in problem
    assert "cgroup_memory=1" in problem


async def test_a_small_host_with_508_images_can_be_cleaned_before_anybody_is_stopped(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """Nothing is wrong with it, and the steps that come before every stop are there."""
    double.information = captured("info-many-images.json")
    assert (await docker.list()).problems == ()
    assert {"danglingImages", "buildCache"} <= docker.reclaim_steps


@pytest.fixture
def podman(double: EngineDouble) -> EngineDouble:
    """One container that Docker's client made, as Podman 4.3 tells of it."""
    double.version = captured("podman-version.json")
    double.information = captured("podman-info.json")
    double.listing = captured("podman-containers-list.json")
    whole = captured("podman-container.json")
    double.inspections[whole["Id"]] = whole
    return double


async def test_podman_is_told_by_its_name_and_what_it_does_not_say_is_the_engine_s(
    podman: EngineDouble, docker: DockerRuntime
) -> None:
    """It writes a stop time-out of 0 where nobody said one: that would be a kill."""
    (hold,) = (await docker.list()).workloads
    assert (hold.pod.runtime, docker.name) == ("podman", "podman")
    assert (hold.pod.namespace, hold.pod.name) == ("_", "hold")
    assert (hold.pod.priority, hold.pod.limits) == (-1000, {"memory": 200 << 20})
    assert hold.pod.requests == {}
    assert hold.pod.termination_grace_period_seconds == 10
    assert hold.pod.start_time is not None
    assert hold.whereabouts.writable_layer is not None
    await docker.stop(hold.reference, None)
    assert f"POST containers/{hold.pod.runtime_id}/stop?t=10" in podman.asked


async def test_a_container_of_podman_s_that_is_being_stopped_still_runs(
    podman: EngineDouble, docker: DockerRuntime
) -> None:
    """It says that it does not run, with a process that does; its memory is not free yet."""
    (item,) = podman.listing
    item["State"] = "stopping"
    state = podman.inspections[item["Id"]]["State"]
    state |= {"Status": "stopping", "Running": False}
    (hold,) = (await docker.list()).workloads
    assert hold.pod.name == "hold"


async def test_a_storage_driver_that_tells_no_place_is_no_problem(
    podman: EngineDouble, docker: DockerRuntime
) -> None:
    """`vfs`, which an engine without root may have."""
    (item,) = podman.listing
    podman.inspections[item["Id"]]["GraphDriver"] = {"Name": "vfs", "Data": None}
    listing = await docker.list()
    (hold,) = listing.workloads
    assert listing.complete
    assert hold.whereabouts.writable_layer is None
    assert hold.whereabouts.log_file is not None


async def test_podman_s_events_hint_at_ends_and_starts(
    podman: EngineDouble, docker: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cleanup` and `init` come besides and say nothing more."""
    monkeypatch.setattr(runtime, "RECONNECT_SECONDS", (0.01,))
    podman.events = captured_lines("podman-events.jsonl")
    kinds = await hints(docker)
    assert kinds == [ChangeKind.ENDED, ChangeKind.STARTED, ChangeKind.ENDED]
