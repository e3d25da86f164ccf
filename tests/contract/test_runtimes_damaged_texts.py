"""Whatever the kernel's files and `systemctl` say, a runtime lists or tells why not, and its stops
end with a value."""

import asyncio
import errno
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.damage import Write, damages, laid, ruins

from evictd.core.duty.outcomes import StopResult
from evictd.core.errors import EvictdError, HostError
from evictd.runtimes import Listing
from evictd.runtimes.cgroup import CgroupRuntime, Places
from evictd.runtimes.cgroup import group as groups
from evictd.runtimes.cgroup.group import Group
from evictd.runtimes.systemd import unit as units
from evictd.runtimes.systemd.companion_memory import CompanionMemory
from evictd.runtimes.systemd.ending import UnitEnding
from evictd.runtimes.systemd.systemctl import Systemctl
from evictd.runtimes.systemd.unit import Unit
from evictd.runtimes.systemd.whole import Whole, wholes
from evictd.shell.blocking import in_thread
from evictd_schemas import PodReference
from evictd_schemas.topics import segment_problem

SHOWN = (Path(__file__).parents[1] / "fixtures" / "systemd" / "show-257.txt").read_text()
STAT = "7 (a ) name) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n"
FILES = {
    "cgroup/cgroup.controllers": "memory pids\n",
    "cgroup/cgroup.procs": "",
    "cgroup/pods/web/cgroup.procs": "7\n81\n",
    "cgroup/pods/web/memory.max": "67108864\n",
    "cgroup/pods/web/memory.low": "1048576\n",
    "cgroup/pods/other/cgroup.procs": "9\n",
    "proc/stat": "cpu  1 2 3\nbtime 1764489600\nprocesses 5\n",
    "proc/sys/kernel/random/boot_id": "7e6c0d4e-5b1e-4f5e-9a1f-6c1d7f4a2b10\n",
    "proc/7/stat": STAT,
    "proc/81/stat": STAT.replace("7 (", "81 ("),
    "proc/9/stat": STAT.replace("7 (", "9 ("),
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Lays one file of the machine, which has all of them."""
    return laid(tmp_path, FILES)


@pytest.fixture
def runtime(tmp_path: Path, write: Write) -> CgroupRuntime:
    places = Places(cgroup=tmp_path / "cgroup", proc=tmp_path / "proc", run=tmp_path / "run")
    return CgroupRuntime("/pods", own_process_id=1, places=places)


def listed(runtime: CgroupRuntime) -> Listing:
    """What `list` does in a thread."""
    return runtime._read()


def check(listing: Listing) -> None:
    """Who cannot be read is told; who else is there is listed all the same."""
    assert listing.complete == (not listing.problems)
    for workload in listing.workloads:
        assert segment_problem(workload.pod.name) is None


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_hides_no_more_than_whom_it_is_about(
    runtime: CgroupRuntime, write: Write, name: str
) -> None:
    for text in damages(FILES[name]):
        write(name, text)
        listing = listed(runtime)
        check(listing)
        if "web" in name:
            assert "other" in {workload.pod.name for workload in listing.workloads}


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_several_damaged_files_end_no_listing(
    runtime: CgroupRuntime, write: Write, data: st.DataObject
) -> None:
    for name in data.draw(st.lists(st.sampled_from(sorted(FILES)), min_size=1, unique=True)):
        write(name, data.draw(ruins(FILES[name])))
    check(listed(runtime))
    for name, text in FILES.items():
        write(name, text)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("cgroup/pods/web/cgroup.procs", "seven\n", "cgroup.procs: 'seven' is not a number"),
        ("cgroup/pods/web/cgroup.procs", "9999999999\n", "cgroup.procs: 9999999999 is too large"),
        ("cgroup/pods/web/memory.max", "lots\n", "memory.max: 'lots' is not a number"),
        ("proc/7/stat", "", "proc/7/stat: it ends before the start time"),
        ("proc/stat", "btime\n", "proc/stat: btime: '' is not a number"),
        ("proc/stat", f"btime {2**63}\n", "proc/stat: btime tells of no time"),
    ],
)
def test_what_cannot_be_read_is_named(
    runtime: CgroupRuntime, write: Write, name: str, text: str, told: str
) -> None:
    write(name, text)
    listing = listed(runtime)
    assert not listing.complete
    assert told in listing.problems[-1]
    assert "pods/web cannot be read: " in "".join(listing.problems)


@pytest.fixture
def unreadable(write: Write) -> str:
    """What is told of a group that nobody can read."""
    write("cgroup/pods/web/cgroup.procs", "seven\n")
    return "'seven' is not a number"


def test_a_name_that_is_no_text_is_told_as_text(runtime: CgroupRuntime, tmp_path: Path) -> None:
    """Whoever may make groups may call them by any bytes, and the sentence has to travel."""
    inner = tmp_path / "cgroup/pods/web" / os.fsdecode(b"\xff")
    inner.mkdir()
    (inner / "cgroup.procs").write_text("seven\n")
    (problem,) = listed(runtime).problems
    assert problem.encode().decode().endswith("/pods/web/?/cgroup.procs: 'seven' is not a number")


async def test_a_stop_of_what_cannot_be_read_fails_with_the_reason(
    runtime: CgroupRuntime, unreadable: str
) -> None:
    pod = PodReference(namespace="pods", name="web", uid="any")
    outcome = await runtime.stop(pod, 0)
    assert outcome.result is StopResult.FAILED
    assert unreadable in outcome.why


def test_a_group_that_goes_while_it_is_looked_at_is_gone(
    runtime: CgroupRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its processes were still there, its folder is not any more."""
    oldest = groups.oldest

    def slow(*found: Any) -> Any:
        process = oldest(*found)
        if (tmp_path / "cgroup/pods/web").exists():
            (tmp_path / "cgroup/pods/web").rename(tmp_path / "gone")
        return process

    monkeypatch.setattr(groups, "oldest", slow)
    listing = listed(runtime)
    assert listing.complete
    assert "web" not in {workload.pod.name for workload in listing.workloads}


def test_more_processes_than_a_process_may_hold_are_all_signalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork bomb is what most needs to be stopped."""
    held: set[int] = set()
    signalled: list[int] = []

    def hold(process: int) -> int:
        if len(held) >= 300:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        held.add(process)
        return process

    monkeypatch.setattr(os, "pidfd_open", hold)
    monkeypatch.setattr(os, "close", held.discard)
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda one, _: signalled.append(one))
    everyone = list(range(100_000, 101_100))
    (tmp_path / "cgroup.procs").write_text("".join(f"{process}\n" for process in everyone))
    groups.send(Group(path="/pods/web", unified=tmp_path), signal.SIGTERM)
    monkeypatch.undo()
    assert sorted(signalled) == everyone
    assert not held


def test_a_process_that_may_not_be_signalled_is_told_and_keeps_no_other_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signalled: list[int] = []

    def send(process: int, _: int) -> None:
        if process == 100_001:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        signalled.append(process)

    monkeypatch.setattr(os, "pidfd_open", lambda process: process)
    monkeypatch.setattr(os, "close", lambda _: None)
    monkeypatch.setattr(signal, "pidfd_send_signal", send)
    (tmp_path / "cgroup.procs").write_text("100000\n100001\n100002\n")
    with pytest.raises(HostError, match="process 100001 cannot be signalled: "):
        groups.send(Group(path="/pods/web", unified=tmp_path), signal.SIGTERM)
    monkeypatch.undo()
    assert signalled == [100_000, 100_002]


BLOCK = SHOWN.split("\n\n")[1]


def plausible(shown: tuple[Unit, ...]) -> None:
    """Every name may be an argument of a program, and every number stands for something."""
    for unit in shown:
        names = (unit.id, *unit.names, *unit.contents, *unit.dependants, *unit.triggered_by)
        assert all(units.NAME.fullmatch(name) for name in names)
        assert unit.main_process_id is None or unit.main_process_id < 2**31
        assert "\0" not in unit.control_group


def test_damaged_answers_of_systemd_tell_of_units_or_of_nothing() -> None:
    for text in damages(BLOCK):
        plausible(units.units(text))


@settings(max_examples=200)
@given(ruins(SHOWN))
def test_answers_of_systemd_that_are_damaged_several_times_do_so_too(text: str) -> None:
    plausible(units.units(text))


@settings(max_examples=50)
@given(first=ruins(SHOWN), second=ruins(SHOWN))
async def test_whom_a_stop_takes_along_is_found_in_whatever_systemd_says(
    first: str, second: str
) -> None:
    """A second answer may contradict the first."""

    async def show(names: Any) -> tuple[Unit, ...]:
        del names
        return units.units(second)

    for whole in (await wholes(show, units.units(first))).found:
        assert UnitEnding(whole, Systemctl(), show)._own_seconds >= 0


async def test_a_unit_that_is_down_by_the_second_answer_has_a_stop_all_the_same() -> None:
    """It went in between, or an alias of it was asked for."""

    async def nobody(names: Any) -> tuple[Unit, ...]:
        raise AssertionError(names)

    unit = structs.replace(units.units(BLOCK)[0], active_state="inactive", sub_state="dead")
    assert UnitEnding(Whole(unit=unit), Systemctl(), nobody)._own_seconds == 0


async def test_a_name_that_no_argument_can_be_is_an_error_of_the_machine() -> None:
    with pytest.raises(EvictdError, match="cannot be run"):
        await Systemctl("true").run("show", "--", "a\0b.service")


@pytest.mark.parametrize("text", ["", "[]", '{"a":1}', "\0", '{"a":{"x":' + "[" * 100_000])
def test_a_memory_that_is_damaged_remembers_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "memory").write_text(text)
    memory = CompanionMemory(tmp_path / "memory", in_thread)
    assert asyncio.run(memory.recalled()) == {}
