"""What an engine is asked to give back, and what never: images, dead containers, logs."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from tests.contract.store_double import Store

from evictd.runtimes.docker import DockerRuntime, Engine, runtime
from evictd.runtimes.docker.inspection import time_of
from evictd.runtimes.docker.long_logs import empty, log_bytes
from evictd.runtimes.reclaims import DeadContainers, LongLogs, Reclaims
from evictd.runtimes.reclaims import UnusedImages as Settings
from evictd.runtimes.settings import WorkloadSettings
from evictd_schemas import StepOutcome

WEEK_SECONDS = 7 * 24 * 3600.0
ALL = Reclaims(
    unused_images=Settings(unused_seconds=0, minimum_age_seconds=0),
    dead_containers=DeadContainers(exited_seconds=WEEK_SECONDS),
    long_logs=LongLogs(above_bytes=8192),
)


@pytest.fixture
async def docker(store: Store, tmp_path: Path) -> AsyncIterator[DockerRuntime]:
    def settings(namespace: str, name: str) -> WorkloadSettings | None:
        return WorkloadSettings(protect=True) if name == "ours" else None

    places = runtime.Places(cgroup=tmp_path, proc=tmp_path, own_process=tmp_path)
    docker = DockerRuntime(
        Engine(store.address), places=places, reclaims=ALL, settings_for=settings
    )
    yield docker
    await docker.close()


async def always() -> bool:
    """Go on."""
    return True


async def take(docker: DockerRuntime, step: str, *stopped: str) -> StepOutcome:
    return await docker.reclaim(step, stopped=frozenset(stopped), go_on=always)


async def test_an_image_that_nothing_refers_to_goes_and_no_other(
    store: Store, docker: DockerRuntime
) -> None:
    """Not what was built here, what a container refers to though it has ended, or what that was
    built on."""
    base = store.image("base")
    store.image("built", digest=False)
    store.container("1", "web", store.image("web", parent=base))
    store.container("2", "job", store.image("job"), FinishedAt="2020-01-01T00:00:00Z")
    store.image("old", size=70)
    outcome = await take(docker, "unusedImages")
    assert outcome == StepOutcome(
        step="unusedImages", listed_bytes=70, taken=("old:1",), taken_total=1
    )
    assert store.deleted == ["old:1"]


async def test_children_go_first(store: Store, docker: DockerRuntime) -> None:
    grandchild = store.image("child", parent=store.image("parent"))
    store.image("grandchild", parent=grandchild)
    assert (await take(docker, "unusedImages")).taken == ("grandchild:1", "child:1", "parent:1")


async def test_an_image_that_is_in_use_after_all_is_no_failure(
    store: Store, docker: DockerRuntime
) -> None:
    """The engine refuses with a conflict, and the next one is taken. [field case F2]"""
    store.image("used")
    store.image("old")
    store.in_use.add("used:1")
    outcome = await take(docker, "unusedImages")
    assert (outcome.taken, outcome.error) == (("old:1",), None)


async def test_nothing_more_is_taken_once_there_is_enough(
    store: Store, docker: DockerRuntime
) -> None:
    store.image("one")
    store.image("two")
    answers = [True, False]

    async def go_on() -> bool:
        return answers.pop(0)

    outcome = await docker.reclaim("unusedImages", stopped=frozenset(), go_on=go_on)
    assert outcome.taken_total == 1
    assert store.deleted == ["one:1"]


LONG_AGO = "2020-01-01T00:00:00.123456789Z"


async def test_a_container_that_ended_long_ago_goes_and_no_other(
    store: Store, docker: DockerRuntime
) -> None:
    """Not one that ended lately, runs, is Compose's, has a volume without a name, is protected, or
    was stopped by evictd."""
    dead = store.container("1", "dead", "i", FinishedAt=LONG_AGO)
    store.container("2", "web", "i")
    lately = (datetime.now(UTC) - timedelta(days=6)).isoformat()
    store.container("3", "lately", "i", FinishedAt=lately)
    composed = store.container("4", "shop-web-1", "i", FinishedAt=LONG_AGO)
    labels = {"com.docker.compose.project": "shop"}
    store.inspections[composed]["Config"]["Labels"] = labels
    anonymous = store.container("5", "data", "i", FinishedAt=LONG_AGO)
    store.inspections[anonymous]["Mounts"] = [{"Type": "volume", "Name": "ab" * 32}]
    named = store.container("6", "named", "i", FinishedAt=LONG_AGO)
    store.inspections[named]["Mounts"] = [{"Type": "volume", "Name": "pgdata"}]
    store.container("7", "ours", "i", FinishedAt=LONG_AGO)
    stopped = store.container("8", "stopped", "i", FinishedAt=LONG_AGO)
    managed = store.container("9", "task", "i", FinishedAt=LONG_AGO)
    store.inspections[managed]["Config"]["Labels"] = {"com.docker.swarm.task.id": "1"}
    store.container("a", "never", "i", FinishedAt="0001-01-01T00:00:00Z")
    store.inspections[dead]["SizeRw"] = 99
    outcome = await take(docker, "deadContainers", stopped)
    assert sorted(outcome.taken) == ["_/dead", "_/named"]
    assert outcome.listed_bytes == 99
    assert sorted(store.deleted) == sorted([dead, named])
    assert not any("v=" in asked for asked in store.asked if asked.startswith("DELETE"))


async def test_no_container_goes_while_nobody_knows_what_evictd_has_stopped(
    store: Store, docker: DockerRuntime
) -> None:
    store.container("1", "dead", "i", FinishedAt=LONG_AGO)
    outcome = await docker.reclaim("deadContainers", stopped=None, go_on=always)
    assert outcome.error == "what evictd has stopped is not known before the bus has told it"
    assert store.deleted == []


@pytest.fixture
def logs(tmp_path: Path) -> dict[str, Path]:
    """Two long ones and a short one below the engine's folder."""
    found = {}
    for name, size in (("chatty", 20_000), ("quiet", 100), ("local", 20_000)):
        found[name] = tmp_path / "engine" / "containers" / name / "json.log"
        found[name].parent.mkdir(parents=True)
        found[name].write_bytes(b"x" * size)
    return found


async def test_a_long_log_of_a_running_container_is_emptied_in_place(
    store: Store, docker: DockerRuntime, logs: dict[str, Path], tmp_path: Path
) -> None:
    """A short one and another driver's stay."""
    store.information["DockerRootDir"] = str(tmp_path / "engine")
    drivers = {"chatty": "json-file", "quiet": "json-file", "local": "local"}
    for number, (name, driver) in enumerate(drivers.items()):
        container_id = store.container(str(number), name, "i")
        store.inspections[container_id]["LogPath"] = str(logs[name])
        store.inspections[container_id]["HostConfig"] = {"LogConfig": {"Type": driver}}
    outcome = await take(docker, "truncateLogs")
    assert outcome.taken == ("_/chatty",)
    assert outcome.listed_bytes >= 20_000
    sizes = {name: await anyio.Path(log).stat() for name, log in logs.items()}
    assert [sizes[name].st_size for name in drivers] == [0, 100, 20_000]


async def test_in_a_container_that_does_not_see_the_engines_folder_it_is_said(
    store: Store, docker: DockerRuntime
) -> None:
    store.information["DockerRootDir"] = "/nowhere/docker"
    outcome = await take(docker, "truncateLogs")
    assert outcome.error == "the engine's folder /nowhere/docker is not to be seen from here"


def test_an_emptied_log_goes_on_at_its_new_end(logs: dict[str, Path], tmp_path: Path) -> None:
    """The engine holds it open, and appends."""
    with logs["chatty"].open("ab") as engine_handle:
        assert empty(str(tmp_path / "engine"), str(logs["chatty"]))
        engine_handle.write(b"after\n")
    assert logs["chatty"].read_bytes() == b"after\n"


@pytest.mark.parametrize("trick", ["outside", "link", "folder link", "dots", "twice", "folder"])
def test_a_log_that_is_no_plain_file_below_the_engines_folder_is_left_alone(
    trick: str, tmp_path: Path
) -> None:
    """Whoever can write there must not lead us elsewhere."""
    engine_folder, elsewhere = tmp_path / "engine", tmp_path / "elsewhere"
    (engine_folder / "containers").mkdir(parents=True)
    elsewhere.mkdir()
    precious = elsewhere / "precious"
    precious.write_bytes(b"x" * 20_000)
    log = engine_folder / "containers" / "json.log"
    match trick:
        case "outside":
            log = precious
        case "link":
            log.symlink_to(precious)
        case "folder link":
            (engine_folder / "linked").symlink_to(elsewhere)
            log = engine_folder / "linked" / "precious"
        case "dots":
            log = engine_folder / ".." / "elsewhere" / "precious"
        case "twice":
            log.hardlink_to(precious)
        case "folder":
            log.mkdir()
    assert log_bytes(str(engine_folder), str(log)) is None
    assert not empty(str(engine_folder), str(log))
    assert precious.stat().st_size == 20_000


async def test_a_rehearsal_names_what_would_go_and_deletes_nothing(
    store: Store, docker: DockerRuntime
) -> None:
    store.image("old", size=70)
    store.container("1", "dead", "i", FinishedAt=LONG_AGO)
    outcomes = [
        await docker.rehearse(step, stopped=frozenset())
        for step in ("danglingImages", "buildCache", "unusedImages", "deadContainers", "volumes")
    ]
    assert [(one.taken, one.listed_bytes, one.error) for one in outcomes] == [
        (("sha256:old",), 70, None),
        (("old", "never"), 6, None),
        (("old:1",), 70, None),
        (("_/dead",), 0, None),
        ((), 0, "not supported by docker"),
    ]
    assert not [asked for asked in store.asked if asked.startswith(("POST", "DELETE"))]
    assert store.deleted == []


async def test_a_step_that_is_not_switched_on_is_not_there(store: Store) -> None:
    docker = DockerRuntime(Engine(store.address))
    store.image("old")
    assert docker.reclaim_steps == {"danglingImages", "buildCache"}
    assert (await take(docker, "unusedImages")).error == "not supported by docker"
    assert store.deleted == []
    await docker.close()


def test_moments_of_engines_are_read_to_the_nanosecond() -> None:
    assert time_of(LONG_AGO) == datetime(2020, 1, 1, microsecond=123456, tzinfo=UTC)
    assert time_of("2020-01-01T01:00:00+01:00") == datetime(2020, 1, 1, tzinfo=UTC)
    assert time_of("2020-01-01T00:00:00") == datetime(2020, 1, 1, tzinfo=UTC)
    for text in ("0001-01-01T00:00:00Z", "", "yesterday"):
        assert time_of(text) is None
