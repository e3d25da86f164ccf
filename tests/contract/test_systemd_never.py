"""Units that are never stopped, whatever was listed, and those that belong to others."""

from pathlib import Path

import anyio
import pytest
from tests.contract.systemd_double import SystemdDouble, chosen, runtime

from evictd.core.duty import StopResult
from evictd.runtimes.systemd import never


@pytest.fixture
def machine(tmp_path: Path) -> SystemdDouble:
    return SystemdDouble(tmp_path)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ssh.service", never.LOGIN),
        ("sshd@3-10.0.0.1:22.service", never.LOGIN),
        ("user@1000.service", never.LOGIN),
        ("session-4.scope", never.LOGIN),
        ("systemd-logind.service", never.SYSTEM),
        ("init.scope", never.SYSTEM),
        ("dbus-broker.service", never.BUS),
        ("NetworkManager.service", never.NETWORK),
        ("networking.service", never.NETWORK),
        ("systemd-networkd.service", never.SYSTEM),
        ("wpa_supplicant@wlan0.service", never.NETWORK),
        ("ModemManager.service", never.NETWORK),
        ("docker.service", never.ENGINE),
        ("containerd.service", never.ENGINE),
        ("podman.service", never.ENGINE),
        ("k3s-agent.service", never.ENGINE),
        ("kubelet.service", never.ENGINE),
        ("balena.service", never.ENGINE),
        ("evictd.service", never.OURSELVES),
        ("guardian.service", never.OURSELVES),
        ("mosquitto.service", never.BROKER),
    ],
)
async def test_some_units_are_never_stopped_whatever_was_listed(
    machine: SystemdDouble, name: str, reason: str
) -> None:
    """They are seen, as protected, and refused at the last moment too."""
    await machine.unit(name)
    everything = runtime(machine, own_units=never.BROKERS)
    listing = await everything.list()
    (found,) = listing.workloads
    assert found.pod.protected
    assert found.pod.annotations == {"evictd.io/protected": reason}
    assert listing.problems == (f"listed, and yet never stopped: {name} ({reason})",)
    outcome = await everything.stop(found.reference, 0)
    assert outcome.result is StopResult.REFUSED
    assert outcome.why == f"it is protected: {reason}"
    assert await machine.state(name) == "active"


@pytest.mark.parametrize("name", ["user.slice", "user-1000.slice", "system.slice", "-.slice"])
async def test_slices_of_the_machine_itself_are_never_stopped(
    machine: SystemdDouble, name: str
) -> None:
    await machine.unit(name, SliceOf="web.service")
    await machine.unit("web.service")
    everything = runtime(machine, chosen(slices=(name,)))
    (found,) = (await everything.list()).workloads
    assert found.pod.protected
    assert (await everything.stop(found.reference, 0)).result is StopResult.REFUSED
    assert await machine.state("web.service") == "active"


@pytest.mark.parametrize(
    "name", ["web.service", "podman-web.service", "machine-learning.service", "network-probe.scope"]
)
def test_names_that_merely_resemble_may_be_stopped(name: str) -> None:
    assert never.reason((name,)) is None


async def test_scopes_of_containers_are_never_listed_here(machine: SystemdDouble) -> None:
    """They belong to the engine's runtime."""
    for name in (f"docker-{'a' * 64}.scope", f"libpod-{'b' * 64}.scope", "run-r1.scope"):
        await machine.unit(name)
    listing = await runtime(machine).list()
    assert [item.pod.name for item in listing.workloads] == ["run-r1.scope"]
    assert listing.problems == ()


async def test_a_unit_around_a_container_is_left_to_the_runtime_that_lists_containers(
    machine: SystemdDouble,
) -> None:
    """As Quadlet makes them; where no engine is looked at it is a unit like any other."""
    await machine.unit("web.service")
    inside = machine.cgroup_path / "system.slice" / "web.service" / "libpod-payload-1"
    await anyio.Path(inside).mkdir()
    beside = await runtime(machine, engine_listed=True).list()
    assert beside.workloads == ()
    assert beside.problems == ("web.service runs a container, which is listed by podman",)
    alone = await runtime(machine).list()
    assert [item.pod.name for item in alone.workloads] == ["web.service"]
