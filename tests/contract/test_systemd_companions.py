"""Who went with a unit is started again with it, also by another process than the one that stopped
it."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import anyio
import pytest
from tests.contract.systemd_double import EVERYTHING, SystemdDouble, chosen, runtime

from evictd.core.duty import StartResult, StopResult
from evictd.runtimes.systemd import (
    Manager,
    Systemctl,
    SystemdRuntime,
    companions,
)
from evictd.runtimes.systemd.companion_memory import CompanionMemory
from evictd.runtimes.systemd.companions import Companions
from evictd.runtimes.systemd.systemctl import ANSWER_SECONDS, Answer
from evictd.runtimes.systemd.unit import Unit
from evictd.runtimes.systemd.whole import Whole
from evictd.shell.blocking import in_thread

T = TypeVar("T")

SLICES = chosen(slices=("batch",))
JOBS = ("in-a.service", "in-b.service")


@pytest.fixture
def machine(tmp_path: Path) -> SystemdDouble:
    return SystemdDouble(tmp_path)


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "companions"


async def a_slice(machine: SystemdDouble) -> None:
    """Two jobs in a slice."""
    await machine.unit("batch.slice", SliceOf=" ".join(JOBS))
    for name in JOBS:
        await machine.unit(name, TimeoutStopUSec="5s")


async def stopped(systemd: SystemdRuntime) -> None:
    """Its one workload."""
    (found,) = (await systemd.list()).workloads
    assert (await systemd.stop(found.reference, 5)).result is StopResult.GONE


async def states(machine: SystemdDouble) -> set[str]:
    return {await machine.state(name) for name in JOBS}


async def test_what_ran_in_a_slice_is_started_by_the_next_process(
    machine: SystemdDouble, memory: Path
) -> None:
    """And once: what it was is not known beyond its return."""
    await a_slice(machine)
    await stopped(runtime(machine, SLICES, memory=memory))
    assert await states(machine) == {"inactive"}
    reborn = runtime(machine, SLICES, memory=memory)
    outcome = await reborn.start("systemd", "batch.slice", "batch.slice")
    assert outcome.result is StartResult.STARTED
    assert await states(machine) == {"active"}
    for name in JOBS:
        await machine.unit(name, ActiveState="inactive")
    third = runtime(machine, SLICES, memory=memory)
    outcome = await third.start("systemd", "batch.slice", "batch.slice")
    assert outcome.result is StartResult.REFUSED


async def test_who_requires_a_unit_is_started_with_it_by_the_next_process(
    machine: SystemdDouble, memory: Path
) -> None:
    await machine.unit("db.service", RequiredBy="web.service")
    await machine.unit("web.service")
    first = runtime(machine, EVERYTHING, memory=memory)
    found = {one.pod.name: one.reference for one in (await first.list()).workloads}
    assert (await first.stop(found["db.service"], 5)).result is StopResult.GONE
    assert await machine.state("web.service") == "inactive"
    reborn = runtime(machine, EVERYTHING, memory=memory)
    assert (await reborn.start("systemd", "db.service", "db.service")).runs
    assert await machine.state("web.service") == "active"


class Witness(Systemctl):
    """Looks at the file when systemd is told to stop something."""

    def __init__(self, program: Path, memory: Path) -> None:
        super().__init__(str(program))
        self.memory = anyio.Path(memory)
        self.seen: list[bytes] = []

    async def run(
        self, verb: str, *arguments: str, seconds: float | None = ANSWER_SECONDS
    ) -> Answer:
        if verb == "stop":
            self.seen.append(await self.memory.read_bytes())
        return await super().run(verb, *arguments, seconds=seconds)


async def test_it_is_written_down_before_anything_is_stopped(
    machine: SystemdDouble, memory: Path
) -> None:
    """A process that is killed in the middle of a stop has told the next one."""
    await a_slice(machine)
    witness = Witness(machine.program, memory)
    machine.manager = Manager(witness, machine.run_path)
    await stopped(runtime(machine, SLICES, memory=memory))
    (seen,) = witness.seen
    assert all(name.encode() in seen for name in JOBS)


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"batch.slice": {"names": 3}}', b"\xff"])
async def test_a_file_that_does_not_read_is_as_good_as_none(
    content: bytes, machine: SystemdDouble, memory: Path
) -> None:
    await a_slice(machine)
    await anyio.Path(memory).write_bytes(content)
    systemd = runtime(machine, SLICES, memory=memory)
    for name in JOBS:
        await machine.unit(name, ActiveState="inactive")
    outcome = await systemd.start("systemd", "batch.slice", "batch.slice")
    assert outcome.result is StartResult.REFUSED
    assert "not known" in outcome.why


async def test_where_nothing_can_be_written_a_stop_goes_on(
    machine: SystemdDouble, tmp_path: Path
) -> None:
    """The process that stopped it still knows."""
    await a_slice(machine)
    systemd = runtime(machine, SLICES, memory=tmp_path / "nowhere" / "file")
    await stopped(systemd)
    assert (await systemd.start("systemd", "batch.slice", "batch.slice")).runs


class SlowDisk:
    """Nothing is read or written at once; it knows how much of it was under way together."""

    def __init__(self) -> None:
        self.under_way = 0
        self.most = 0

    async def __call__(self, function: Callable[[], T]) -> T:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await anyio.sleep(0.05)
        result = await anyio.to_thread.run_sync(function)
        self.under_way -= 1
        return result


async def test_of_two_that_are_stopped_together_both_are_remembered(
    machine: SystemdDouble, memory: Path
) -> None:
    """Whoever comes second neither reads over what the first has told nor writes into its file."""
    disk = SlowDisk()
    both = Companions(machine.manager, CompanionMemory(memory, disk))

    def whole(name: str, companion: str) -> Whole:
        goes_too = Unit(id=companion, active_state="active")
        return Whole(unit=Unit(id=name, active_state="active"), dependants=(goes_too,))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(both.remember, whole("db.service", "web.service"))
        tasks.start_soon(both.remember, whole("cache.service", "api.service"))
    found = await CompanionMemory(memory, disk).recalled()
    assert {name: stopped.names for name, stopped in found.items()} == {
        "db.service": ("web.service",),
        "cache.service": ("api.service",),
    }
    assert disk.most == 1


async def test_of_very_many_stopped_units_the_oldest_are_forgotten(
    machine: SystemdDouble, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(companions, "STOPPED_MAX", 2)
    for name in ("a", "b", "c"):
        await machine.unit(f"{name}.service")
    systemd = runtime(machine, chosen(units=("a", "b", "c")), memory=memory)
    for one in (await systemd.list()).workloads:
        await systemd.stop(one.reference, 5)
    kept = CompanionMemory(memory, in_thread)
    assert set(await kept.recalled()) == {"b.service", "c.service"}
