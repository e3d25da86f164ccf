"""systemd's units under the suite of all runtimes, with a `systemctl` of our own; and what is
listed, spared and brought back of them."""

import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import anyio
import pytest
from msgspec import structs

if (root := str(Path(__file__).parents[2])) not in sys.path:
    sys.path.insert(0, root)

from tests.contract.runtime_contract import RuntimeContract, listed
from tests.contract.systemd_double import SystemdDouble

from evictd.core.duty import StartOutcome, StartResult, StopOutcome, StopResult
from evictd.core.errors import PeerError
from evictd.runtimes import Change, Listing, Runtime, Workload
from evictd.runtimes.settings import WorkloadSettings
from evictd.runtimes.systemd import Places, Selection, SystemdRuntime, lives, never, pods, selection
from evictd.runtimes.systemd import whole as wholes
from evictd.runtimes.systemd.unit import Unit
from evictd_schemas import PodReference

EVERYTHING = Selection(["*.service", "*.scope"])


def runtime(
    machine: SystemdDouble,
    selected: Selection = EVERYTHING,
    *,
    protected: Iterable[str] = (),
    own_units: Iterable[str] = (),
    engine_listed: bool = False,
) -> SystemdRuntime:
    """Of a machine on which these units are listed."""

    def settings_for(namespace: str, name: str) -> WorkloadSettings | None:
        assert namespace == "systemd"
        return WorkloadSettings(protect=True) if name in protected else None

    return SystemdRuntime(
        selected,
        manager=machine.manager,
        own_units=own_units,
        engine_listed=engine_listed,
        places=Places(
            cgroup=machine.cgroup_path, run=machine.run_path, own_process=machine.own_process
        ),
        settings_for=settings_for,
    )


@pytest.fixture
def machine(tmp_path: Path) -> SystemdDouble:
    return SystemdDouble(tmp_path)


class Services(Runtime):
    """The suite's short names are services."""

    def __init__(self, inner: SystemdRuntime) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    async def list(self) -> Listing:
        found = await self._inner.list()
        return structs.replace(found, workloads=tuple(map(_short, found.workloads)))

    def watch(self) -> AsyncIterator[Change]:
        return self._inner.watch()

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        whole = structs.replace(pod, name=f"{pod.name}.service")
        return await self._inner.stop(whole, grace_seconds)

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        return await self._inner.start(namespace, f"{name}.service", runtime_id)

    async def close(self) -> None:
        await self._inner.close()


def _short(workload: Workload) -> Workload:
    name = workload.pod.name.removesuffix(".service")
    return structs.replace(workload, pod=structs.replace(workload.pod, name=name))


class SystemdBench:
    """Services of the machine that is doubled."""

    def __init__(self, machine: SystemdDouble) -> None:
        self.machine = machine
        self.protected: set[str] = set()
        self.runtime = Services(runtime(machine, protected=self.protected))

    async def start(self, name: str, *, deaf: bool = False, protected: bool = False) -> None:
        if protected:
            self.protected.add(f"{name}.service")
        await self.machine.unit(f"{name}.service", **({"DEAF": "yes"} if deaf else {}))

    async def end(self, name: str) -> None:
        await self.machine.gone(f"{name}.service")


class TestSystemdRuntime(RuntimeContract):
    """All that every runtime promises."""

    @pytest.fixture
    def bench(self, machine: SystemdDouble) -> SystemdBench:
        return SystemdBench(machine)


async def test_a_unit_is_listed_with_all_that_systemd_knows(machine: SystemdDouble) -> None:
    await machine.unit(
        "db.service", MemoryLow="67108864", MemoryMin="33554432", MemoryMax="134217728"
    )
    await machine.unit(
        "web.service", MainPID="4711", Requires="db.service system.slice", TimeoutStopUSec="1.5s"
    )
    db, web = (await runtime(machine).list()).workloads
    assert (db.pod.requests, db.pod.limits) == ({"memory": 64 << 20}, {"memory": 128 << 20})
    assert (web.pod.requests, web.pod.limits) == ({}, {})
    assert (web.pod.namespace, web.pod.name, web.pod.runtime_id) == (
        "systemd",
        "web.service",
        "web.service",
    )
    assert web.pod.termination_grace_period_seconds == 2
    assert web.pod.depends_on == ("systemd/db.service",)
    assert str(web.pod.start_time) == "2026-11-30 06:00:00+00:00"
    folder = str(machine.cgroup_path / "system.slice" / "web.service")
    assert web.whereabouts.memory_cgroup == folder
    assert web.whereabouts.unified_cgroup == folder
    assert web.whereabouts.main_process_id == 4711


async def test_only_configuration_makes_a_unit_a_candidate(machine: SystemdDouble) -> None:
    await machine.unit("db.service")
    await machine.unit("web.service")
    found = await runtime(machine, protected=["db.service"]).list()
    assert [item.pod.labelled for item in found.workloads] == [True, False]


async def test_escaped_names_travel_as_they_are(machine: SystemdDouble) -> None:
    name = r"foo@bar\x2dbaz.service"
    await machine.unit(name)
    (found,) = (await runtime(machine).list()).workloads
    assert found.pod.name == name
    outcome = await runtime(machine).stop(found.reference, 5)
    assert outcome.result is StopResult.GONE


def test_a_name_too_long_for_the_bus_is_told() -> None:
    """systemd allows two characters more."""
    assert pods.name_problem(Unit(id=f"{'n' * 245}.service")) is None
    problem = pods.name_problem(Unit(id=f"{'n' * 246}.service"))
    assert problem is not None
    assert "cannot travel on the bus" in problem


async def test_what_is_not_listed_is_neither_shown_nor_touched(machine: SystemdDouble) -> None:
    await machine.unit("web.service")
    await machine.unit("other.service")
    few = runtime(machine, Selection(["web"]))
    assert [item.pod.name for item in (await few.list()).workloads] == ["web.service"]
    (other,) = (
        item for item in (await runtime(machine).list()).workloads if "other" in item.pod.name
    )
    assert (await few.stop(other.reference, 0)).result is StopResult.NOT_FOUND
    outcome = await few.start("systemd", "other.service", "other.service")
    assert outcome.result is StartResult.NOT_FOUND
    assert await machine.state("other.service") == "active"


async def test_units_in_which_nothing_runs_are_no_workloads(machine: SystemdDouble) -> None:
    await machine.unit("down.service", ActiveState="inactive", SubState="dead")
    await machine.unit("failed.service", ActiveState="failed", SubState="failed")
    await machine.unit("masked.service", LoadState="masked", ActiveState="inactive")
    await machine.unit("once.service", SubState="exited")
    await machine.unit("waits.service", ActiveState="activating", SubState="auto-restart")
    await machine.unit("job.service", ActiveState="activating", SubState="start")
    await machine.unit("ends.service", ActiveState="deactivating", SubState="stop-sigterm")
    found = {item.pod.name: item.pod.ready for item in (await runtime(machine).list()).workloads}
    assert found == {"ends.service": False, "job.service": False}


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
    everything = runtime(machine, Selection(slices=[name]))
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


async def test_what_cannot_be_started_again_is_never_restored(machine: SystemdDouble) -> None:
    await machine.unit("run-u7.service", Transient="yes")
    await machine.unit("jobs.scope")
    await machine.unit("web.service")
    found = {item.pod.name: item.pod.restore for item in (await runtime(machine).list()).workloads}
    assert found == {"jobs.scope": "never", "run-u7.service": "never", "web.service": "auto"}


async def slice_of_three(machine: SystemdDouble) -> SystemdRuntime:
    """Two services, one of them in a slice beneath, and a transient one."""
    await machine.unit("batch.slice", SliceOf="in-a.service batch-low.slice in-t.service")
    await machine.unit("batch-low.slice", SliceOf="in-b.service", MemoryMax="1048576")
    await machine.unit("in-a.service", TimeoutStopUSec="5s")
    await machine.unit("in-b.service", TimeoutStopUSec="7s")
    await machine.unit("in-t.service", Transient="yes")
    return runtime(machine, Selection(["in-a", "web"], ["batch*"]))


async def test_a_slice_is_one_workload_with_all_that_is_in_it(machine: SystemdDouble) -> None:
    """Listed or not, what is in it goes with it."""
    everything = await slice_of_three(machine)
    await machine.unit("web.service")
    found = (await everything.list()).workloads
    assert [item.pod.name for item in found] == ["batch.slice", "web.service"]
    assert found[0].pod.termination_grace_period_seconds == 90
    assert found[0].whereabouts.memory_cgroup == str(machine.cgroup_path / "batch.slice")


async def test_a_stopped_slice_comes_back_with_what_ran_in_it(machine: SystemdDouble) -> None:
    everything = await slice_of_three(machine)
    (found,) = (await everything.list()).workloads
    assert (await everything.stop(found.reference, 5)).result is StopResult.GONE
    names = ("in-a.service", "in-b.service", "in-t.service")
    assert {await machine.state(name) for name in names} == {"inactive"}
    assert (await everything.list()).workloads == ()
    outcome = await everything.start("systemd", "batch.slice", "batch.slice")
    assert outcome.result is StartResult.STARTED
    assert [await machine.state(name) for name in names] == ["active", "active", "inactive"]
    outcome = await everything.start("systemd", "batch.slice", "batch.slice")
    assert outcome.result is StartResult.RUNNING


async def test_a_slice_stopped_before_a_restart_of_evictd_is_left_to_its_owner(
    machine: SystemdDouble,
) -> None:
    await slice_of_three(machine)
    everything = await slice_of_three(machine)
    (found,) = (await everything.list()).workloads
    await everything.stop(found.reference, 5)
    reborn = runtime(machine, Selection(slices=["batch"]))
    outcome = await reborn.start("systemd", "batch.slice", "batch.slice")
    assert outcome.result is StartResult.REFUSED
    assert "not known" in outcome.why


async def test_a_slice_that_holds_what_must_stay_stays(machine: SystemdDouble) -> None:
    everything = await slice_of_three(machine)
    await machine.unit("batch-low.slice", SliceOf="in-b.service ssh.service")
    await machine.unit("ssh.service")
    (found,) = (await everything.list()).workloads
    assert found.pod.protected
    outcome = await everything.stop(found.reference, 0)
    assert outcome.result is StopResult.REFUSED
    assert outcome.why == "it is protected: ssh.service is in it, and people log in by it"
    assert await machine.state("in-a.service") == "active"


async def test_a_slice_that_holds_evictd_stays(machine: SystemdDouble) -> None:
    """Known by the control group of our own process."""
    await machine.unit("tools.slice", SliceOf="guard.service", ControlGroup="/system.slice")
    await machine.unit("guard.service")
    (found,) = (await runtime(machine, Selection(slices=["tools"])).list()).workloads
    assert (found.pod.protected, found.pod.managed_by) == (True, "evictd")


async def test_a_slice_without_processes_is_no_workload(machine: SystemdDouble) -> None:
    everything = runtime(machine, Selection(slices=["batch"]))
    await machine.unit("batch.slice", SliceOf="in.socket once.service batch-a.slice")
    await machine.unit("batch-a.slice")
    await machine.unit("in.socket", SubState="listening")
    await machine.unit("once.service", SubState="exited")
    assert (await everything.list()).workloads == ()


async def test_slices_that_name_each_other_end_the_search(machine: SystemdDouble) -> None:
    await machine.unit("a.slice", SliceOf="b.slice in-a.service")
    await machine.unit("b.slice", SliceOf="a.slice")
    await machine.unit("in-a.service")
    listing = await runtime(machine, Selection(slices=["a"])).list()
    assert listing.complete
    assert [item.pod.name for item in listing.workloads] == ["a.slice"]


async def test_more_units_than_are_looked_at_make_a_listing_incomplete(
    machine: SystemdDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wholes, "UNITS_MAX", 2)
    for name in ("a.service", "b.service", "c.service"):
        await machine.unit(name)
    listing = await runtime(machine).list()
    assert not listing.complete
    assert len(listing.workloads) == 2
    assert "units are listed" in listing.problems[0]


async def test_systemd_is_asked_again_only_when_a_unit_came_or_went(
    machine: SystemdDouble,
) -> None:
    """Near a line there are ten looks a second."""
    await machine.unit("web.service")
    everything = runtime(machine)
    for _ in range(5):
        await everything.list()
    assert len(await machine.calls()) == 1
    await machine.unit("db.service")
    assert len((await everything.list()).workloads) == 2
    await machine.unit("web.service")
    await everything.list()
    assert len(await machine.calls()) == 3


async def test_a_listing_is_not_kept_for_long(
    machine: SystemdDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit may be changed while a unit runs."""
    monkeypatch.setattr("evictd.runtimes.systemd.runtime.KEPT_SECONDS", 0.0)
    everything = runtime(machine)
    await everything.list()
    await everything.list()
    assert len(await machine.calls()) == 2


async def test_without_the_links_of_lives_systemd_is_asked_each_time(
    machine: SystemdDouble,
) -> None:
    await machine.unit("web.service")
    await anyio.Path(machine.run_path / "systemd" / "units").rename(machine.root / "elsewhere")
    everything = runtime(machine)
    await everything.list()
    await everything.list()
    assert len(await machine.calls()) == 2


async def test_a_unit_that_goes_between_two_calls_is_not_found(machine: SystemdDouble) -> None:
    await machine.unit("web.service")
    everything = runtime(machine)
    (found,) = (await everything.list()).workloads
    await machine.gone("web.service")
    assert await everything.stop(found.reference, 0) == StopOutcome(result=StopResult.NOT_FOUND)
    assert await listed(everything, "web.service") is None


async def test_a_template_that_vanished_is_not_started(machine: SystemdDouble) -> None:
    outcome = await runtime(machine).start("systemd", "job@7.service", "job@7.service")
    assert outcome.result is StartResult.NOT_FOUND
    assert outcome.why == "job@7.service has no file any more"


async def test_a_machine_without_systemd_is_a_source_that_fails(machine: SystemdDouble) -> None:
    await machine.say("refuse", "System has not been booted with systemd as init system\n")
    with pytest.raises(PeerError, match="has not been booted with systemd"):
        await runtime(machine).list()
    pod = PodReference(namespace="systemd", name="web.service", uid="any")
    assert (await runtime(machine).stop(pod, 0)).result is StopResult.FAILED
    for selected, name in ((EVERYTHING, "web.service"), (Selection(slices=["b"]), "b.slice")):
        outcome = await runtime(machine, selected).start("systemd", name, name)
        assert outcome.result is StartResult.FAILED


async def test_the_watch_ends_when_it_is_closed(machine: SystemdDouble) -> None:
    everything = runtime(machine)

    async def watch() -> None:
        async for _ in everything.watch():
            pytest.fail("nothing has changed")

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await everything.close()


def test_lives_are_read_from_the_links_and_from_nothing_else(machine: SystemdDouble) -> None:
    folder = machine.run_path / "systemd" / "units"
    (folder / "invocation:web.service").symlink_to("0123")
    (folder / "log-level-max:web.service").symlink_to("6")
    (folder / "invocation:torn.service").write_text("")
    assert lives.lives(machine.run_path) == {"web.service": "0123"}
    assert lives.lives(machine.root / "nowhere") is None


@pytest.mark.parametrize(
    ("pattern", "of_slices", "fits"),
    [
        ("web", False, True),
        ("batch-*", False, True),
        ("job@*.service", False, True),
        ("run-*.scope", False, True),
        ("batch", True, True),
        ("batch-*.slice", True, True),
        ("batch.slice", False, False),
        ("web.service", True, False),
        ("web.socket", False, False),
        ("multi-user.target", False, False),
        ("/usr/bin/web", False, False),
        ("a b", False, False),
        ("", True, False),
    ],
)
def test_only_what_holds_processes_can_be_listed(pattern: str, of_slices: bool, fits: bool) -> None:
    assert (selection.problem(pattern, of_slices=of_slices) is None) is fits
