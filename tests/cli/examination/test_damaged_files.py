"""The doctor asks a machine that is ill: whatever its files and other programs' say, it goes on."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from tests.damage import Write, damages, laid, ruins

from evictd.cli.checkup import broker_file, killers
from evictd.cli.checkup.killers import Killer, OurLines
from evictd.cli.examination import clock, disks, kernel, processes
from evictd.cli.examination.foreign_file import FILE_BYTES_MAX, beginning
from evictd_schemas.sources import Sources

FIXTURES = Path(__file__).parents[2] / "fixtures"
BROKER_FILES = {path.name: path.read_text() for path in (FIXTURES / "mosquitto").glob("*.conf")}
OURS = OurLines(memory_percent=5.0, memory_total_mib=4096.0, stall_percent=40.0, swap=True)
MOUNTS = "21 1 8:2 / / rw shared:1 - ext4 /dev/sda2 rw\n41 21 8:3 / /var rw - xfs /dev/sda3 rw\n"
FILES = {
    "cgroup/cgroup.controllers": "memory pids\n",
    "cgroup/pods/pids.max": "1000\n",
    "cgroup/pods/memory.low": "1048576\n",
    "proc/cmdline": "console=tty1 psi=1\n",
    "proc/meminfo": "MemTotal: 4096 kB\nSwapTotal: 1024 kB\n",
    "proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "proc/self/mountinfo": MOUNTS,
    "proc/sys/kernel/pid_max": "4194304\n",
    "proc/sys/kernel/osrelease": "6.1.0\n",
    "proc/sys/vm/panic_on_oom": "0\n",
    "proc/7/comm": "evictd\n",
    "proc/7/cmdline": "python\0evictd\0up\0--node=edge\0",
    "proc/7/environ": "EVICTD_STATEFOLDER=/var/lib/evictd\0HOME=/\0",
    "proc/7/cgroup": "0::/pods\n",
    "proc/7/oom_score_adj": "-900\n",
    "proc/7/status": "Name:\tevictd\nNSpid:\t7\nVmLck:\t  12 kB\nVmSwap:\t  0 kB\n",
    "proc/8/comm": "earlyoom\n",
    "proc/8/cmdline": "earlyoom\0-m\x004,2\0-M\x00204800\0",
    "proc/9/comm": "nohang\n",
    "proc/9/cmdline": "nohang\0--config\0/etc/own.conf\0",
    "etc/own.conf": "soft_threshold_min_mem = 5 %\n",
    "etc/systemd/oomd.conf": "[OOM]\nSwapUsedLimit=90%\nDefaultMemoryPressureLimit=60%\n",
}


class Reader(Struct, frozen=True, kw_only=True):
    """One part of the examination, and the files that it reads."""

    files: tuple[str, ...]
    read: Callable[[Path], Any]


def sources(root: Path) -> Sources:
    return Sources(proc_path=str(root / "proc"), cgroup_path=str(root / "cgroup"))


def about_processes(root: Path) -> Any:
    every = processes.processes(root / "proc")
    found = processes.killers(every, root)
    return (
        [*killers.findings(found, OURS)],
        [*processes.guarded(every, root / "proc", root / "cgroup")],
        [*processes.twins(every)],
    )


def files(*beginnings: str) -> tuple[str, ...]:
    return tuple(name for name in FILES if name.startswith(beginnings))


READERS = {
    "cgroups": Reader(
        files=files("cgroup/", "proc/cmdline", "proc/meminfo", "proc/sys/kernel/pid_max"),
        read=lambda root: kernel.cgroups(sources(root), root),
    ),
    "settings": Reader(files=files("proc/sys/"), read=lambda root: kernel.sysctls(root / "proc")),
    "stalls": Reader(
        files=files("proc/pressure", "proc/self/mountinfo", "proc/cmdline"),
        read=lambda root: kernel.stalls(sources(root)),
    ),
    "surroundings": Reader(
        files=files("proc/self/mountinfo", "proc/sys/kernel/osrelease"),
        read=lambda root: kernel.surroundings(sources(root), root),
    ),
    "processes": Reader(
        files=files("proc/7", "proc/8", "proc/9", "etc/", "cgroup/pods/memory.low"),
        read=about_processes,
    ),
    "mounts": Reader(
        files=files("proc/self/mountinfo"),
        read=lambda root: disks.kind((root / "proc/self/mountinfo").read_text(), "/var/lib"),
    ),
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Lays one file of the machine, which has all of them."""
    return laid(tmp_path, FILES)


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_no_end_of_the_examination(
    tmp_path: Path, write: Write, name: str
) -> None:
    reader = READERS[name]
    for file in reader.files:
        for text in damages(FILES[file]):
            write(file, text)
            assert reader.read(tmp_path) is not None
        write(file, FILES[file])


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_nor_are_several_that_are_damaged_more_than_once(
    tmp_path: Path, write: Write, name: str, data: st.DataObject
) -> None:
    reader = READERS[name]
    for file in reader.files:
        write(file, data.draw(ruins(FILES[file])))
    assert reader.read(tmp_path) is not None


@pytest.mark.parametrize("name", BROKER_FILES)
def test_a_broker_s_file_may_say_what_it_likes(name: str) -> None:
    for text in damages(BROKER_FILES[name]):
        assert [*broker_file.findings(text, name)]


@pytest.mark.parametrize("name", sorted(killers.JUDGES))
@pytest.mark.parametrize(
    "configuration",
    [
        "",
        "[" * 100_000,
        '{"a":' * 100_000,
        "evictionHard:\n  memory.available: 1e99999999Mi\n",
        "memory.available<" + "9" * 5_000 + "%",
        "soft_threshold_min_mem = " + "9" * 400 + " M",
        "SwapUsedLimit=" + "9" * 400 + "%",
        "DefaultMemoryPressureLimit=\u0663%",
    ],
)
def test_a_killer_s_configuration_may_too(name: str, configuration: str) -> None:
    found = (Killer(name=name, arguments=("-m", "9" * 5_000), configuration=configuration),)
    assert all(str(finding) for finding in killers.findings(found, OURS))


@pytest.mark.parametrize("given", ["/", "**x", ".", "..", "/etc/[", "x" * 5_000])
def test_a_process_may_name_what_is_no_file_for_its_configuration(
    tmp_path: Path, write: Write, given: str
) -> None:
    write("proc/9/cmdline", f"nohang\0--config={given}\0")
    found = processes.killers(processes.processes(tmp_path / "proc"), tmp_path)
    assert {killer.name: killer.configuration for killer in found}["nohang"] == ""


def test_a_pipe_and_a_device_without_end_are_not_read(tmp_path: Path) -> None:
    """The doctor would wait for ever for the one, and take all memory for the other."""
    os.mkfifo(tmp_path / "pipe")
    assert beginning(tmp_path / "pipe") is None
    assert beginning(Path("/dev/zero")) is None
    assert beginning(tmp_path) is None
    assert beginning(Path("/proc/self/status")) is None
    assert beginning(Path("a\0b")) is None


def test_of_a_long_file_the_beginning_is_read(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"x" * FILE_BYTES_MAX + b"y\xff")
    assert beginning(tmp_path / "long") == "x" * FILE_BYTES_MAX


def test_a_file_from_beyond_all_calendars_is_the_newest(tmp_path: Path) -> None:
    (tmp_path / "mad").touch()
    os.utime(tmp_path / "mad", ns=(1 << 62, 1 << 62))
    newest = clock.newest_file(tmp_path)
    assert newest is not None
    assert newest.year > 2100
