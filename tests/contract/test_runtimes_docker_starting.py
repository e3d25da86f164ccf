"""Bringing containers back: whose successor is started, who has lost a network, what is kept."""

from typing import Any

import anyio
import pytest
from tests.contract.engine_double import RUNNING, EngineDouble
from tests.waiting import until

from evictd.core.duty import StartResult
from evictd.runtimes import Bereft, Keeper, Lender
from evictd.runtimes.docker import DockerRuntime, runtime, sharing

LATER = {**RUNNING, "StartedAt": "2026-11-30T09:00:00Z"}
EXITED = {**RUNNING, "Running": False, "Status": "exited"}
CREATED = {"Running": False, "Status": "created", "StartedAt": "0001-01-01T00:00:00Z"}
COMPOSE = {
    "com__docker__compose__project": "shop",
    "com__docker__compose__service": "web",
    "com__docker__compose__config__hash": "1",
}
GONE = "1" * 64
REMOVED = "f" * 64


def made(double: EngineDouble, state: dict[str, Any], **labels: str) -> str:
    """One that was made in place of another."""
    container = double.add("2", "shop-web-1")
    clear = {
        name.replace("__", ".").replace("config.hash", "config-hash"): value
        for name, value in {**COMPOSE, **labels}.items()
    }
    double.listing[-1]["Labels"] = clear
    double.inspections[container]["Config"]["Labels"] = clear
    double.inspections[container]["State"] = dict(state)
    return container


def shares(double: EngineDouble, number: str, name: str, mode: str, **labels: str) -> str:
    """A container without a network of its own."""
    container = double.add(number, name, **labels)
    double.listing[-1]["HostConfig"] = {"NetworkMode": mode}
    return container


def posts(double: EngineDouble) -> list[str]:
    """What was done, in order, without the options."""
    return [asked[5:].partition("?")[0] for asked in double.asked if asked.startswith("POST")]


async def test_what_compose_made_anew_and_did_not_start_is_started_in_its_place(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """`up --force-recreate --no-start`: the same service, never started."""
    new = made(double, CREATED)
    assert await docker.keeps("shop", "web", GONE)
    assert (await docker.start("shop", "web", GONE)).result is StartResult.STARTED
    assert posts(double) == [f"containers/{new}/start"]


@pytest.mark.parametrize(
    ("state", "labels"),
    [(EXITED, {}), (CREATED, {"com__docker__compose__oneoff": "True"})],
    ids=["somebody ran it and ended it", "a one-off run"],
)
async def test_what_is_not_plainly_its_successor_is_left_alone(
    double: EngineDouble, docker: DockerRuntime, state: dict[str, Any], labels: dict[str, str]
) -> None:
    made(double, state, **labels)
    assert await docker.keeps("shop", "web", GONE) is False
    assert (await docker.start("shop", "web", GONE)).result is StartResult.NOT_FOUND
    assert posts(double) == []


async def test_what_a_person_made_by_hand_under_its_name_is_left_alone(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    double.inspections[double.add("2", "web")]["State"] = dict(CREATED)
    assert await docker.keeps("_", "web", GONE) is False
    assert (await docker.start("_", "web", GONE)).result is StartResult.NOT_FOUND


async def test_what_can_be_started_or_runs_in_its_place_is_kept(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """What was no container, and what nobody can be asked about, is not known to be gone."""
    assert isinstance(docker, Keeper)
    web = double.add("2", "web")
    assert await docker.keeps("_", "web", GONE)
    double.inspections[web]["State"] = dict(EXITED)
    assert await docker.keeps("_", "web", web)
    assert await docker.keeps("_", "web", "system.slice/web.service") is None
    await double.close()
    assert await docker.keeps("_", "web", GONE) is None


async def test_who_shares_its_network_has_lost_it_when_it_lives_again(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """By id or by name; who is down, has a network of its own, or was started since is left alone,
    and who is protected, which is told."""
    vpn = double.add("1", "vpn")
    double.inspections[vpn]["State"] = dict(EXITED)
    by_id = shares(double, "2", "torrent", f"container:{vpn}")
    by_name = shares(double, "3", "tracker", "container:vpn")
    double.inspections[by_name]["Config"]["StopTimeout"] = 30
    shares(double, "4", "own", "bridge")
    shares(double, "5", "other", f"container:{by_id}")
    shares(double, "6", "down", f"container:{vpn}")
    double.listing[-1]["State"] = "exited"
    shares(double, "7", "kept", f"container:{vpn}", evictd_protect="true")
    double.inspections["7" * 64]["Config"]["Labels"] = {"evictd.protect": "true"}
    late = shares(double, "8", "late", f"container:{vpn}")
    double.inspections[late]["State"] = dict(LATER)
    assert isinstance(docker, Lender)
    assert await docker.bereft("_", "vpn", vpn) == Bereft(), "it does not run"
    assert (await docker.start("_", "vpn", vpn)).result is StartResult.STARTED
    bereft = await docker.bereft("_", "vpn", vpn)
    assert bereft.problems == ("_/kept shares its network and was not restarted: it is protected",)
    listed = {found.pod.name: found.pod for found in (await docker.list()).workloads}
    assert [pod.uid for pod in bereft.pods] == [listed[name].uid for name in ("torrent", "tracker")]
    assert [(pod.runtime_id, pod.termination_grace_period_seconds) for pod in bereft.pods] == [
        (by_id, 10),
        (by_name, 30),
    ]
    double.inspections[by_id]["State"] = double.inspections[by_name]["State"] = dict(LATER)
    assert (await docker.bereft("_", "vpn", vpn)).pods == (), "they were restarted"
    assert posts(double) == [f"containers/{vpn}/start"], "it stops and starts nobody itself"


@pytest.mark.parametrize(("is_podman", "grace_seconds"), [(True, 10), (False, 0)])
async def test_a_sharer_of_podman_s_of_which_nobody_said_a_time_is_not_killed(
    double: EngineDouble, docker: DockerRuntime, *, is_podman: bool, grace_seconds: int
) -> None:
    """Podman writes 0 there; Docker's 0 was meant."""
    if is_podman:
        double.information = {**double.information, "BuildahVersion": "1"}
    vpn = double.add("1", "vpn")
    double.inspections[vpn]["State"] = dict(LATER)
    sharer = shares(double, "2", "torrent", f"container:{vpn}")
    double.inspections[sharer]["Config"]["StopTimeout"] = 0
    (pod,) = (await docker.bereft("_", "vpn", vpn)).pods
    assert pod.termination_grace_period_seconds == grace_seconds


async def test_more_sharers_than_anybody_has_are_left_to_their_owner(
    double: EngineDouble, docker: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "SHARERS_MAX", 1)
    vpn = double.add("1", "vpn")
    double.inspections[vpn]["State"] = dict(LATER)
    shares(double, "2", "a", f"container:{vpn}")
    shares(double, "3", "b", f"container:{vpn}")
    bereft = await docker.bereft("_", "vpn", vpn)
    assert [pod.name for pod in bereft.pods] == ["a"]
    assert bereft.problems == ("_/b shares its network and was not restarted: no more than 1 are",)


async def test_a_successor_lends_its_network_by_its_name(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """What Compose made anew has another id."""
    vpn = double.add("1", "vpn")
    double.inspections[vpn]["State"] = dict(LATER)
    shares(double, "2", "torrent", "container:vpn")
    assert [pod.name for pod in (await docker.bereft("_", "vpn", REMOVED)).pods] == ["torrent"]
    assert await docker.bereft("_", "elsewhere", REMOVED) == Bereft()


async def test_what_a_unit_runs_lends_its_network_as_soon_as_it_runs(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """A unit is up before the container that it starts."""
    vpn = double.add("1", "vpn")
    double.inspections[vpn]["State"] = dict(EXITED)
    shares(double, "2", "torrent", f"container:{vpn}")
    found: list[Bereft] = []

    async def look() -> None:
        found.append(await docker.bereft("_", "vpn", "vpn.service"))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)
            await until(lambda: double.asked.count(f"GET containers/{vpn}/json") > 1)
            double.inspections[vpn]["State"] = dict(LATER)
    assert [pod.name for pod in found[0].pods] == ["torrent"]


async def test_a_unit_whose_container_does_not_come_is_waited_for_a_moment(
    double: EngineDouble, docker: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "CONFIRM_SECONDS", 0.1)
    shares(double, "2", "torrent", "container:vpn")
    assert await docker.bereft("_", "vpn", "vpn.service") == Bereft()


async def test_a_unit_that_runs_no_container_lends_none(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """It is not waited for."""
    assert await docker.bereft("systemd", "nginx.service", "nginx.service") == Bereft()
    assert double.asked == []


async def test_who_is_in_anothers_network_needs_that_one(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """Without anybody having said so."""
    vpn = double.add("1", "vpn")
    torrent = shares(double, "2", "torrent", f"container:{vpn}", evictd_depends__on="db,vpn")
    double.inspections[torrent]["HostConfig"] = {"NetworkMode": f"container:{vpn}"}
    plain = shares(double, "3", "tracker", f"container:{vpn}")
    double.inspections[plain]["HostConfig"] = {"NetworkMode": f"container:{vpn}"}
    needs = {found.pod.name: found.pod.depends_on for found in (await docker.list()).workloads}
    assert needs == {"vpn": (), "torrent": ("_/db", "_/vpn"), "tracker": ("_/vpn",)}


async def test_an_engine_whose_list_has_no_networks_is_asked_for_each(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """Podman's."""
    vpn = double.add("1", "vpn")
    double.inspections[vpn]["State"] = dict(LATER)
    for number, mode in (("2", f"container:{vpn}"), ("3", "bridge")):
        container = double.add(number, f"c{number}")
        double.inspections[container]["HostConfig"] = {"NetworkMode": mode}
    assert [pod.name for pod in (await docker.bereft("_", "vpn", vpn)).pods] == ["c2"]


async def test_who_shares_a_network_is_told_not_to_be_known_where_the_engine_is_away(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    vpn = double.add("1", "vpn")
    await double.close()
    (problem,) = (await docker.bereft("_", "vpn", vpn)).problems
    assert problem.startswith("who shares its network is not known: container 111111111111: ")


async def test_an_engine_that_is_away_has_not_been_asked(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """While it restarts, say: that is no failure of the workload's."""
    web = double.add("1", "web")
    await double.close()
    outcome = await docker.start("_", "web", web)
    assert outcome.result is StartResult.UNASKED
    assert outcome.why.startswith(f"container {web[:12]}: ")


@pytest.mark.parametrize(
    ("health", "ready"),
    [
        (None, True),
        ({"Status": "none"}, True),
        ({"Status": "healthy"}, True),
        ({"Status": "starting"}, False),
        ({"Status": "unhealthy"}, False),
    ],
)
async def test_ready_is_what_its_health_check_says(
    double: EngineDouble, docker: DockerRuntime, health: dict[str, Any] | None, ready: bool
) -> None:
    double.inspections[double.add("1", "web")]["State"] = {**RUNNING, "Health": health}
    (found,) = (await docker.list()).workloads
    assert found.pod.ready is ready
