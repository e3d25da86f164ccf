"""systemd's units under the suite of all runtimes, with a `systemctl` of our own; and what is
listed, spared and brought back of them."""

from pathlib import Path

import anyio
import pytest
from tests.contract.runtime_contract import RuntimeContract, listed
from tests.contract.systemd_double import EVERYTHING, Services, SystemdDouble, chosen, runtime

from evictd.core.duty import StartResult, StopOutcome, StopResult
from evictd.core.errors import PeerError
from evictd.runtimes.systemd import lives, pods
from evictd.runtimes.systemd import whole as wholes
from evictd.runtimes.systemd.unit import Unit
from evictd_schemas import PodReference


@pytest.fixture
def machine(tmp_path: Path) -> SystemdDouble:
    return SystemdDouble(tmp_path)


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
    few = runtime(machine, chosen(units=("web",)))
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


async def test_what_cannot_be_started_again_is_never_restored(machine: SystemdDouble) -> None:
    await machine.unit("run-u7.service", Transient="yes")
    await machine.unit("jobs.scope")
    await machine.unit("web.service")
    found = {item.pod.name: item.pod.restore for item in (await runtime(machine).list()).workloads}
    assert found == {"jobs.scope": "never", "run-u7.service": "never", "web.service": "auto"}


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
    for selected, name in ((EVERYTHING, "web.service"), (chosen(slices=("b",)), "b.slice")):
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
