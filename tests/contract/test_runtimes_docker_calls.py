"""What is asked of an engine: nothing that is not listed, and nothing slow to know what runs."""

from contextlib import aclosing
from pathlib import Path

import aiohttp
import anyio
import pytest
from tests.contract.engine_double import EngineDouble

from evictd.core.duty import StartResult, StopResult
from evictd.runtimes import ChangeKind
from evictd.runtimes.docker import DockerRuntime, Engine, engine, runtime
from evictd.runtimes.docker.endpoints import ALL, LOOKING, endpoint

LOOKS = 5


def endpoints(double: EngineDouble) -> set[str | None]:
    """What was asked, without its questions."""
    calls = (asked.partition("?")[0].split(" ", 1) for asked in double.asked)
    return {endpoint(method, f"/{path}") for method, path in calls}


async def test_looking_asks_nothing_slow_however_often(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """No statistics, no sizes, no use of disks; what does not change is asked once."""
    for number in range(1, 4):
        double.add(str(number), f"web-{number}", evictd_priority="low")
    for _ in range(LOOKS):
        await docker.list()
    assert endpoints(double) <= set(LOOKING)
    assert not [asked for asked in double.asked if "size" in asked or "df" in asked]
    assert double.asked.count("GET containers/json?all=1") == LOOKS
    assert double.asked.count("GET info") == 1
    assert double.asked.count("GET images/sha256:1/json") <= 3  # those of the first listing


async def test_a_life_from_stop_to_start_asks_only_what_is_listed(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """One stop and one start."""
    double.add("1", "web")
    (web,) = (await docker.list()).workloads
    assert (await docker.stop(web.reference, 3)).result is StopResult.GONE
    assert (await docker.start("_", "web", web.pod.runtime_id)).result is StartResult.STARTED
    changes = [asked for asked in double.asked if not asked.startswith("GET")]
    assert changes == [f"POST containers/{'1' * 64}/stop?t=3", f"POST containers/{'1' * 64}/start"]
    assert None not in endpoints(double)


@pytest.mark.parametrize("known", ALL)
def test_each_endpoint_is_recognized_with_and_without_a_version(known: str) -> None:
    method, path = known.replace("{id}", "0f").split(" ")
    assert endpoint(method, path) == known
    assert endpoint(method, f"/v1.41{path}") == known


@pytest.mark.parametrize(
    "asked",
    [
        "DELETE /volumes/data",
        "POST /volumes/prune",
        "POST /containers/prune",
        "POST /containers/0f/exec",
        "POST /containers/create",
        "DELETE /networks/0f",
        "POST /containers/0f/pause",
    ],
)
def test_what_evictd_never_does_is_no_endpoint_of_its(asked: str) -> None:
    """No volume is touched, nothing is made, and nobody is let in."""
    method, path = asked.split(" ")
    assert endpoint(method, path) is None


async def test_the_double_tells_a_call_that_nobody_has_listed(tmp_path: Path) -> None:
    """So that every test over it holds the list."""
    double = EngineDouble(tmp_path / "other.sock")
    await double.open()
    connector = aiohttp.UnixConnector(double.address.removeprefix("unix://"))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post("http://docker/v1.41/volumes/prune") as answer,
    ):
        assert answer.status == 404
    with pytest.raises(AssertionError, match="POST /volumes/prune"):
        await double.close()


async def test_a_new_container_is_listed_as_soon_as_the_engine_tells(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """The hint comes with the engine's event; the next listing has it."""
    double.events = [
        {"Type": "container", "Action": "start", "Actor": {"ID": "1" * 64}, "timeNano": 1}
    ]
    assert (await docker.list()).workloads == ()
    with anyio.fail_after(10):
        async for change in docker.watch():
            double.add("1", "web")
            assert change.runtime_id == "1" * 64
            break
    assert [found.pod.name for found in (await docker.list()).workloads] == ["web"]


async def test_a_stream_over_a_network_that_says_nothing_is_opened_again(
    double: EngineDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy or a cable that vanished ends nothing: what was missed is told after all."""
    monkeypatch.setattr(runtime, "RECONNECT_SECONDS", (0.01,))
    monkeypatch.setattr(engine, "QUIET_SECONDS", 0.1)
    double.events = [
        {"Type": "container", "Action": "die", "Actor": {"ID": "1" * 64}, "timeNano": 5_000_000_007}
    ]
    double.vanishes = True
    docker = DockerRuntime(Engine(await double.port()))
    with anyio.fail_after(10):
        async with aclosing(docker.watch()) as changes:
            kinds = [(await anext(changes)).kind for _ in range(3)]
    await docker.close()
    assert kinds == [ChangeKind.ENDED, ChangeKind.LOST, ChangeKind.ENDED]
    assert "since=5.000000008" in [line for line in double.asked if "events" in line][1]


async def test_a_quiet_stream_of_this_machine_is_left_alone(
    double: EngineDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel tells the end of a socket: silence is nothing that happens."""
    monkeypatch.setattr(engine, "QUIET_SECONDS", 0.0)
    double.vanishes = True
    stream = Engine(double.address).events(None)
    async with aclosing(stream):
        with anyio.move_on_after(0.2) as waited:
            await anext(stream, None)
    assert waited.cancelled_caught
