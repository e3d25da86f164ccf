"""Which containers are evictd's own, by an address, and which ones a unit of systemd runs."""

import socket
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import anyio
import msgspec
import pytest
from tests.contract.engine_double import RUNNING, EngineDouble
from tests.contract.systemd_double import SystemdDouble

from evictd.core.duty import StartResult, StopResult
from evictd.runtimes import Keeper
from evictd.runtimes.docker import DockerRuntime, Engine, ownership, reaching, runtime, units
from evictd.runtimes.docker.inspection import Inspected
from evictd.runtimes.docker.naming import Name
from evictd.runtimes.docker.units import Unit, Units
from evictd.shell.blocking import in_thread
from evictd_schemas import Pod

LABEL = "PODMAN_SYSTEMD_UNIT"


@pytest.fixture
def machine(tmp_path: Path) -> SystemdDouble:
    return SystemdDouble(tmp_path / "machine")


def docker_on(double: EngineDouble, tmp_path: Path, **fields: Any) -> DockerRuntime:
    places = runtime.Places(cgroup=tmp_path, proc=tmp_path, own_process=tmp_path)
    return DockerRuntime(Engine(double.address), places=places, **fields)


async def listed(docker: DockerRuntime) -> dict[str, Pod]:
    return {found.pod.name: found.pod for found in (await docker.list()).workloads}


def published(double: EngineDouble, number: str, name: str, host_ip: str, port: str) -> None:
    """A container with a port of the machine."""
    container = double.add(number, name)
    double.inspections[container]["NetworkSettings"] = {
        "Ports": {"1883/tcp": [{"HostIp": host_ip, "HostPort": port}], "9001/tcp": None},
        "Networks": {
            "shop": {
                "IPAddress": f"172.18.0.{number}",
                "Gateway": "172.18.0.1",
                "Aliases": ["queue", name],
            },
            "other": None,
        },
    }


@pytest.mark.parametrize(
    ("broker", "owner"),
    [
        ("mqtt://localhost:1883", "evictd's broker"),
        ("mqtt://localhost", "evictd's broker"),
        ("mqtt://127.0.0.1:1883", "evictd's broker"),
        ("mqtt://[::1]:1883", "evictd's broker"),
        ("mqtt://host.docker.internal:1883", "evictd's broker"),
        (f"mqtt://{socket.gethostname()}:1883", "evictd's broker"),
        ("mqtt://nas.example:1883", "evictd's broker"),
        ("mqtt://172.18.0.1:1883", "evictd's broker"),
        ("mqtt://172.18.0.2:1883", "evictd's broker"),
        ("mqtt://queue:1883", "evictd's broker"),
        ("mqtt://localhost:1884", None),
        ("mqtt://192.0.2.7:1883", None),
        ("mqtt://elsewhere.example:1883", None),
        ("mqtt://localhost:port", None),
        (None, None),
    ],
)
async def test_the_brokers_container_is_known_by_its_address(
    broker: str | None, owner: str | None, double: EngineDouble, tmp_path: Path
) -> None:
    """By a port that it publishes on this machine, or its own address; by no other machine's."""
    double.information["Name"] = "nas"
    published(double, "2", "mosquitto", "", "1883")
    docker = docker_on(double, tmp_path, broker=broker)
    pods = await listed(docker)
    await docker.close()
    assert (pods["mosquitto"].managed_by, pods["mosquitto"].protected) == (
        owner,
        owner is not None,
    )


async def test_a_port_on_one_address_is_reached_at_that_address(
    double: EngineDouble, tmp_path: Path
) -> None:
    """Though nobody knows whose it is."""
    published(double, "2", "mosquitto", "192.0.2.7", "1883")
    docker = docker_on(double, tmp_path, broker="mqtt://192.0.2.7:1883")
    pods = await listed(docker)
    await docker.close()
    assert pods["mosquitto"].managed_by == "evictd's broker"


@pytest.mark.parametrize(
    ("role", "owner"),
    [("broker", "evictd's broker"), ("proxy", "the socket proxy"), ("evictd", "evictd")],
)
async def test_a_part_may_say_what_it_is(
    role: str, owner: str, double: EngineDouble, tmp_path: Path
) -> None:
    """And is not stopped, whoever asks; the label alone makes nobody a candidate."""
    double.add("1", "part", evictd_role=role)
    docker = docker_on(double, tmp_path)
    (part,) = (await docker.list()).workloads
    assert (part.pod.managed_by, part.pod.protected, part.pod.labelled) == (owner, True, False)
    outcome = await docker.stop(part.reference, 0)
    await docker.close()
    assert (outcome.result, outcome.why) == (StopResult.REFUSED, f"it is managed by {owner}")


async def of_unit(
    double: EngineDouble, machine: SystemdDouble, unit: str = "web.service", number: str = "1"
) -> str:
    """A container that a unit runs."""
    container = double.add(number, f"web-{number}", evictd_priority="low")
    double.inspections[container]["Config"]["Labels"][LABEL] = unit
    await machine.unit(unit)
    return container


async def test_what_a_unit_runs_is_stopped_and_started_through_systemd(
    double: EngineDouble, machine: SystemdDouble, tmp_path: Path
) -> None:
    """The engine is only asked whether it has ended."""
    container = await of_unit(double, machine)
    docker = docker_on(double, tmp_path, systemd=machine.manager)
    (web,) = (await docker.list()).workloads
    assert (web.pod.managed_by, web.pod.protected) == ("systemd unit web.service", False)

    async def end_with_the_unit() -> None:
        while True:
            if await machine.state("web.service") == "inactive":
                break
            await anyio.sleep(0.02)
        double.inspections[container]["State"] = {**RUNNING, "Running": False}

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end_with_the_unit)
            outcome = await docker.stop(web.reference, 5)
    assert outcome.result is StopResult.GONE
    assert not [asked for asked in double.asked if asked.startswith("POST")]
    assert isinstance(docker, Keeper)
    assert await docker.keeps("_", "web-1", web.pod.runtime_id) is True
    assert (await docker.start("_", "web-1", web.pod.runtime_id)).result is StartResult.STARTED
    assert await machine.state("web.service") == "active"
    await docker.close()


async def test_after_the_grace_the_engine_kills_the_container_and_its_unit_cleans_up(
    double: EngineDouble, machine: SystemdDouble, tmp_path: Path
) -> None:
    """A unit that is killed as a whole leaves a container that Podman says runs."""
    container = await of_unit(double, machine)
    await machine.unit("web.service", DEAF="yes")
    docker = docker_on(double, tmp_path, systemd=machine.manager)
    (web,) = (await docker.list()).workloads

    async def clean_up() -> None:
        while True:
            if not double.inspections[container]["State"]["Running"]:
                break
            await anyio.sleep(0.02)
        await machine.unit("web.service", ActiveState="inactive", SubState="dead")

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(clean_up)
            outcome = await docker.stop(web.reference, 1)
    await docker.close()
    assert outcome.result is StopResult.GONE
    told = [asked for asked in double.asked if asked.startswith("POST")]
    assert told == [f"POST containers/{container}/stop?t=0"]
    calls = await anyio.Path(machine.root / "calls").read_text()
    assert "kill" not in calls


async def test_what_the_engine_cannot_kill_goes_with_all_of_its_unit(
    double: EngineDouble,
    machine: SystemdDouble,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A little later."""
    monkeypatch.setattr(units, "CLEANING_SECONDS", 1)
    await of_unit(double, machine)
    await machine.unit("web.service", DEAF="yes")
    double.refused.add("POST containers")
    docker = docker_on(double, tmp_path, systemd=machine.manager)
    (web,) = (await docker.list()).workloads
    monkeypatch.setattr(runtime, "CONFIRM_SECONDS", 0.2)
    await docker.stop(web.reference, 0)
    await docker.close()
    assert await machine.state("web.service") == "failed"


async def test_what_systemd_has_stopped_and_still_runs_is_a_failure(
    double: EngineDouble,
    machine: SystemdDouble,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The engine has the last word."""
    monkeypatch.setattr(runtime, "CONFIRM_SECONDS", 0.2)
    await of_unit(double, machine)
    docker = docker_on(double, tmp_path, systemd=machine.manager)
    (web,) = (await docker.list()).workloads
    outcome = await docker.stop(web.reference, 5)
    await docker.close()
    assert outcome.result is StopResult.FAILED


@pytest.mark.parametrize("unit", ["gone.service", "ssh.service", "docker.service"])
async def test_a_unit_that_systemd_does_not_know_or_that_never_goes_is_left_alone(
    unit: str, double: EngineDouble, machine: SystemdDouble, tmp_path: Path
) -> None:
    """Whatever the label says."""
    await of_unit(double, machine, unit)
    if unit == "gone.service":
        await machine.unit(unit, LoadState="not-found")
    docker = docker_on(double, tmp_path, systemd=machine.manager)
    (web,) = (await docker.list()).workloads
    assert (web.pod.managed_by, web.pod.protected) == (f"systemd unit {unit}", True)
    outcome = await docker.stop(web.reference, 0)
    await docker.close()
    assert (outcome.result, outcome.why) == (
        StopResult.REFUSED,
        f"it is managed by systemd unit {unit}",
    )


async def test_a_unit_that_another_needs_is_stopped_after_that_one_only(
    double: EngineDouble, machine: SystemdDouble, tmp_path: Path
) -> None:
    """systemd would stop the other too, which may be protected, and nobody would bring it back."""
    await of_unit(double, machine)
    await machine.unit("web.service", RequiredBy="app.service")
    await machine.unit("app.service")
    docker = docker_on(double, tmp_path, systemd=machine.manager)
    (web,) = (await docker.list()).workloads
    manager = "systemd unit web.service, needed by app.service"
    assert (web.pod.managed_by, web.pod.protected) == (manager, True)
    outcome = await docker.stop(web.reference, 0)
    assert (outcome.result, outcome.why) == (StopResult.REFUSED, f"it is managed by {manager}")
    managed = Units(machine.manager, tmp_path, in_thread)
    kill = AsyncMock()
    raced = await managed.stop(Unit(name="web.service", known=True), 0, kill)
    kill.assert_not_awaited()
    assert (raced.result, raced.why) == (StopResult.REFUSED, "app.service would stop with it")
    assert await machine.state("app.service") == await machine.state("web.service") == "active"
    await machine.unit("app.service", ActiveState="inactive", SubState="dead")
    (web,) = (await docker.list()).workloads
    await docker.close()
    assert (web.pod.managed_by, web.pod.protected) == ("systemd unit web.service", False)


async def test_of_a_unit_with_several_containers_none_is_stopped(
    double: EngineDouble, machine: SystemdDouble, tmp_path: Path
) -> None:
    """The end of one would be the end of all."""
    await of_unit(double, machine)
    await of_unit(double, machine, number="2")
    docker = docker_on(double, tmp_path, systemd=machine.manager)
    workloads = (await docker.list()).workloads
    assert [found.pod.protected for found in workloads] == [True, True]
    outcome = await docker.stop(workloads[0].reference, 0)
    await docker.close()
    assert outcome.result is StopResult.REFUSED


async def test_a_unit_is_known_by_the_control_group_too(
    double: EngineDouble, machine: SystemdDouble, tmp_path: Path
) -> None:
    """As of a Quadlet whose labels were taken away; an engine's own unit is none."""
    web, other = double.add("1", "web"), double.add("2", "other")
    places = {
        web: f"/system.slice/web.service/libpod-payload-{web}",
        other: f"/system.slice/docker.service/docker/{other}",
    }
    await machine.unit("web.service")
    for number, (container, place) in enumerate(places.items(), start=70):
        folder = anyio.Path(tmp_path / str(number))
        await folder.mkdir()
        await (folder / "cgroup").write_text(f"0::{place}\n")
        double.inspections[container]["State"]["Pid"] = number
    docker = docker_on(double, tmp_path, systemd=machine.manager)
    pods = await listed(docker)
    await docker.close()
    assert {name: pod.managed_by for name, pod in pods.items()} == {
        "web": "systemd unit web.service",
        "other": None,
    }


@pytest.mark.parametrize(
    ("address", "owner"),
    [
        ("tcp://127.0.0.1:2375", "the socket proxy"),
        ("tcp://127.0.0.1", "the socket proxy"),
        ("tcp://172.18.0.9:2375", "the socket proxy"),
        ("tcp://127.0.0.1:2376", None),
        ("tcp://192.0.2.7:2375", None),
        ("unix:///var/run/docker.sock", None),
    ],
)
def test_who_stands_before_the_engine_is_known_by_its_address(
    address: str, owner: str | None
) -> None:
    """Whatever its image is called: without it nobody could be stopped, or started again."""
    door = msgspec.convert(
        {
            "Id": "9" * 64,
            "Config": {"Image": "own/door:1"},
            "NetworkSettings": {
                "Ports": {"2375/tcp": [{"HostIp": "127.0.0.1", "HostPort": "2375"}]},
                "Networks": {"x": {"IPAddress": "172.18.0.9"}},
            },
        },
        Inspected,
    )
    engine = reaching.located(reaching.address(address), "nas")
    name = Name(namespace="_", name="door")
    assert ownership.manager(door, name, None, ownership.Parts(engine=engine)) == owner
