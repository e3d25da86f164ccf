"""What goes with a unit: all that is in a slice, and whoever requires a unit; stopped and brought
back as a whole."""

from pathlib import Path

import pytest
from tests.contract.runtime_contract import killed_after
from tests.contract.systemd_double import EVERYTHING, SystemdDouble, chosen, runtime

from evictd.core.duty import StartOutcome, StartResult, StopOutcome, StopResult
from evictd.runtimes.systemd import SystemdRuntime, whole


@pytest.fixture
def machine(tmp_path: Path) -> SystemdDouble:
    return SystemdDouble(tmp_path)


async def slice_of_three(machine: SystemdDouble) -> SystemdRuntime:
    """Two services, one of them in a slice beneath, and a transient one."""
    await machine.unit("batch.slice", SliceOf="in-a.service batch-low.slice in-t.service")
    await machine.unit("batch-low.slice", SliceOf="in-b.service", MemoryMax="1048576")
    await machine.unit("in-a.service", TimeoutStopUSec="5s")
    await machine.unit("in-b.service", TimeoutStopUSec="7s")
    await machine.unit("in-t.service", Transient="yes")
    return runtime(machine, chosen(units=("in-a", "web"), slices=("batch*",)))


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


async def test_what_is_deaf_in_a_slice_is_killed_after_the_grace(machine: SystemdDouble) -> None:
    """The slice itself is up until then, which keeps nobody waiting."""
    everything = await slice_of_three(machine)
    await machine.unit("in-b.service", DEAF="yes")
    (found,) = (await everything.list()).workloads
    outcome = await everything.stop(found.reference, 1)
    assert outcome.result is StopResult.GONE
    assert killed_after(outcome, 1)
    assert await machine.state("in-b.service") == "failed"


async def test_a_slice_stopped_before_a_restart_of_evictd_is_left_to_its_owner(
    machine: SystemdDouble,
) -> None:
    await slice_of_three(machine)
    everything = await slice_of_three(machine)
    (found,) = (await everything.list()).workloads
    await everything.stop(found.reference, 5)
    reborn = runtime(machine, chosen(slices=("batch",)))
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
    (found,) = (await runtime(machine, chosen(slices=("tools",))).list()).workloads
    assert (found.pod.protected, found.pod.managed_by) == (True, "evictd")


async def test_a_slice_without_processes_is_no_workload(machine: SystemdDouble) -> None:
    everything = runtime(machine, chosen(slices=("batch",)))
    await machine.unit("batch.slice", SliceOf="in.socket once.service batch-a.slice")
    await machine.unit("batch-a.slice")
    await machine.unit("in.socket", SubState="listening")
    await machine.unit("once.service", SubState="exited")
    assert (await everything.list()).workloads == ()


async def test_slices_that_name_each_other_end_the_search(machine: SystemdDouble) -> None:
    await machine.unit("a.slice", SliceOf="b.slice in-a.service")
    await machine.unit("b.slice", SliceOf="a.slice")
    await machine.unit("in-a.service")
    listing = await runtime(machine, chosen(slices=("a",))).list()
    assert listing.complete
    assert [item.pod.name for item in listing.workloads] == ["a.slice"]


async def test_a_slice_that_holds_what_its_owner_protects_stays(machine: SystemdDouble) -> None:
    await slice_of_three(machine)
    careful = runtime(machine, chosen(slices=("batch",)), protected=["in-b.service"])
    (found,) = (await careful.list()).workloads
    outcome = await careful.stop(found.reference, 0)
    assert outcome.why == "it is protected: in-b.service is in it, and it is protected"


async def needed(machine: SystemdDouble, needer: str = "web.service", **properties: str) -> None:
    """A database, and who requires it."""
    await machine.unit("db.service", RequiredBy=f"{needer} some.target")
    await machine.unit("some.target", ActiveState="inactive")
    await machine.unit(needer, **properties)


async def test_who_requires_a_unit_goes_and_comes_back_with_it(machine: SystemdDouble) -> None:
    """Both are workloads of their own besides."""
    await needed(machine, TimeoutStopUSec="3min")
    everything = runtime(machine)
    db, web = (await everything.list()).workloads
    assert db.pod.termination_grace_period_seconds == 180
    assert not db.pod.protected
    outcome = await everything.stop(db.reference, 5)
    assert outcome == StopOutcome(
        result=StopResult.GONE, why="stopped by systemd; with it web.service"
    )
    assert await machine.state("web.service") == "inactive"
    outcome = await everything.start("systemd", "db.service", "db.service")
    assert outcome == StartOutcome(result=StartResult.STARTED)
    assert await machine.state("web.service") == "active"
    assert web.pod.name == "web.service"


async def test_who_requires_it_and_is_deaf_is_killed_with_it(machine: SystemdDouble) -> None:
    await needed(machine, DEAF="yes")
    everything = runtime(machine)
    db, _ = (await everything.list()).workloads
    outcome = await everything.stop(db.reference, 0)
    assert outcome.result is StopResult.GONE
    assert await machine.state("web.service") == "failed"


async def test_a_unit_that_others_require_stays_unless_they_are_listed(
    machine: SystemdDouble,
) -> None:
    await needed(machine)
    few = runtime(machine, chosen(units=("db",)))
    (db,) = (await few.list()).workloads
    assert db.pod.protected
    outcome = await few.stop(db.reference, 0)
    assert outcome.why == "it is protected: web.service stops with it, and it is not listed"
    assert await machine.state("web.service") == "active"


async def test_a_unit_that_takes_what_must_stay_along_stays(machine: SystemdDouble) -> None:
    """The manager refuses it too, whoever asks."""
    await needed(machine, "ssh.socket", SubState="listening")
    everything = runtime(machine, EVERYTHING)
    (db,) = (await everything.list()).workloads
    assert db.pod.protected
    outcome = await machine.manager.stop("db.service", 0)
    assert outcome.why == "it is protected: ssh.socket stops with it, and people log in by it"
    assert await machine.state("db.service") == "active"


async def test_what_is_far_away_is_not_lost_quietly(
    machine: SystemdDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chain that is longer than it is followed makes the listing incomplete and stops nothing."""
    monkeypatch.setattr(whole, "DEPTH_MAX", 3)
    for number in range(8):
        await machine.unit(f"w{number}.service", RequiredBy=f"w{number + 1}.service")
    one = runtime(machine, chosen(units=("w0",)))
    listing = await one.list()
    assert not listing.complete
    outcome = await one.stop(listing.workloads[0].reference, 0)
    assert outcome.result is StopResult.REFUSED
    assert "go with it" in outcome.why
