"""Slices: one workload with all that is in it, stopped and brought back as a whole."""

import sys
from pathlib import Path

import pytest

if (root := str(Path(__file__).parents[2])) not in sys.path:
    sys.path.insert(0, root)

from tests.contract.systemd_double import SystemdDouble, chosen, runtime

from evictd.core.duty import StartResult, StopResult
from evictd.runtimes.systemd import SystemdRuntime


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
