"""Facts about kernel, processes, disks and clock, read from trees of files."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from evictd.cli.checkup.killers import Killer
from evictd.cli.examination import clock, disks, kernel, processes, roles, rules
from evictd.collector.stalls import WINDOWS_MICROSECONDS
from evictd.shell.journal_store import Store
from evictd_schemas.configuration import Configuration
from evictd_schemas.sources import FileSystemSources, MemorySource, Sources

Laid = Callable[..., Path]


@pytest.fixture
def lay(tmp_path: Path) -> Laid:
    """Files below the test's folder, underscores in names as they are."""

    def laid(files: dict[str, str]) -> Path:
        for name, content in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        return tmp_path

    return laid


def sources(folder: Path, **fields: object) -> Sources:
    """Of that machine."""
    return Sources(proc_path=str(folder / "proc"), cgroup_path=str(folder / "cgroup"), **fields)


V2 = {"cgroup/cgroup.controllers": "cpu memory pids\n", "cgroup/cgroup.procs": ""}
V1 = {
    "cgroup/memory/cgroup.procs": "",
    "cgroup/memory/release_agent": "",
    "cgroup/pids/cgroup.procs": "",
}
PI = {
    "cgroup/pids/cgroup.procs": "",
    "cgroup/pids/release_agent": "",
    "proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\0",
    "boot/firmware/cmdline.txt": "console=tty1 root=/dev/mmcblk0p2",
    "proc/cmdline": "console=tty1 cgroup_disable=memory\n",
}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, (None, False, False, None)),
        (V2, ("v2", True, True, None)),
        (
            {
                **V2,
                "cgroup/a.slice/memory.current": "0",
                "cgroup/a.slice/memory.swap.max": "max",
            },
            ("v2", True, True, True),
        ),
        ({**V2, "cgroup/a.slice/memory.current": "0"}, ("v2", True, True, False)),
        ({"cgroup/cgroup.controllers": "cpu\n"}, ("v2", False, False, None)),
        (V1, ("v1", True, True, False)),
        ({**V1, "cgroup/memory/memory.memsw.limit_in_bytes": ""}, ("v1", True, True, True)),
        ({**V1, "cgroup/unified/cgroup.controllers": ""}, ("hybrid", True, True, False)),
        (PI, ("v1", False, True, None)),
    ],
)
def test_the_layout_of_control_groups_is_told(
    lay: Laid, files: dict[str, str], told: tuple[object, ...]
) -> None:
    folder = lay(files)
    found = kernel.cgroups(sources(folder), folder)
    assert (found.version, found.memory, found.pids, found.swap) == told
    assert found.machine_root


def test_a_raspberry_pi_is_known_by_its_model_and_its_boot_file(lay: Laid) -> None:
    folder = lay(PI)
    found = kernel.cgroups(sources(folder), folder)
    assert found.model.startswith("Raspberry Pi")
    assert found.boot_file == "/boot/firmware/cmdline.txt"
    assert "cgroup_disable=memory" in found.boot_words


def test_a_containers_own_groups_are_not_the_machines(lay: Laid) -> None:
    """Only the root of the machine has no `cgroup.events`."""
    folder = lay({**V2, "cgroup/cgroup.events": "populated 1\n"})
    assert not kernel.cgroups(sources(folder), folder).machine_root


def test_settings_of_the_kernel_are_numbers_or_not_known(lay: Laid) -> None:
    folder = lay({"proc/sys/vm/panic_on_oom": "1\n", "proc/sys/kernel/pid_max": "odd"})
    found = kernel.sysctls(folder / "proc")
    assert (found.panic_on_oom, found.pid_max, found.overcommit_memory) == (1, None, None)


def test_the_pressure_file_is_that_of_the_memory_figures_scope(lay: Laid) -> None:
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    folder = lay({**V2, "proc/pressure/memory": text, "cgroup/pods/memory.pressure": text})
    whole = kernel.stalls(sources(folder))
    assert (whole.place, whole.exists, whole.error) == (
        str(folder / "proc/pressure/memory"),
        True,
        None,
    )
    group = kernel.stalls(sources(folder, memory=MemorySource(cgroup="/pods")))
    assert (group.place, group.group) == (str(folder / "cgroup/pods/memory.pressure"), "/pods")


def test_a_machine_without_stalls_says_so_with_its_boot_word(lay: Laid) -> None:
    folder = lay({"proc/cmdline": "quiet psi=0\n"})
    found = kernel.stalls(sources(folder))
    assert (found.exists, found.boot_word, found.trigger_seconds) == (False, "psi=0", None)


def test_the_trigger_on_trial_is_given_back(lay: Laid) -> None:
    """The first window that is taken is the shortest; an ordinary file takes all of them."""
    place = lay({"proc/pressure/memory": ""}) / "proc/pressure/memory"
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the listing itself opens one each time
    assert kernel.trigger_seconds(place) == WINDOWS_MICROSECONDS[0] / 1_000_000
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above


LXCFS = "620 601 0:67 /proc/meminfo {proc}/meminfo rw - fuse.lxcfs lxcfs rw\n"


@pytest.mark.parametrize(
    ("files", "container"),
    [
        ({}, ""),
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"run/systemd/container": "lxc\n", ".dockerenv": ""}, "lxc"),
        ({"proc/1/environ": "A=b\0container=systemd-nspawn\0"}, "systemd-nspawn"),
    ],
)
def test_a_container_is_told_by_its_marks(lay: Laid, files: dict[str, str], container: str) -> None:
    folder = lay(files)
    assert kernel.surroundings(sources(folder), folder).container == container


def test_memory_of_a_system_container_is_its_own(lay: Laid) -> None:
    folder = lay({})
    lay({"proc/self/mountinfo": LXCFS.format(proc=folder / "proc")})
    assert kernel.surroundings(sources(folder)).private_memory


def process(pid: int, name: str, *arguments: str, **files: str) -> dict[str, str]:
    """Its files."""
    place = f"proc/{pid}"
    every = {
        f"{place}/comm": f"{name}\n",
        f"{place}/cmdline": "\0".join((*arguments, "")) if arguments else "",
    }
    return every | {f"{place}/{kind}": content for kind, content in files.items()}


def test_kernel_threads_are_nobody(lay: Laid) -> None:
    folder = lay(process(2, "kthreadd"))
    assert processes.processes(folder / "proc") == ()


def test_words_of_a_process_that_are_no_text_hide_nobody(lay: Laid) -> None:
    folder = lay({**process(7, "odd", "odd", "X"), **process(8, "earlyoom", "earlyoom")})
    (folder / "proc/7/cmdline").write_bytes(b"odd\0\xff\0")
    (folder / "proc/7/environ").write_bytes(b"A=\xc3\0EVICTD_NODE=edge\0")
    found = {one.pid: one for one in processes.processes(folder / "proc")}
    assert found.keys() == {7, 8}
    assert found[7].environment == {"EVICTD_NODE": "edge"}


def test_killers_are_found_with_their_arguments_and_files(lay: Laid) -> None:
    folder = lay(
        {
            **process(10, "earlyoom", "/usr/bin/earlyoom", "-m", "4"),
            **process(11, "systemd-oomd", "/lib/systemd/systemd-oomd"),
            **process(
                12, "python3", "/usr/bin/python3", "/usr/bin/nohang", "--config", "/a/n.conf"
            ),
            **process(13, "low-memory-moni", "/usr/libexec/low-memory-monitor"),
            **process(14, "bash", "bash", "-c", "grep earlyoom"),
            **process(15, "kubelet", "/usr/bin/kubelet", "--v=2", "--config=/a/kubelet.yaml"),
            "etc/systemd/oomd.conf": "DefaultMemoryPressureLimit=50%",
            "etc/systemd/oomd.conf.d/10.conf": "DefaultMemoryPressureLimit=20%",
            "a/n.conf": "soft_threshold_min_mem = 7 %",
            "a/kubelet.yaml": "evictionHard: {memory.available: 300Mi}",
        }
    )
    found = {
        one.name: one for one in processes.killers(processes.processes(folder / "proc"), folder)
    }
    assert sorted(found) == [
        "earlyoom",
        "kubelet",
        "low-memory-monitor",
        "nohang",
        "systemd-oomd",
    ]
    assert found["earlyoom"] == Killer(name="earlyoom", arguments=("-m", "4"))
    assert found["systemd-oomd"].configuration.splitlines()[-1].endswith("=20%")
    assert found["nohang"].configuration == "soft_threshold_min_mem = 7 %"
    assert found["kubelet"].configuration.endswith("300Mi}")


def test_evictd_its_broker_and_the_engine_are_guarded(lay: Laid) -> None:
    folder = lay(
        {
            **V2,
            **process(
                20,
                "evictd",
                "/opt/evictd/bin/python3",
                "/opt/evictd/bin/evictd",
                "up",
                oom_score_adj="-900\n",
                status="Name:\tevictd\nVmLck:\t  0 kB\nVmSwap:\t 2048 kB\n",
                cgroup="0::/system.slice/evictd.service\n",
            ),
            "cgroup/system.slice/evictd.service/memory.low": "134217728\n",
            "cgroup/system.slice/evictd.service/memory.min": "0\n",
            **process(21, "mosquitto", "mosquitto", "-c", "/m.conf", oom_score_adj="0"),
            **process(22, "dockerd", "/usr/bin/dockerd", status="Name:\t²\nVmSwap:\t² kB\n"),
            **process(23, "evictd", "/bin/python3", "-m", "evictd", "doctor"),
        }
    )
    every = processes.processes(folder / "proc")
    found = {one.part: one for one in processes.guarded(every, folder / "proc", folder / "cgroup")}
    assert {part: one.pid for part, one in found.items()} == {
        "evictd": 20,
        "broker": 21,
        "engine": 22,
    }
    evictd = found["evictd"]
    assert (evictd.oom_score_adj, evictd.swapped_kib, evictd.reserved_bytes) == (
        -900,
        2048,
        134217728,
    )
    assert (found["broker"].oom_score_adj, found["engine"].oom_score_adj) == (0, None)
    shutil.rmtree(folder / "proc/21")
    left = processes.guarded(every, folder / "proc", folder / "cgroup")
    assert {one.part for one in left} == {"evictd", "engine"}, "who has ended is not told of"


def test_only_who_stops_workloads_is_a_twin(lay: Laid) -> None:
    told = "EVICTD_STATEFOLDER=/a\0EVICTD_NODE=edge\0HOME=/root\0"
    python = "/bin/python3"
    folder = lay(
        {
            **process(30, "evictd", python, "/bin/evictd", "up", environ=told),
            **process(31, "evictd", python, "/bin/evictd", "run", "responder", "--node", "b"),
            **process(32, "evictd", python, "/bin/evictd", "run", "collector"),
            **process(33, "evictd", python, "-m", "evictd", "up", cgroup=f"0::/d/{'a' * 64}\n"),
            **process(34, "vim", "vim", "evictd.yaml"),
        }
    )
    every = processes.processes(folder / "proc")
    twins = {one.pid: one for one in processes.twins(every)}
    assert sorted(twins) == [30, 31, 33]
    assert (twins[30].state_folder, twins[30].node) == ("/a", "edge")
    assert (twins[31].node, twins[33].container) == ("b", "a" * 64)
    assert processes.separate(every)


def test_a_process_below_the_machines_is_a_containers_though_its_group_is_called_root(
    lay: Laid,
) -> None:
    """As a container with a cgroup name space of its own sees it in the machine's `/proc`."""
    verb = ("/bin/python3", "/bin/evictd", "up")
    status = "Name:\tevictd\nNSpid:\t40\t1\n"
    folder = lay(process(40, "evictd", *verb, cgroup="0::/\n", status=status))
    (only,) = processes.processes(folder / "proc")
    assert only.container == processes.NESTED


@pytest.mark.parametrize(
    ("login", "container", "told"),
    [
        (None, "docker", (True, True)),
        ("collector", "docker", (False, True)),
        ("responder", "docker", (True, False)),
        ("evaluator", "docker", (False, False)),
        ("operator", "docker", (False, False)),
        ("all", "docker", (True, True)),
        ("shop", "docker", (True, True)),
        ("operator", "", (True, True)),
    ],
)
def test_in_a_container_the_login_tells_what_is_needed_there(
    login: str | None, container: str, told: tuple[bool, bool]
) -> None:
    configuration = Configuration(broker_user=login)
    needed = (roles.stops(configuration, container), roles.watches(configuration, container))
    assert needed == told


def test_a_workers_own_file_is_the_configuration_of_its_container(
    lay: Laid, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lay({"evictd.yaml": "mode: dry-run\n"})
    monkeypatch.setenv("EVICTD_STATEFOLDER", str(folder / "state"))
    verb = ("/bin/evictd", "run", "collector", "--config")
    lay(process(1, "evictd", "python", *verb, f"{folder}/evictd.yaml"))
    first = processes.process(folder / "proc/1")
    assert rules.known(None, None, first).loaded.configuration.mode == "dry-run"
    lay(process(1, "systemd", "/sbin/init"))
    assert rules.known(None, None, processes.process(folder / "proc/1")).source == ""


def test_what_file_system_holds_the_state_is_told_by_the_deepest_mount() -> None:
    mounts = (
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "30 22 0:40 / /var/lib/evictd rw shared:1 - tmpfs tmpfs rw\n"
    )
    assert disks.kind(mounts, "/var/lib/evictd") == "tmpfs"
    assert disks.kind(mounts, "/var/lib/other") == "ext4"
    assert disks.kind("", "/") == ""


def test_a_state_folder_that_is_not_there_is_told_with_the_room_above_it(tmp_path: Path) -> None:
    found = disks.state(tmp_path / "not" / "there", Path("/proc"))
    assert found.writable is None
    assert found.free_bytes is not None
    assert disks.state(tmp_path, Path("/proc")).writable is True


def test_journals_with_which_evictd_would_not_start_are_found(tmp_path: Path) -> None:
    """Damaged, of a newer version, and in order; a journal of nobody is nobody's."""
    (tmp_path / "controller.journal").write_text("no database " * 100)
    (tmp_path / "other.journal").write_text("no database " * 100)
    responders = Store(tmp_path / "responder.journal")
    responders.open()
    responders.write([("a", b"{}", b"[]")], {}, None)
    responders.close()
    (why,) = disks.state(tmp_path, Path("/proc")).journals
    assert (
        why == f"the journal {tmp_path}/controller.journal cannot be read: file is not a database"
    )
    with closing(sqlite3.connect(tmp_path / "responder.journal")) as connection:
        connection.execute("PRAGMA user_version = 99")
    _, newer = disks.state(tmp_path, Path("/proc")).journals
    assert newer.endswith("newer version of evictd (format 99, this one knows 1)")


def test_a_data_root_that_cannot_be_seen_has_no_device(lay: Laid) -> None:
    folder = lay({"data/x": "", "proc/self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"})
    here = sources(folder, file_systems=FileSystemSources(nodefs=str(folder)))
    seen = disks.images(here, str(folder / "data"))
    assert (seen.data_device, seen.nodefs_device) == ("8:1", "8:1")
    assert disks.images(here, "/not/here").data_device is None
    assert disks.images(here, None).data_root is None


def test_the_clock_is_asked_without_setting_it(tmp_path: Path) -> None:
    assert clock.synchronised() in (True, False, None)
    assert clock.newest_file(tmp_path / "none") is None
    (tmp_path / "journal").write_text("")
    assert clock.clock(tmp_path).newest_file is not None
